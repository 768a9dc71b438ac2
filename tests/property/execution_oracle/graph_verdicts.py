"""The part of `verdicts` that is about graphs: bodies, what launches use, and the memory that graphs allocate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from execution_oracle.memory import Allocation, stale
from execution_oracle.program import Body, Node, Op
from execution_oracle.search import delayed
from execution_oracle.uses import Use, conflict
from streamsan.trace import Reference
from streamsan.vocabulary import HandleKind, MemoryKind, NodeKind
from streamsan.vocabulary import OperationKind as Kind

if TYPE_CHECKING:
    from execution_oracle.verdicts import Oracle

KEPT_BY_ADDRESS = {MemoryKind.PLAIN, MemoryKind.STREAM_ORDERED, MemoryKind.MANAGED, MemoryKind.PINNED}
AS_WORK = {
    NodeKind.KERNEL: Kind.LAUNCH,
    NodeKind.COPY: Kind.COPY,
    NodeKind.MEMSET: Kind.MEMSET,
    NodeKind.HOST: Kind.HOST_FUNCTION,
}


@dataclass
class _Node:
    node: Node
    number: int
    """of the operation that says what it does"""
    changed: bool = False


@dataclass
class _Own:
    """An allocation node's memory."""

    exec_: _Exec
    freed_inside: bool
    said: bool = False
    """that it is touched though it is not alive"""


@dataclass
class _Exec:
    handle: int
    nodes: list[_Node]
    edges: tuple[tuple[int, int], ...]
    made: int
    launch: int | None = None
    """index of the latest launch"""
    stale_said: set[Allocation] = field(default_factory=set)
    after_alloc: set[Allocation] = field(default_factory=set)
    """allocations of which it was looked whether the first launch is after them"""
    known: set[tuple[Allocation, int, int]] = field(default_factory=set)
    """uses that earlier launches conflicted with, or were not looked at for another mistake"""
    own: list[Allocation] = field(default_factory=list)
    baked: list[tuple[int, Use, Allocation]] = field(default_factory=list)
    """each access of a node to memory, by the node's number, as the graph was when it was looked at last"""
    updated: bool = False
    recycled: dict[tuple[int, Allocation], bool] = field(default_factory=dict)
    """accesses of nodes that got the address before its present owner did; whether it is known who had it then"""


class GraphJudge:
    """Judges the graphs of one program."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.execs: dict[int, _Exec] = {}
        self.own: dict[Allocation, _Own] = {}
        self.forgotten: set[Allocation] = set()

    def take(self, index: int, op: Op) -> bool:
        """Look at one operation; whether it was one of graphs."""
        if op.kind in (Kind.GRAPH_INSTANTIATE, Kind.GRAPH_UPDATE):
            assert op.body is not None
            self.take_body(index, op, op.body)
        elif op.kind is Kind.GRAPH_NODE_UPDATE:
            at = self.execs[op.object].nodes[op.address - 1]
            at.changed |= at.node.references != op.references
            at.node, at.number = replace(at.node, references=op.references), self.oracle.numbers[index]
            self.execs[op.object].updated = True
        elif op.kind is Kind.GRAPH_LAUNCH:
            self.launch(index, op)
        elif op.kind is Kind.HANDLE_DESTROY and op.detail == HandleKind.GRAPH_EXEC:
            gone = self.execs.pop(op.object)
            # Memory that is not alive then is forgotten, though another graph may name it still.
            dead = [memory for memory in gone.own
                    if gone.launch is None or self.own[memory].freed_inside or memory.freed is not None]  # fmt: skip
            self.forgotten.update(dead)
        else:
            return False
        return True

    # -- bodies -------------------------------------------------------------------------------------
    def take_body(self, index: int, op: Op, body: Body) -> None:
        first = self.oracle.numbers[index] + 1
        nodes = [_Node(node, first + place) for place, node in enumerate(body.nodes)]
        old = self.execs.get(op.object)
        exec_ = _Exec(op.object, nodes, body.edges, index if old is None else old.made)
        if old is not None and op.kind is Kind.GRAPH_UPDATE:
            exec_.launch, exec_.known = old.launch, old.known
            exec_.after_alloc = old.after_alloc
        self.bake(exec_)
        self.execs[op.object] = exec_
        for node in body.nodes:
            if node.kind is NodeKind.ALLOC:
                memory = self.oracle.memory.at(node.references[0].address)
                assert memory is not None
                frees = any(n.kind is NodeKind.FREE and memory.contains(n.references[0].address) for n in body.nodes)
                exec_.own.append(memory)
                self.own[memory] = _Own(exec_, frees)
        self.judge_body(exec_, changed_only=False)

    def bake(self, exec_: _Exec) -> None:
        """Find the memory that the nodes' pointers mean.

        That stays, whoever gets the addresses. Only an update of nodes looks at all of them anew: then a pointer that
        does not tell its generation is taken to be of whoever had the address when the node got it.
        """
        exec_.recycled.clear()
        found: list[tuple[int, Use, Allocation]] = []
        for number, at in enumerate(exec_.nodes, 1):
            if at.node.kind not in AS_WORK:
                continue
            for reference in at.node.references:
                allocation = self.oracle.memory.at(reference.address)
                # Host memory that is not registered any more is host memory still.
                unregistered = allocation is not None and allocation.kind is MemoryKind.REGISTERED and allocation.freed
                if allocation is not None and not unregistered:
                    use = Use(-1, number, Op(Kind.GRAPH_LAUNCH), reference, AS_WORK[at.node.kind])
                    found.append((number, use, allocation))
                    if self.came_back(at, reference, allocation):
                        exec_.recycled[number, allocation] = self.had_it(at, allocation)
        exec_.baked, exec_.updated = found, False
        exec_.after_alloc &= {allocation for _, _, allocation in found}
        exec_.stale_said.clear()

    def came_back(self, at: _Node, reference: Reference, allocation: Allocation) -> bool:
        """Whether a node got an address before the memory was made that has it now."""
        made = self.oracle.numbers[allocation.index]
        return not reference.generation and allocation.kind in KEPT_BY_ADDRESS and made > at.number

    def had_it(self, at: _Node, owner: Allocation) -> bool:
        """Whether the allocation that had the base before is the one that the node was given."""
        before, numbers = self.oracle.memory.before.get(owner), self.oracle.numbers
        if before is None or before.freed is None:
            return False
        return numbers[before.index] <= at.number <= numbers[before.freed]

    def judge_body(self, exec_: _Exec, changed_only: bool) -> None:
        """Judge a body by all of its own executions, launched or not."""
        guards = []
        for number in range(1, len(exec_.nodes) + 1):
            guards.append(sum(1 << 2 * earlier - 1 for earlier, later in exec_.edges if later == number))
            guards.append(1 << 2 * (number - 1))
        unfinished = delayed(guards, range(1, len(guards), 2))

        def before(earlier: int, later: int) -> bool:
            return not unfinished[2 * (later - 1)] >> (2 * earlier - 1) & 1

        accesses = exec_.baked
        for position, (later, use, allocation) in enumerate(accesses):
            dead = allocation.freed is not None and allocation.kind is not MemoryKind.GRAPH
            for earlier, other, same in accesses[:position]:
                if same is not allocation or earlier == later or dead or before(earlier, later):
                    continue
                news = exec_.nodes[earlier - 1].changed or exec_.nodes[later - 1].changed
                if (news or not changed_only) and conflict(use, other, allocation):
                    self.oracle.say_at(109, exec_.nodes[later - 1].number)
        if not changed_only:
            self.judge_memory_nodes(exec_, before)
        for at in exec_.nodes:
            at.changed = False

    def judge_memory_nodes(self, exec_: _Exec, before: Callable[[int, int], bool]) -> None:
        for memory in exec_.own:
            at = {
                at.node.kind: number
                for number, at in enumerate(exec_.nodes, 1)
                if at.node.kind in (NodeKind.ALLOC, NodeKind.FREE) and memory.contains(at.node.references[0].address)
            }
            made, freed = at[NodeKind.ALLOC], at.get(NodeKind.FREE)
            for number, _, allocation in exec_.baked:
                if allocation is memory and not (before(made, number) and (freed is None or before(number, freed))):
                    self.oracle.say_at(304, exec_.nodes[number - 1].number)
            if freed is not None and not before(made, freed):
                self.oracle.say_at(304, exec_.nodes[freed - 1].number)

    # -- launches -----------------------------------------------------------------------------------
    def launch(self, index: int, op: Op) -> None:
        exec_, oracle = self.execs[op.object], self.oracle
        if exec_.updated:
            self.bake(exec_)
        self.judge_body(exec_, changed_only=True)
        fresh: set[Allocation] = set()
        foreign: set[Allocation] = set()
        for number, use, allocation in exec_.baked:
            if allocation.kind is MemoryKind.GRAPH:
                if allocation not in exec_.own and allocation not in foreign:
                    foreign.add(allocation)
                    self.use_foreign(
                        Use(index, 0, op, msgspec.structs.replace(use.reference, flags=0), Kind.LAUNCH), allocation
                    )
                continue
            if (number, allocation) in exec_.recycled:
                if exec_.recycled[number, allocation] and allocation not in exec_.stale_said:
                    exec_.stale_said.add(allocation)
                    oracle.say(303, index)
                continue
            if stale(use.reference, allocation) or allocation.freed is not None:
                known = allocation.freed is not None or oracle.memory.previous(allocation) is not None
                if known and allocation not in exec_.stale_said:
                    exec_.stale_said.add(allocation)
                    oracle.say(303, index)
                continue
            here = replace(use, index=index, part=number, op=op, exec_=exec_.made)
            if allocation not in exec_.after_alloc:
                exec_.after_alloc.add(allocation)
                if not oracle.judge_after_alloc(here, allocation):
                    fresh.add(allocation)
            self.judge_conflicts(exec_, here, allocation, skipped=allocation in fresh)
            oracle.life(allocation).uses.append(here)
        self.take_memory_back(exec_, index)
        exec_.launch = index

    def use_foreign(self, use: Use, allocation: Allocation) -> None:
        """Judge a launch that uses memory of another graph: as a whole, and what it does there is no conflict."""
        if allocation in self.forgotten or not self.admit(use, allocation):
            return
        life = self.oracle.life(allocation)
        if allocation.freed is not None:
            self.oracle.late_use(use, life)
        else:
            life.uses.append(use)

    def judge_conflicts(self, exec_: _Exec, use: Use, allocation: Allocation, skipped: bool) -> None:
        """Judge a launch's use against earlier ones. What its earlier launches conflicted with may be said again."""
        oracle = self.oracle
        life = oracle.life(allocation)
        if oracle.values_order or life.said:
            return
        for earlier in life.uses:
            if earlier.index == use.index or earlier.exec_ == exec_.made or not conflict(use, earlier, allocation):
                continue
            if not oracle.is_unordered(earlier, use):
                oracle.may_rest_on_copy(earlier, use)
            else:
                known = (allocation, earlier.index, earlier.part)
                again = known in exec_.known or skipped
                oracle.say(109, use.index, sure=oracle.host_function < earlier.index, needed=not again)
                exec_.known.add(known)

    # -- memory that graphs allocate ----------------------------------------------------------------
    def admit(self, use: Use, allocation: Allocation) -> bool:
        """Judge a use or free of a graph's own memory from outside; whether there is more to judge."""
        own, oracle = self.own[allocation], self.oracle
        launch = own.exec_.launch
        if launch is None or own.freed_inside:
            if not own.said and not (launch is None and oracle.opaque):
                own.said = True
                oracle.say(304, use.index)
            return False
        if allocation.freed is not None:
            return True
        life = oracle.life(allocation)
        here = ("call" if use.host else "begin", use.index, use.part)
        if not life.said and not oracle.is_ordered(("end", launch, 0), here):
            life.said = True
            oracle.say(304, use.index)
        return True

    def take_memory_back(self, exec_: _Exec, index: int) -> None:
        """A launch begins a new life of the graph's memory: what used the old one must be done."""
        for memory in exec_.own:
            life = self.oracle.life(memory)
            if memory.freed is None and not life.said:
                for use in life.uses:
                    if not self.oracle.is_ordered(("end", use.index, use.part), ("begin", index, 0)):
                        self.oracle.say(304, index)
            life.uses.clear()
            life.said = False
            memory.freed, memory.free = None, None
