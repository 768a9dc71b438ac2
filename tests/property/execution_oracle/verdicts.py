"""What is wrong with a program, and which of its waits bring nothing, by looking at its executions.

Wrong: some execution has work use memory outside the life of the allocation that it refers to, or two uses of the same
bytes, one of them a write, at the same time. Each such pair of operations is named by the rule it breaks, where the
rules report it:

    103     the use, that may begin before the stream-ordered allocation has ended
    102     the free, that may begin before the use has ended (of other sorts of memory: 104, 108); or a use that was
            issued later in the trace, though no order between the host threads says that it must be
    101     the use, that is always issued after the free
    107     either, where only the real driver's waits keep it from happening
    108     the host's access of memory that a copy or fill may be using
    109     the later of two uses in conflict
    106     the end of a context with work of it pending, or with work that uses its memory; or that another thread of
            the program may be using it
    205     the use of a stream, event or context that is gone
    303     the launch of a graph that uses memory which is gone
    304     the use or free of a graph's own memory without order after the launch; in its body, outside of the nodes
            that allocate and free
    504     the wait: in every execution all that it waits for has ended when it is reached

What follows from a mistake is not said again, as in the engine: of an allocation only the first use after its free, no
conflicts of a use that is not after its allocation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from execution_oracle.graph_verdicts import GraphJudge
from execution_oracle.lifetimes import CONTEXT_ENDS, Lifetimes
from execution_oracle.machine import EARLY, WRITTEN, Machine, machine_of
from execution_oracle.memory import HOST_SIDE, PAGEABLE, Allocation, Memory, is_unregistration, stale
from execution_oracle.program import INVALID_VALUE, Op, Program, sequences
from execution_oracle.search import Unfinished, delayed, every_state, possible_order
from execution_oracle.teardown_verdicts import TeardownJudge
from execution_oracle.uses import BULK, DEVICE_WORK, EXACT, Use, beside_kernel, conflict, meeting
from streamsan.trace import Reference
from streamsan.vocabulary import FreeClass, MemoryKind, SlotFlag, WaitClass
from streamsan.vocabulary import OperationKind as Kind

WAITS = {Kind.STREAM_SYNCHRONIZE, Kind.EVENT_SYNCHRONIZE, Kind.CONTEXT_SYNCHRONIZE, Kind.STREAM_WAIT_EVENT}

CONTRACT, RUN, OBSERVED, UNORDERED = range(4)
"""what an order rests on"""


class Relation:
    """What may be unfinished at each step of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.watched = sorted(machine.seen)
        self.unfinished: Unfinished = delayed(machine.guards, self.watched)

    def reaches(self, earlier: int, later: int) -> bool:
        """The same of any two steps."""
        return bool(self._history[later] >> earlier & 1)

    @cached_property
    def _history(self) -> list[int]:
        """For each step the bits of all that has always happened by then."""
        guards = self.machine.guards
        history = [0] * len(guards)
        for step in possible_order(guards):
            known = left = guards[step]
            while left:
                bit = left & -left
                known |= history[bit.bit_length() - 1]
                left ^= bit
            history[step] = known
        return history

    def before(self, earlier: int, later: int) -> bool:
        """Whether the earlier step has always happened when the later one does. The earlier must be watched."""
        return not self.unfinished[later] >> earlier & 1


@dataclass
class Verdicts:
    """Rules and the numbers of the operations at which they are broken."""

    wrong: set[tuple[int, int]] = field(default_factory=set)
    proven: set[tuple[int, int]] = field(default_factory=set)
    """of rule 101: it rests on promised orders alone"""
    sure: set[tuple[int, int]] = field(default_factory=set)
    """of the wrong ones those that are sure; not conflicts that a host function, of which nobody knows what it tells
    whom, may order; in a recording uses of freed pinned memory, whose pages the host's allocator may have again"""
    again: set[tuple[int, int]] = field(default_factory=set)
    """what was said of an earlier launch of the same graph, and may be said again"""
    late: set[tuple[int, int]] = field(default_factory=set)
    """other ways to say that a free comes before a use: of the free that it is too early, of the use that it is late"""
    idle: set[int] = field(default_factory=set)
    nearly_idle: set[int] = field(default_factory=set)
    """those, and the waits that bring no more than that calls of another thread are over: nothing to work or memory,
    but a reset asks for it (SS106). The engine keeps it of some calls only"""


@dataclass
class _Life:
    """What happened to one allocation."""

    allocation: Allocation
    uses: list[Use] = field(default_factory=list)
    said: bool = False
    """a use after its end was reported"""
    freed_dead: bool = False


class Oracle:
    """Judges one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.numbers = sequences(program.ops)
        self.verdicts = Verdicts()
        self.opaque = False
        """code that nobody can see has run, and may have done everything"""
        self.lives: dict[Allocation, _Life] = {}
        self.memory = Memory()
        self.lifetimes = Lifetimes(program)
        self.teardowns = TeardownJudge(self)
        self.values_order = False
        """streams wait for values in memory: conflicts may be ordered in ways nobody sees"""
        self.host_function = -1
        self.bodies: dict[int, int] = {}
        """sync key to the thread that took it last: of a host function, its body's"""
        self.graphs = GraphJudge(self)
        for index, op in enumerate(program.ops):
            self.take(index, op)
        self.find_idle_waits()

    # -- the executions -----------------------------------------------------------------------------
    @cached_property
    def promised(self) -> Relation:
        return Relation(machine_of(self.program, run=False, lifetimes=self.lifetimes))

    @cached_property
    def believed(self) -> Relation:
        recording = self.program.origin == "recording"
        runs = recording or bool(self.lifetimes.stale)
        runs = runs or any(op.kind in (Kind.HOST_ACQUIRE, Kind.GRAPH_LAUNCH) for op in self.program.ops)
        return Relation(machine_of(self.program, lifetimes=self.lifetimes)) if runs else self.promised

    @cached_property
    def real(self) -> Relation:
        waits = any((op.kind is Kind.FREE and op.detail != FreeClass.ASYNC) or op.kind in CONTEXT_ENDS
                    or (op.kind is Kind.COPY and op.detail == WaitClass.OBSERVED_COMPLETE)
                    for op in self.program.ops)  # fmt: skip
        return Relation(machine_of(self.program, observed=True, lifetimes=self.lifetimes)) if waits else self.believed

    def step(self, relation: Relation, what: str, index: int, part: int = 0) -> int:
        machine = relation.machine
        if what == "call":
            return machine.call[index]
        if what == "back":
            return machine.back[index]
        return (machine.begin if what == "begin" else machine.end)[index, part]

    def order(self, earlier: tuple[str, int, int], later: tuple[str, int, int]) -> int:
        """What it rests on that the earlier step has always happened when the later one does."""
        for strength, relation in ((CONTRACT, self.promised), (RUN, self.believed), (OBSERVED, self.real)):
            if relation.before(self.step(relation, *earlier), self.step(relation, *later)):
                return strength
        return UNORDERED

    def is_unordered(self, earlier: Use, later: Use) -> bool:
        """Whether not even the real driver has the earlier use always done when the later begins."""
        return not self.is_ordered(("end", earlier.index, earlier.part), ("begin", later.index, later.part))

    def is_ordered(self, earlier: tuple[str, int, int], later: tuple[str, int, int]) -> bool:
        """Whether it has always happened, be it by the real driver's waits only."""
        return self.order(earlier, later) != UNORDERED

    # -- operations ---------------------------------------------------------------------------------
    def life(self, allocation: Allocation) -> _Life:
        if allocation not in self.lives:
            self.lives[allocation] = _Life(allocation)
        return self.lives[allocation]

    def say(self, code: int, index: int, *, sure: bool = True, needed: bool = True) -> None:
        self.say_at(code, self.numbers[index], sure=sure, needed=needed)

    def say_at(self, code: int, number: int, *, sure: bool = True, needed: bool = True) -> None:
        """Report; what is not `needed` was said before, and may be said again."""
        if not needed:
            self.verdicts.again.add((code, number))
            return
        self.verdicts.wrong.add((code, number))
        if sure:
            self.verdicts.sure.add((code, number))

    def take(self, index: int, op: Op) -> None:
        if not self.lifetimes.has_effect(index):
            if index in self.lifetimes.stale:
                self.say(205, index)
            elif op.status == INVALID_VALUE:
                self.refused(index, op)
            return
        if self.graphs.take(index, op):
            return
        self.opaque |= op.kind is Kind.OPAQUE_CALL and self.program.everything
        if op.kind is Kind.ALLOC:
            self.memory.allocate(index, op, self.lifetimes.made_in(index, op))
        elif op.kind in CONTEXT_ENDS:
            self.teardowns.take(index, op)
        elif op.kind is Kind.FREE:
            self.free(index, op)
        elif op.kind is Kind.HOST_ACCESS:
            for reference in op.references:
                self.host_use(Use(index, 0, op, reference, op.kind, host=True))
        elif op.kind is Kind.HOST_ACQUIRE:
            self.bodies[op.object] = op.thread
        elif op.kind in DEVICE_WORK:
            for reference in op.references:
                self.use(Use(index, self.part_of(index, reference), op, reference, op.kind, host=op.stream == 0))
            self.values_order |= op.kind is Kind.STREAM_MEMORY_OP
            if op.kind is Kind.HOST_FUNCTION and not (op.object and self.program.origin == "recording"):
                self.host_function = index

    def part_of(self, index: int, reference: Reference) -> int:
        """The part of an operation that uses memory: a kernel may have one that does not wait.

        Nobody relies on a copy to pageable memory to have written it, though it is measured to be complete.
        """
        to = self.memory.at(reference.address)
        if (index, WRITTEN) in self.promised.machine.begin and to is not None and to.pageable:
            return WRITTEN
        return EARLY if (index, EARLY) in self.promised.machine.begin and not reference.flags & SlotFlag.BEHIND else 0

    def use(self, use: Use) -> None:
        allocation = self.memory.at(use.reference.address)
        if allocation is None:
            return
        life = self.life(allocation)
        if stale(use.reference, allocation):
            self.stale_use(use, life)
            return
        if allocation.kind is MemoryKind.GRAPH and not self.graphs.admit(use, allocation):
            return
        if allocation.freed is not None:
            self.late_use(use, life)
            return
        # What a staged copy reads from pageable memory has been read when it returns.
        staged = use.op.kind is Kind.COPY and use.op.detail == WaitClass.BEFORE and allocation.kind in PAGEABLE
        if use.host:
            self.judge_host_access(use, life)
        if use.host or staged:
            return
        after = self.judge_after_alloc(use, allocation)
        if after:
            self.judge_conflicts(use, life)
        life.uses.append(use)

    def host_use(self, use: Use) -> None:
        allocation = self.memory.at(use.reference.address)
        if allocation is None:
            return
        life = self.life(allocation)
        if allocation.freed is None:
            self.judge_host_access(use, life)
        elif allocation.kind not in PAGEABLE:
            self.late_use(use, life)

    # -- judgements ---------------------------------------------------------------------------------
    def judge_after_alloc(self, use: Use, allocation: Allocation) -> bool:
        given = self.program.ops[allocation.index].flags & SlotFlag.ASSUMED
        if allocation.kind is not MemoryKind.STREAM_ORDERED or given:
            return True
        order = self.order(("end", allocation.index, 0), ("begin", use.index, use.part))
        if order > RUN:
            self.say(107 if order == OBSERVED else 103, use.index)
        return order <= RUN

    def judge_host_access(self, use: Use, life: _Life) -> None:
        managed = life.allocation.kind is MemoryKind.MANAGED
        if life.allocation.kind not in HOST_SIDE and not managed:
            return
        for earlier in life.uses:
            kernel = earlier.kind is Kind.LAUNCH
            if not (kernel or earlier.kind in (EXACT if managed else BULK)) or (use.reads and earlier.reads):
                continue
            if kernel:
                meets, surely = beside_kernel(use, earlier, life.allocation, self.program.origin == "recording")
            else:
                meets, surely = meeting(use, earlier, life.allocation)
            if not meets or self.waits_for_host(use, earlier):
                continue
            if self.is_of_body(earlier, use.op):
                continue
            order = self.order(("end", earlier.index, earlier.part), ("call", use.index, 0))
            if order > RUN:
                self.say(107 if order == OBSERVED else 108, use.index, sure=surely)

    def is_of_body(self, use: Use, by: Op) -> bool:
        """Whether the use is a host function's, and the operation one of its body."""
        return use.kind is Kind.HOST_FUNCTION and use.op.object != 0 and self.bodies.get(use.op.object) == by.thread

    def waits_for_host(self, use: Use, work: Use) -> bool:
        """Whether the work always begins after the host's access, though it was issued before: behind a body."""
        return self.promised.before(
            self.step(self.promised, "call", use.index), self.step(self.promised, "begin", work.index, work.part)
        )

    def judge_conflicts(self, use: Use, life: _Life) -> None:
        if self.values_order:
            return
        for earlier in life.uses:
            if earlier.index == use.index or not conflict(use, earlier, life.allocation):
                continue
            if not self.is_unordered(earlier, use):
                self.may_rest_on_copy(earlier, use)
            elif life.said:  # it follows from a mistake that only some of the programs have
                self.verdicts.late.add((109, self.numbers[use.index]))
            else:
                self.say(109, use.index, sure=self.host_function < earlier.index)

    def may_rest_on_copy(self, earlier: Use, later: Use) -> None:
        """Allow that an order is said to be observed only: it is where the wait of a copy gives it."""
        if self.order(("end", earlier.index, earlier.part), ("begin", later.index, later.part)) == OBSERVED:
            self.say(107, later.index, needed=False)

    def free(self, index: int, op: Op) -> None:
        allocation = self.memory.at(op.references[0].address)
        if op.detail == FreeClass.GRAPH_NODE:
            return
        assert allocation is not None
        life = self.life(allocation)
        if allocation.dead:
            self.free_of_dead(index, life)
            return
        by_host = op.detail != FreeClass.ASYNC
        if allocation.kind is MemoryKind.GRAPH:
            self.graphs.admit(Use(index, 0, op, op.references[0], op.kind, host=by_host), allocation)
        here = ("back" if by_host else "begin", index, 0)
        worst = RUN
        for use in life.uses:
            if not self.is_of_body(use, op):
                worst = max(worst, self.order(("end", use.index, use.part), here))
        if worst > RUN:
            self.say(107 if worst == OBSERVED else _early_free(op), index)
            life.said = life.said or worst == UNORDERED
        if is_unregistration(op, allocation):
            life.said = False  # what is freed later is another thing
        else:
            life.uses.clear()
        self.memory.free(index, op)

    def late_use(self, use: Use, life: _Life) -> None:
        """The use of memory whose free was issued before, in the trace."""
        if life.allocation.kind is MemoryKind.REGISTERED:
            return  # memory that is not registered any more is the host's still
        said, life.said = life.said, True
        free, index = life.allocation.free, life.allocation.freed
        assert free is not None
        assert index is not None
        order = self.order(("back", index, 0), ("call", use.index, 0))
        if order == UNORDERED and free.detail == FreeClass.ASYNC and not use.host:
            believed = self.believed
            behind = believed.before(
                self.step(believed, "end", index), self.step(believed, "begin", use.index, use.part)
            )
            order = RUN if behind else UNORDERED
        if said:
            # It follows from a mistake that only some of the programs have which this one may stand for.
            self.verdicts.late.add((101 if order != UNORDERED else _early_free(free), self.numbers[use.index]))
            if order == CONTRACT:
                self.verdicts.proven.add((101, self.numbers[use.index]))
            return
        if order == UNORDERED and life.allocation.dead:
            life.said = False
            return  # another thread uses the device during a reset: that is said there
        if order == UNORDERED:
            self.verdicts.late.add((101, self.numbers[use.index]))
            self.say(_early_free(free), index)
            return
        self.verdicts.late.add((_early_free(free), self.numbers[index]))
        pages_may_be_anyones = self.program.origin == "recording" and life.allocation.kind is MemoryKind.PINNED
        self.say(101, use.index, sure=not pages_may_be_anyones)
        if order == CONTRACT:
            self.verdicts.proven.add((101, self.numbers[use.index]))

    def refused(self, index: int, op: Op) -> None:
        """A call that the driver refused: that it was given memory which is gone is a mistake all the same."""
        found = self.memory.at(op.references[0].address) if op.references else None
        if op.kind is Kind.FREE and found is not None and found.dead:
            self.free_of_dead(index, self.life(found))

    def free_of_dead(self, index: int, life: _Life) -> None:
        """The free of memory that went with its context: nobody freed it before, it is the pointer that is stale."""
        if life.freed_dead:
            return
        life.freed_dead = life.said = True
        self.say(101, index)
        assert life.allocation.freed is not None
        if self.order(("back", life.allocation.freed, 0), ("call", index, 0)) == CONTRACT:
            self.verdicts.proven.add((101, self.numbers[index]))

    def stale_use(self, use: Use, life: _Life) -> None:
        """The use by a pointer of an earlier generation, whose free was before the present owner's allocation."""
        previous = self.memory.previous(life.allocation)
        if life.said or previous is None:
            return
        life.said = True
        self.say(101, use.index)
        assert previous.freed is not None
        if self.order(("back", previous.freed, 0), ("call", use.index, 0)) == CONTRACT:
            self.verdicts.proven.add((101, self.numbers[use.index]))

    # -- waits --------------------------------------------------------------------------------------
    def find_idle_waits(self) -> None:
        """Find the waits that bring nothing.

        A record can be seen: a host that knows it to be complete may read its time. Only of the record that a stream
        waits for itself that does not count, or no wait for a new record could be idle; the engine keeps what it brings
        all the same (a host that has waited for the stream may read that time).
        """
        relation = self.promised
        machine = relation.machine
        for index, op in self.waits():
            if op.kind is Kind.STREAM_WAIT_EVENT:
                before, after = machine.begin[index, 0], machine.end[index, 0]
                brought = relation.unfinished[before] & ~relation.unfinished[after] & ~machine.awaited[index]
            else:
                before, after = machine.call[index], machine.back[index]
                brought = relation.unfinished[before] & ~relation.unfinished[after]
            if not brought and index not in machine.vague:
                self.verdicts.idle.add(self.numbers[index])
            if not brought & ~machine.releases & ~machine.perhaps:
                self.verdicts.nearly_idle.add(self.numbers[index])

    def walked(self, most: int) -> int | None:
        """Walk through every state; return how many there are, 0 if that says other things than the faster search.

        None where there are more than `most`.
        """
        total = 0
        for relation in {id(each): each for each in (self.promised, self.believed, self.real)}.values():
            unfinished, states = every_state(relation.machine.guards, relation.watched, most)
            if unfinished is None:
                return None
            if unfinished != relation.unfinished:
                return 0
            total += states
        return total

    def waits(self) -> Iterator[tuple[int, Op]]:
        for index, op in enumerate(self.program.ops):
            if op.kind in WAITS and self.lifetimes.has_effect(index):
                yield index, op

    def is_jointly_removable(self) -> bool:
        """Whether the executions stay the same when all idle waits are gone, for whoever sees work and memory."""
        idle = frozenset(index for index, _ in self.waits() if self.numbers[index] in self.verdicts.nearly_idle)
        if not idle:
            return True
        without = Relation(machine_of(self.program, run=False, idle=idle, lifetimes=self.lifetimes))
        machine = without.machine
        unseen = machine.releases | machine.perhaps
        for bits in machine.awaited.values():
            unseen |= bits
        seen = sum(1 << step for step in machine.seen) & ~unseen
        return all(
            before & seen == after & seen
            for step, (before, after) in enumerate(zip(self.promised.unfinished, without.unfinished, strict=True))
            if seen >> step & 1 or step in machine.begin.values()
        )


def _early_free(free: Op) -> int:
    if free.detail in (FreeClass.UNMAP, FreeClass.IPC_CLOSE):
        return 104
    host = (FreeClass.PINNED, FreeClass.UNREGISTER, FreeClass.HOST_HEAP, FreeClass.HOST_SCOPE)
    return 108 if free.detail in host else 102
