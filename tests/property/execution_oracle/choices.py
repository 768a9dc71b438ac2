"""Legal programs from any sequence of choices: a step that is not legal where it comes is left out.

So Hypothesis can shrink a program by leaving steps out, and a seeded generator needs nothing but numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from execution_oracle.graph_choices import GraphChoices
from execution_oracle.idle_choices import ask, fail
from execution_oracle.memory import HOST_SIDE, PAGEABLE, Allocation, Memory
from execution_oracle.program import LEGACY, NOT_READY, PER_THREAD, Op, Program
from execution_oracle.teardown_choices import TeardownChoices
from execution_oracle.unknown_choices import UnknownChoices
from streamsan.trace import Reference
from streamsan.trace.reference_bounds import Bounds
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    EdgeClass,
    FreeClass,
    MemoryKind,
    SlotFlag,
    StreamKind,
    WaitClass,
)
from streamsan.vocabulary import OperationKind as Kind

T = TypeVar("T")
Step = tuple[int, int, int, int, int]
"""which step, and four numbers that decide the rest"""
MOST = 60
"""the numbers of a step are less than this"""

PRIMARY, SECOND = 50, 60
STREAMS = (10, 11, 12)
EVENTS = (30, 31)
KEYS = (70, 71)
SPAWN_KEY = 79
FIRST_BODY_KEY = 80
ADDRESSES = tuple(0x1000 * i for i in range(1, 5))
SIZE = 0x100
MODES = (AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE, AccessMode.OPAQUE)
IN_A_ROW = (WaitClass.NONE, WaitClass.AT_ONCE, WaitClass.AT_ONCE, WaitClass.PROGRAMMATIC, WaitClass.AT_ONCE)
"""how kernels that follow each other on a stream are launched"""

WEIGHTS = {
    "launch": 14, "copy": 6, "fill": 2, "prefetch": 1, "host_function": 3, "value": 1,
    "alloc": 8, "free": 11, "host_access": 4, "late_use": 2,
    "record": 7, "wait": 7, "sync_stream": 5, "sync_event": 4, "sync_context": 2,
    "query_stream": 3, "query_event": 3, "make_event": 2, "drop_event": 1, "make_stream": 4, "drop_stream": 2,
    "context": 2, "release": 3, "acquire": 3,
    "graph": 4, "graph_update": 1, "graph_node": 2, "graph_launch": 7, "graph_end": 1,
    "register": 3, "round_trip": 3, "graph_chain": 3, "leave": 2,
    "programmatic": 4,
    "opaque_call": 1, "ask": 1, "fail": 2,
    "end_context": 1, "teardown": 3, "use_gone": 1, "use_dead": 2,
}  # fmt: skip
"""how often each step is chosen"""
NAMES = tuple(name for name, weight in WEIGHTS.items() for _ in range(weight))

KINDS = (
    MemoryKind.STREAM_ORDERED, MemoryKind.STREAM_ORDERED, MemoryKind.STREAM_ORDERED, MemoryKind.PLAIN, MemoryKind.PLAIN,
    MemoryKind.MANAGED, MemoryKind.PINNED, MemoryKind.HOST_HEAP, MemoryKind.MAPPED, MemoryKind.IPC, MemoryKind.ARRAY,
    MemoryKind.HOST_STACK, MemoryKind.REGISTERED, MemoryKind.POOL_IMPORT,
)  # fmt: skip
FREES: dict[MemoryKind, tuple[FreeClass, ...]] = {
    MemoryKind.STREAM_ORDERED: (FreeClass.ASYNC, FreeClass.ASYNC, FreeClass.DEVICE),
    MemoryKind.PLAIN: (FreeClass.DEVICE, FreeClass.ASYNC),
    MemoryKind.MANAGED: (FreeClass.DEVICE,),
    MemoryKind.PINNED: (FreeClass.PINNED,),
    MemoryKind.HOST_HEAP: (FreeClass.HOST_HEAP,),
    MemoryKind.HOST_STACK: (FreeClass.HOST_SCOPE,),
    MemoryKind.MAPPED: (FreeClass.UNMAP,),
    MemoryKind.IPC: (FreeClass.IPC_CLOSE,),
    MemoryKind.ARRAY: (FreeClass.ARRAY,),
    MemoryKind.REGISTERED: (FreeClass.UNREGISTER,),
    MemoryKind.POOL_IMPORT: (FreeClass.DEVICE, FreeClass.ASYNC),
    MemoryKind.GRAPH: (FreeClass.ASYNC, FreeClass.ASYNC, FreeClass.DEVICE),
}
"""the families of free that take such memory"""


def pick(options: Sequence[T], number: int) -> T:
    """Choose one of several by a number."""
    return options[number % len(options)]


def random_steps(chooser: random.Random, least: int, most: int) -> list[Step]:
    """Choose the steps of a program at random."""
    count = chooser.randint(least, most)
    names = chooser.choices(range(len(NAMES)), k=count)
    numbers = chooser.choices(range(MOST), k=4 * count)
    return [(names[i], *numbers[4 * i : 4 * i + 4]) for i in range(count)]  # type: ignore[misc]


def program_of(shape: int, steps: Iterable[Step]) -> Program:
    """Return the program; `shape` decides how many contexts and threads it has, and who made its trace."""
    return Choices(shape).program(steps)


@dataclass
class _Body:
    """A host function's body that has not run yet."""

    key: int
    thread: int
    stream: int
    accesses: tuple[Reference, ...]
    tells: int
    frees: bool
    """it gives up the heap memory that it was given"""


@dataclass
class Choices:
    """What exists so far, and the operations that led there."""

    shape: int
    ops: list[Op] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    streams: dict[int, StreamKind] = field(default_factory=dict)
    events: set[int] = field(default_factory=set)
    bodies: list[_Body] = field(default_factory=list)
    threads: int = 2
    generation: int = 0
    current: dict[int, int] = field(default_factory=dict)
    """thread to its context"""

    def __post_init__(self) -> None:
        self.recording = self.shape % 5 == 4
        self.two_threads = self.shape // 5 % 3 == 1
        self.two_contexts = self.shape // 15 % 4 == 3
        self.graphs = GraphChoices(self)
        self.gone = TeardownChoices(self)
        self.current[0] = PRIMARY
        self.unknown = UnknownChoices(self, (0, 0, 0, self.shape // 15 % 4)[self.shape // 960 % 4])
        self.two_contexts = self.two_contexts and not self.unknown.any
        self.two_threads = self.two_threads and not self.unknown.any
        if not self.unknown.any or self.shape % 2:
            self.put(Kind.MAIN_BEGIN)
        self.put(Kind.CONTEXT_CREATE, object=PRIMARY, detail=ContextKind.PRIMARY)
        if self.two_contexts:
            self.put(Kind.CONTEXT_CREATE, object=SECOND, detail=ContextKind.CREATED)
        self.put(Kind.CONTEXT_CURRENT, object=PRIMARY)
        for handle in STREAMS[: 1 + self.shape // 7 % 2]:
            self.make_stream(handle, self.shape // 3)
        for handle in EVENTS:
            self.make_event(handle)
        if self.two_threads:
            self.put(Kind.HOST_RELEASE, object=SPAWN_KEY, detail=EdgeClass.CONTRACT)
            self.put(Kind.HOST_ACQUIRE, thread=1, object=SPAWN_KEY, detail=EdgeClass.CONTRACT)
            self.put(Kind.CONTEXT_CURRENT, thread=1, object=PRIMARY)
            self.current[1] = PRIMARY
        self.furnish(self.shape // 240 % 4)
        self.unknown.begin()

    def furnish(self, number: int) -> None:
        """Let the program have memory of some kinds from its beginning, or none."""
        kinds = ((), (MemoryKind.PLAIN, MemoryKind.STREAM_ORDERED), (MemoryKind.MANAGED, MemoryKind.PINNED),
                 (MemoryKind.PLAIN, MemoryKind.MAPPED))[number]  # fmt: skip
        for place, kind in enumerate(kinds):
            self.step_alloc(0, place, place, KINDS.index(kind), 1 + self.shape % 3)

    def program(self, steps: Iterable[Step]) -> Program:
        for name, a, b, c, d in steps:
            thread = int(self.two_threads and d % 3 == 0)
            getattr(self, "step_" + NAMES[name % len(NAMES)])(thread, a, b, c, d // 3)
        self.run_bodies()
        return Program(tuple(self.ops), self.threads, "recording" if self.recording else "source")

    def put(self, kind: Kind, thread: int = 0, **fields: object) -> None:
        # Bodies run late only behind work of their own stream, see `run_bodies`.
        if self.bodies and kind not in (Kind.HOST_ACQUIRE, Kind.HOST_RELEASE, Kind.HOST_ACCESS):
            handle = fields.get("stream", 0)
            if (
                kind in (Kind.EVENT_RECORD, Kind.GRAPH_LAUNCH)
                or handle in (LEGACY, PER_THREAD)
                or any(b.stream != handle for b in self.bodies)
            ):
                self.run_bodies()
        self.ops.append(Op(kind, thread, **fields))  # type: ignore[arg-type]

    def a_stream(self, number: int) -> int:
        return pick([*self.streams, *self.streams, LEGACY, PER_THREAD], number)

    # -- memory -------------------------------------------------------------------------------------
    def live(self, *kinds: MemoryKind) -> list[Allocation]:
        return [each for each in self.memory.allocations if each.freed is None and (not kinds or each.kind in kinds)]

    def on_device(self) -> list[Allocation]:
        """Memory that kernels use; now and then a graph's own that is not alive."""
        anyway = len(self.ops) % 8 == 0
        memory = [each for each in self.live() if not each.pageable]
        return [each for each in memory if each.kind is not MemoryKind.GRAPH or anyway or self.graphs.is_alive(each)]

    def reference(self, allocation: Allocation, number: int, mode: AccessMode, size: int = 0) -> Reference:
        """A pointer into it, with or without its generation; a kernel's surely touches its first byte, or not."""
        offset = (0, 0, 0, 0x40)[number % 4]
        generation = allocation.generation if number // 4 % 2 else 0
        flags = 0
        sort = (number + number // 8) % 5
        if not size and sort:
            # What may be anything is not known to be atomic; both together say that a kernel polls a word.
            atomic = sort == 4 and mode is not AccessMode.OPAQUE
            flags = SlotFlag.TOUCHES | (SlotFlag.ATOMIC if atomic else 0)
        if size and number // 8 % 6 == 0:
            flags = SlotFlag.STRIDED
        return Reference(allocation.base + offset, min(size, allocation.size - offset), generation, mode, flags)

    def of_kernel(self, allocation: Allocation, number: int, mode: AccessMode) -> Reference:
        """A kernel's reference: it may be known outside of which bytes nothing is touched."""
        found = self.reference(allocation, number, mode)
        # What is surely touched lies within the bounds.
        others = (Bounds(-0x40, 0x20),) if found.flags else (Bounds(0x40, 0x80), Bounds(0x20, 0x40))
        return replace(found, bounds=pick((None, Bounds(0, 0x20), None, Bounds(0, 0x80), *others), number // 3))

    def step_alloc(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        base = pick(ADDRESSES, b) + (0x80 if d % 5 == 4 else 0)
        size = SIZE if d % 2 else SIZE // 2
        kind = pick(KINDS, c)
        if any(each.base < base + size and base < each.base + each.size for each in self.live()):
            return
        self.generation += 1
        reference = Reference(base, size, self.generation if d % 4 else 0)
        stream = self.a_stream(a) if kind is MemoryKind.STREAM_ORDERED else 0
        self.put(Kind.ALLOC, thread, stream=stream, detail=kind, references=(reference,))
        self.memory.allocate(len(self.ops) - 1, self.ops[-1], self.current[thread])

    def step_free(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.run_bodies()  # they may free
        live = self.live()
        if not live:
            return
        allocation = pick(live, b)
        if allocation.kind is MemoryKind.GRAPH and not self.graphs.can_free(allocation):
            return
        unknown = allocation.kind is MemoryKind.UNKNOWN
        family = self.unknown.family(c) if unknown else pick(FREES[allocation.kind], c)
        stream = self.a_stream(a) if family is FreeClass.ASYNC else 0
        generation = allocation.generation if d % 2 else 0
        self.put(
            Kind.FREE, thread, stream=stream, detail=family, references=(Reference(allocation.base, 0, generation),)
        )
        self.memory.free(len(self.ops) - 1, self.ops[-1])

    def step_register(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        """Pin host memory for a while, or end that."""
        self.run_bodies()
        memory = self.live(*PAGEABLE)
        if not memory:
            return
        found = pick(memory, b)
        kind, detail = (Kind.FREE, FreeClass.UNREGISTER) if found.registered else (Kind.ALLOC, MemoryKind.REGISTERED)
        size = 0 if found.registered else found.size
        self.put(kind, thread, detail=detail, references=(Reference(found.base, size),))
        found.registered, found.pinned_in = not found.registered, self.current[thread]

    def step_launch(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        memory = self.on_device()
        if not memory:
            return
        references = [self.of_kernel(pick(memory, b), c // 4, pick(MODES, c))]
        if d % 3 == 0:
            references.append(self.of_kernel(pick(memory, b // 4 + d), d // 3 + 8, pick(MODES, d + c)))
        self.put(Kind.LAUNCH, thread, stream=self.a_stream(a), references=tuple(references))

    def step_programmatic(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        """Kernels in a row, each of which may begin before the one before it has ended: it waits for that, or not."""
        memory = self.on_device()
        if not memory:
            return
        stream = self.a_stream(a)
        for number in range(2 + c % 3):
            kind = pick(IN_A_ROW, d // 3 + number)
            mine = (b + number * (c // 3)) % len(memory)
            references = [self.of_kernel(memory[mine], d // 2 + number, pick(MODES, c + number))]
            if (b + number) % 3:
                other = self.of_kernel(pick(memory, b // 4 + number), d + number, pick(MODES, d + number))
                behind = SlotFlag.BEHIND if kind is WaitClass.AT_ONCE and (d + number) % 2 else 0
                references.append(replace(other, flags=other.flags | behind))
            if kind is WaitClass.AT_ONCE and (a + number) % 5 == 0:
                # It lets the next one begin, and then waits: the slot's own reference is none.
                behind_all = [replace(each, flags=each.flags | SlotFlag.BEHIND) for each in references]
                references = [Reference(0), *behind_all]
            self.put(Kind.LAUNCH, thread, stream=stream, detail=kind, references=tuple(references))

    def step_late_use(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        """Use memory that was freed, or by a pointer of an earlier owner of its address."""
        freed = [each for each in self.memory.allocations if each.freed is not None]
        older = [each for each in self.live() if each.generation > 1 and self.memory.previous(each) is not None]
        if freed and (d % 2 or not older):
            reference = self.reference(pick(freed, b), c // 4, pick(MODES, c))
        elif older:
            owner = pick(older, b)
            previous = self.memory.previous(owner)
            assert previous is not None
            reference = Reference(owner.base, 0, previous.generation, pick(MODES, c))
        else:
            return
        self.put(Kind.LAUNCH, thread, stream=self.a_stream(a), references=(reference,))

    def step_copy(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        live = self.live()
        if not live:
            return
        to, source = pick(live, b), pick(live, b // 5 + c)
        if {MemoryKind.ARRAY, MemoryKind.UNKNOWN} & {to.kind, source.kind}:
            return
        size = (0x20, 0x80, 0x100)[c % 3]
        pair = (
            self.reference(to, c // 3, AccessMode.WRITE, size),
            self.reference(source, c // 6, AccessMode.READ, size),
        )
        if to.pageable and source.pageable:
            self.put(Kind.COPY, thread, stream=0, detail=WaitClass.COMPLETE, references=pair)
            return
        waits = [WaitClass.NONE, WaitClass.NONE, WaitClass.COMPLETE]
        if to.pageable or source.pageable:
            waits = [WaitClass.MAYBE_COMPLETE, WaitClass.MAYBE_COMPLETE, WaitClass.COMPLETE]
        if source.pageable:
            waits[2] = WaitClass.BEFORE
        else:
            waits[0] = WaitClass.OBSERVED_COMPLETE if to.pageable else waits[0]
        wait = pick(waits, d)
        if wait in (WaitClass.COMPLETE, WaitClass.BEFORE):
            self.run_bodies()
        self.put(Kind.COPY, thread, stream=self.a_stream(a), detail=wait, references=pair)

    def step_fill(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        memory = [each for each in self.on_device() if each.kind is not MemoryKind.ARRAY]
        if memory:
            reference = self.reference(pick(memory, b), c, AccessMode.WRITE, (0x20, 0x100)[d % 2])
            self.put(Kind.MEMSET, thread, stream=self.a_stream(a), detail=WaitClass.NONE, references=(reference,))

    def step_prefetch(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        memory = self.live(MemoryKind.MANAGED)
        if memory:
            found = pick(memory, b)
            reference = Reference(found.base, found.size, 0, AccessMode.READ)
            self.put(Kind.PREFETCH, thread, stream=self.a_stream(a), references=(reference,))

    def step_value(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        memory = self.live(MemoryKind.PLAIN)
        if memory and not self.recording and d % 2:
            # What a wait orders depends on values: tests/order/test_values.py.
            reference = Reference(pick(memory, b).base, 4, 0, AccessMode.WRITE)
            self.put(Kind.STREAM_MEMORY_OP, thread, stream=self.a_stream(a), references=(reference,))

    def host_reference(self, b: int, c: int) -> Reference | None:
        memory = self.live(*HOST_SIDE)
        if not memory:
            return None
        found = pick(memory, b)
        mode = pick((AccessMode.READ, AccessMode.WRITE), c)
        offset, size = pick(((0, 0), (0, 0x20), (0x40, 0x40)), c // 2)
        return Reference(found.base + offset, size, 0, mode)

    def step_host_access(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        reference = self.host_reference(b, c)
        freed = [each for each in self.memory.allocations if each.freed is not None and each.kind is MemoryKind.PINNED]
        if freed and a % 7 == 0:
            reference = Reference(pick(freed, b).base, 0, 0, AccessMode.READ)
        if reference is not None:
            self.put(Kind.HOST_ACCESS, thread, references=(reference,))

    # -- host functions -----------------------------------------------------------------------------
    def step_host_function(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        stream = self.a_stream(a)
        reference = self.host_reference(b, c)
        data = () if reference is None or c % 3 else (Reference(reference.address, 0, 0, AccessMode.OPAQUE),)
        if d % 4 == 0 and not self.recording:
            self.put(Kind.HOST_FUNCTION, thread, stream=stream, references=data)
            return
        key = FIRST_BODY_KEY + self.threads
        tells = pick((0, *KEYS), d)
        self.threads += 1
        self.put(Kind.HOST_FUNCTION, thread, stream=stream, object=key, references=data)
        accesses = () if reference is None else (reference,)
        self.bodies.append(_Body(key, self.threads - 1, stream, accesses, tells, frees=a % 2 == 0))
        if d % 3 or self.recording:
            self.run_bodies()

    def step_round_trip(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        """A copy to host memory, and what reads it: a body behind it, or a host that waits for one."""
        self.step_alloc(thread, a, b, KINDS.index(MemoryKind.PINNED if c % 2 else MemoryKind.HOST_HEAP), d)
        self.step_copy(thread, a, b, c, d)
        self.step_host_function(thread, a, b, c, d)
        if d % 2:
            self.step_sync_stream(thread, a, b, c, d)
        self.step_late_use(thread, a, b, c, d)

    def run_bodies(self) -> None:
        """Run the bodies that have not run: before anything that may wait for one.

        Also before anything that is not on the body's own stream. Of work that was put on another stream before the
        body ran the engine does not keep whether it waits for the body there.
        """
        bodies, self.bodies = self.bodies, []
        for body in bodies:
            self.put(Kind.HOST_ACQUIRE, body.thread, object=body.key, detail=EdgeClass.CONTRACT)
            alive = [each for each in body.accesses
                     if (found := self.memory.at(each.address)) is not None and found.freed is None]  # fmt: skip
            for access in alive:
                self.put(Kind.HOST_ACCESS, body.thread, references=(access,))
            for access in alive:
                given = self.memory.at(access.address)
                assert given is not None
                if body.frees and given.kind is MemoryKind.HOST_HEAP:
                    self.put(Kind.FREE, body.thread, detail=FreeClass.HOST_HEAP, references=(Reference(given.base),))
                    self.memory.free(len(self.ops) - 1, self.ops[-1])
            if body.tells:
                self.put(Kind.HOST_RELEASE, body.thread, object=body.tells, detail=EdgeClass.CONTRACT)
            self.put(Kind.HOST_RELEASE, body.thread, object=body.key, detail=EdgeClass.CONTRACT)

    # -- streams, events, threads -------------------------------------------------------------------
    def make_stream(self, handle: int, number: int, thread: int = 0) -> None:
        kind = pick((StreamKind.NON_BLOCKING, StreamKind.BLOCKING, StreamKind.NON_BLOCKING), number)
        self.put(Kind.STREAM_CREATE, thread, object=handle, detail=kind)
        self.streams[handle] = kind
        self.gone.made(handle, thread)

    def make_event(self, handle: int, thread: int = 0) -> None:
        self.put(Kind.EVENT_CREATE, thread, object=handle)
        self.events.add(handle)
        self.gone.made(handle, thread)

    def step_make_stream(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        handle = pick(STREAMS, a)
        if handle not in self.streams:
            self.make_stream(handle, b, thread)

    def step_drop_stream(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        if len(self.streams) > 1:
            handle = pick(sorted(self.streams), a)
            del self.streams[handle]
            self.put(Kind.STREAM_DESTROY, thread, object=handle)
            self.gone.streams.add(handle)

    def step_make_event(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.make_event(pick(EVENTS, a), thread)

    def step_drop_event(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        if self.events:
            handle = pick(sorted(self.events), a)
            self.events.discard(handle)
            self.put(Kind.EVENT_DESTROY, thread, object=handle)
            self.gone.events.add(handle)

    def step_record(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        if self.events:
            self.put(Kind.EVENT_RECORD, thread, stream=self.a_stream(a), object=pick(sorted(self.events), b))

    def step_wait(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        if self.events:
            self.put(Kind.STREAM_WAIT_EVENT, thread, stream=self.a_stream(a), object=pick(sorted(self.events), b))

    def step_sync_stream(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.run_bodies()
        self.put(Kind.STREAM_SYNCHRONIZE, thread, stream=self.a_stream(a))

    def step_sync_event(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.run_bodies()
        if self.events:
            self.put(Kind.EVENT_SYNCHRONIZE, thread, object=pick(sorted(self.events), b))

    def step_sync_context(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.run_bodies()
        second = self.two_contexts and not self.gone.second_gone and b % 2
        self.put(Kind.CONTEXT_SYNCHRONIZE, thread, object=SECOND if second else PRIMARY)

    def step_query_stream(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        status = NOT_READY if c % 2 else 0
        if not status:
            self.run_bodies()
        self.put(Kind.STREAM_QUERY, thread, stream=self.a_stream(a), status=status)

    def step_query_event(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        status = NOT_READY if c % 2 else 0
        if not status:
            self.run_bodies()
        if self.events:
            self.put(Kind.EVENT_QUERY, thread, object=pick(sorted(self.events), b), status=status)

    def step_context(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        if self.two_contexts and not self.gone.second_gone:
            self.put(Kind.CONTEXT_CURRENT, thread, object=pick((PRIMARY, SECOND), a))
            self.current[thread] = self.ops[-1].object

    def step_ask(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        ask(self, thread, b, c)

    def step_fail(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        fail(self, thread, a, b, c)

    def step_opaque_call(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.unknown.call(thread, b, c)

    def step_end_context(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.gone.end(thread, PRIMARY, SECOND, a, b)

    def step_use_gone(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.gone.use_gone(thread, a, b, c)

    def step_use_dead(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.gone.use_dead(thread, a, b, c)

    def step_teardown(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        """Work, a wait for it or not, the end of a context, and what comes too late."""
        self.step_launch(thread, a, b, c, d)
        if c % 4:
            self.step_sync_context(thread, a, b, c, d)
        if self.two_threads and c % 3:
            self.gone.meet(thread, KEYS[0])
        self.step_end_context(thread, b, c, a, d)
        if self.two_threads and c % 5 > 1:
            self.gone.meet(1 - thread, KEYS[1])
        if d % 2:
            self.step_use_dead(thread, a, b, d, c)
        else:
            self.step_use_gone(thread, a, b, c + d, d)

    def step_release(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        if self.two_threads:
            self.put(Kind.HOST_RELEASE, thread, object=pick(KEYS, a), detail=self.edge(b))

    def step_acquire(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        if self.two_threads or self.threads > 2:
            self.run_bodies()
            self.put(Kind.HOST_ACQUIRE, thread, object=pick(KEYS, a), detail=self.edge(b))

    @staticmethod
    def edge(number: int) -> EdgeClass:
        return EdgeClass.RUN if number % 4 == 3 else EdgeClass.CONTRACT

    # -- graphs -------------------------------------------------------------------------------------
    def step_graph(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.graphs.make(thread, a, b, c, d)

    def step_graph_update(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.graphs.update(thread, a, b, c, d)

    def step_graph_node(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.graphs.change_node(thread, a, b, c, d)

    def step_graph_launch(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.graphs.launch(thread, a, b)

    def step_graph_chain(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        """Launches of one graph on several streams, events on both sides of it, and a free behind them."""
        self.step_graph(thread, b, a, c, d)
        self.step_record(thread, a + 1, d, c, d)
        self.step_graph_launch(thread, a, b, c, d)
        if c % 2:
            self.step_graph_launch(thread, a + 1, b, c, d)
        else:
            self.step_wait(thread, a + 1, d + d // 2, c, d)
        self.step_free(thread, a + 1, b, c, d)

    def step_leave(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        """Work on a stream that is destroyed, a wait that covers it or not, and a free."""
        left = [a, a // 2 + 1][c % 2]
        self.step_launch(thread, left, b, c, d)
        self.step_drop_stream(thread, left, b, c, d)
        if d % 3:
            self.step_sync_context(thread, a, b, c, d)
        self.step_free(thread, a, b, c, d)

    def step_graph_end(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        self.graphs.end(thread, a)
