"""The operations of a trace as the replay needs them: every reference leads to a piece of memory, not to an address."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from streamsan.replay.replayed_handles import HOST_MEMORY, Handles
from streamsan.replay.window import shortened, start_of_window
from streamsan.trace import Reference, Trace
from streamsan.trace.layout import STATUS_UNKNOWN
from streamsan.trace.rows import Rows
from streamsan.trace.trace import RECORDING
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, NodeKind, OperationKind, SlotFlag, WaitClass

MOST_OPERATIONS = 20_000
"""Operations that are performed, the latest ones: each costs time here, in two executions."""
NEVER_RETURNED = -1
"""the status that stands for a call without one"""
UNDEFINED = -2
"""the status that stands for a call with a handle of what has ended"""
_BULK = (OperationKind.COPY, OperationKind.MEMSET, OperationKind.HOST_ACCESS)
_BULK_WORK = (OperationKind.COPY, OperationKind.MEMSET)
_BULK_NODES = (NodeKind.COPY, NodeKind.MEMSET)


class NoReplayError(Exception):
    """A trace, or a finding, cannot be replayed. `str()` says why, in a clause."""


@dataclass(slots=True, eq=False)
class Memory:
    """One generation of an allocation."""

    number: int
    made: int
    """sequence number of its allocation"""
    kind: MemoryKind
    base: int
    size: int
    """bytes; 0: not known"""
    generation: int
    site: int
    stream: int = 0
    cuts: set[int] = field(default_factory=lambda: {0})
    """offsets at which an access begins or ends"""
    starts: set[int] = field(default_factory=set)
    """offsets at which an access begins that nobody knows the end of"""
    rows: set[tuple[int, Rows]] = field(default_factory=set)
    """offsets at which accesses begin that leave gaps, with their rows"""

    @property
    def end(self) -> int:
        """One past its last address."""
        return self.base + max(1, self.size)


@dataclass(frozen=True, slots=True)
class Access:
    """A range of a memory that an operation uses."""

    memory: Memory
    begin: int
    """offset in bytes"""
    end: int
    """offset; 0: not known how far"""
    reads: bool
    writes: bool
    atomic: bool = False
    behind: bool = False
    """of a kernel that begins at once: only after it has waited for the one before it"""
    rows: Rows | None = None
    """which bytes of the range it uses; None: all of them, as far as is known"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph's body."""

    number: int
    sequence: int
    kind: NodeKind
    site: int
    accesses: tuple[Access, ...]
    object: int
    """event of an event node"""
    dependencies: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Step:
    """One operation of the trace that the replay performs."""

    sequence: int
    kind: OperationKind
    thread: int
    process: int
    stream: int
    object: int
    address: int
    detail: int
    site: int
    status: int
    value: int = 0
    """of a write of, or a wait for, a value in memory"""
    context: int = 0
    """number of the context that it is about: the one it names, or the current one; 0: of none"""
    accesses: tuple[Access, ...] = ()
    memory: Memory | None = None
    """of an allocation or a free"""
    overlays: bool = False
    """of these: it registers, or unregisters, host memory that goes on"""
    nodes: tuple[Node, ...] = ()
    """of an instantiation or update: the body"""

    @property
    def succeeded(self) -> bool:
        """Whether the call had an effect."""
        return self.status in (0, STATUS_UNKNOWN)

    @property
    def waits(self) -> WaitClass:
        """What the host waits for during the call."""
        works = (*_BULK_WORK, OperationKind.LAUNCH, OperationKind.PREFETCH)
        return WaitClass(self.detail) if self.kind in works and self.detail <= max(WaitClass) else WaitClass.NONE


def _leave_inside(step: Step) -> None:
    """A call that never returned: its work is issued, but it has made nothing, and nobody has waited in it."""
    if step.kind in (OperationKind.COPY, OperationKind.MEMSET, OperationKind.PREFETCH):
        step.detail = WaitClass.NONE
    elif step.kind not in (
        OperationKind.LAUNCH,
        OperationKind.GRAPH_LAUNCH,
        OperationKind.HOST_FUNCTION,
        OperationKind.FREE,
    ):
        step.status = NEVER_RETURNED


class _Space:
    """The addresses of one process: which memory an address means, also after its free."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._at: dict[int, Memory] = {}
        self._generations: dict[tuple[int, int], Memory] = {}
        self.freed: set[int] = set()
        """numbers of freed memory"""
        self.handles = Handles()

    def add(self, memory: Memory) -> None:
        for base in [base for base in self._around(memory) if self._overlaps(base, memory)]:
            del self._bases[bisect_right(self._bases, base) - 1]
            del self._at[base]
        insort(self._bases, memory.base)
        self._at[memory.base] = memory
        if memory.generation:
            self._generations[memory.base, memory.generation] = memory

    def name_also(self, memory: Memory, generation: int) -> None:
        """Let a generation of a block be of the memory that a pool cut it from."""
        if generation:
            self._generations[memory.base, generation] = memory

    def _around(self, memory: Memory) -> list[int]:
        first = max(0, bisect_right(self._bases, memory.base) - 1)
        return self._bases[first : bisect_right(self._bases, memory.end - 1)]

    def _overlaps(self, base: int, memory: Memory) -> bool:
        other = self._at[base]
        return other.base < memory.end and memory.base < other.end

    def find(self, address: int, generation: int = 0) -> Memory | None:
        index = bisect_right(self._bases, address) - 1
        memory = self._at[self._bases[index]] if index >= 0 else None
        if memory is None:
            return None
        # Of memory whose size nobody knows a pointer that was made from its own says that it goes on.
        goes_on = not memory.size and generation != 0 and generation == memory.generation
        if address >= memory.end and not goes_on:
            return None
        if generation and memory.generation and generation != memory.generation:
            return self._generations.get((memory.base, generation))
        return memory


class _Reader:
    """Reads operations in order."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.steps: list[Step] = []
        self._spaces: dict[int, _Space] = {}
        self._memories = 0
        self._body: Step | None = None
        self._parts: list[OperationView] = []

    def read(self, views: Iterable[OperationView]) -> Iterator[Step]:
        for view in views:
            if view.kind in (OperationKind.GRAPH_NODE, OperationKind.GRAPH_EDGE):
                self._parts.append(view)
                continue
            yield from self._end_body()
            step = self._step(view)
            if step is None:
                continue
            if step.kind in (OperationKind.GRAPH_INSTANTIATE, OperationKind.GRAPH_UPDATE):
                self._body, self._parts = step, []
            else:
                yield step
        yield from self._end_body()

    def _step(self, view: OperationView) -> Step | None:
        if not isinstance(view.kind, OperationKind) or view.thread >= len(self.trace.threads):
            return None
        process = self.trace.threads[view.thread].process
        space = self._spaces.setdefault(process, _Space())
        step = Step(
            view.sequence,
            view.kind,
            view.thread,
            process,
            view.stream,
            view.object,
            view.address,
            view.detail,
            view.site,
            view.status,
            view.size if view.kind is OperationKind.STREAM_MEMORY_OP else 0,
        )
        if view.flags & SlotFlag.ENTER and self.trace.origin == RECORDING:
            _leave_inside(step)
        if not step.succeeded:
            return step
        context = space.handles.take(view)
        if context is None:
            step.status = UNDEFINED
            return step
        step.context = context
        if view.kind is OperationKind.ALLOC:
            step.memory = self._allocated(view, space, step)
        elif view.kind is OperationKind.FREE:
            step.memory = self._freed(view, space, step)
        else:
            bulk = view.kind in _BULK
            step.accesses = tuple(self._accesses(tuple(_references(view)), space, bulk=bulk, view=view))
        return step

    def _allocated(self, view: OperationView, space: _Space, step: Step) -> Memory | None:
        kind = MemoryKind(view.detail) if view.detail <= max(MemoryKind) else MemoryKind.UNKNOWN
        known = space.find(view.address)
        host = known is not None and known.kind in (*HOST_MEMORY, MemoryKind.UNKNOWN)
        if kind is MemoryKind.REGISTERED and known is not None and host and known.number not in space.freed:
            step.overlays = True
            return known
        if not view.address:
            return None
        if kind is MemoryKind.POOL_BLOCK and known is not None and view.address + view.size <= known.end:
            # A pool hands out the bytes of what it has: whoever had them before may still use them.
            space.name_also(known, view.object)
            return None
        self._memories += 1
        memory = Memory(
            self._memories, view.sequence, kind, view.address, view.size, view.object, view.site, view.stream
        )
        space.add(memory)
        return memory

    @staticmethod
    def _freed(view: OperationView, space: _Space, step: Step) -> Memory | None:
        if not FreeClass.DEVICE <= view.detail < FreeClass.POOL_BLOCK:
            return None
        memory = space.find(view.address, 0 if view.detail == FreeClass.UNREGISTER else view.object)
        if memory is None or memory.number in space.freed:
            return None
        if view.detail == FreeClass.UNREGISTER and memory.kind is not MemoryKind.REGISTERED:
            step.overlays = True
            return memory
        if memory.kind is not MemoryKind.GRAPH:
            space.freed.add(memory.number)
        return memory

    def _accesses(
        self, references: Sequence[Reference], space: _Space, *, bulk: bool, view: OperationView
    ) -> Iterator[Access]:
        for reference in references:
            memory = space.find(reference.address, reference.generation)
            if memory is None or reference.polls:
                continue
            begin = reference.address - memory.base
            told = bulk or not memory.size  # beside memory of unknown size, what stands for a kernel's bytes
            end = begin + reference.size if told and reference.size else 0
            if memory.size and (end > memory.size or (not end and view.kind is OperationKind.HOST_ACCESS)):
                end = memory.size
            mode = reference.mode
            memory.cuts.update((begin, end))
            if not end:
                memory.starts.add(begin)
            rows = reference.rows if bulk and reference.rows is not None and not reference.rows.dense else None
            if rows is not None:
                memory.rows.add((begin, rows))
            yield Access(
                memory,
                begin,
                end,
                reads=mode is not AccessMode.WRITE,
                writes=mode is not AccessMode.READ and not _is_function(view),
                atomic=not bulk and bool(reference.flags & SlotFlag.ATOMIC),
                behind=view.kind is OperationKind.LAUNCH and bool(reference.flags & SlotFlag.BEHIND),
                rows=rows,
            )

    def _end_body(self) -> Iterator[Step]:
        step, self._body = self._body, None
        if step is None:
            return
        before: dict[int, list[int]] = {}
        for part in self._parts:
            if part.kind is OperationKind.GRAPH_EDGE:
                before.setdefault(part.address, []).append(part.object)
        space = self._spaces.setdefault(step.process, _Space())
        step.nodes = tuple(
            self._node(part, space, before.get(part.object, []))
            for part in self._parts
            if part.kind is OperationKind.GRAPH_NODE
        )
        self._parts = []
        yield step

    def _node(self, part: OperationView, space: _Space, before: Sequence[int]) -> Node:
        kind = NodeKind(part.detail) if NodeKind.EMPTY <= part.detail <= NodeKind.OPAQUE else NodeKind.OPAQUE
        accesses = self._accesses(part.references, space, bulk=kind in _BULK_NODES, view=part)
        return Node(part.object, part.sequence, kind, part.site, tuple(accesses), part.address, tuple(before))


def _is_function(view: OperationView) -> bool:
    """Tell whether it is a host function: what its body writes are accesses of the host's."""
    node = view.kind is OperationKind.GRAPH_NODE and view.detail == NodeKind.HOST
    return node or view.kind is OperationKind.HOST_FUNCTION


def _references(view: OperationView) -> Iterator[Reference]:
    for number, reference in enumerate(view.references):
        first = number == 0 and view.address == reference.address and not reference.flags & ~SlotFlag.ASSUMED
        flags = view.flags & (SlotFlag.ATOMIC | SlotFlag.ASSUMED) if first else reference.flags
        yield replace(reference, flags=flags)


@dataclass(frozen=True, slots=True)
class ReplayedSteps:
    """What a replay performs."""

    steps: list[Step]
    begins_at: int = 0
    """Of operations numbered less there are only those that make or unmake something: all work before is complete."""


def read_program(trace: Trace, last: int, *, first: int = 0, node: int = 0) -> ReplayedSteps:
    """Return the operations up to number `last`; with a `node`, on to the next launch of the graph whose it is.

    Where they are too many, only what makes things is read up to some point before `first`, the earliest operation that
    matters. Raises NoReplayError when that is not enough, TraceError when the trace is damaged.
    """
    begins_at = start_of_window(trace, last, MOST_OPERATIONS)
    if begins_at > first:
        raise NoReplayError(f"more than {MOST_OPERATIONS:,} operations lie between the first that matters and the last")
    if begins_at:
        trace, node = shortened(trace, begins_at, last), 0
    return ReplayedSteps(list(_Reader(trace).read(_until(trace, last, node))), begins_at)


def _until(trace: Trace, last: int, node: int) -> Iterator[OperationView]:
    graph = 0
    for count, view in enumerate(iterate(trace)):
        part = view.kind in (OperationKind.GRAPH_NODE, OperationKind.GRAPH_EDGE)
        beyond = view.sequence > last and not part
        if beyond and not node:
            return
        if count >= 2 * MOST_OPERATIONS:
            raise NoReplayError(f"more than {2 * MOST_OPERATIONS:,} operations lie before it")
        yield view
        if view.sequence == node:
            graph = view.stream if part else view.object
        if beyond and view.kind is OperationKind.GRAPH_LAUNCH and view.object == graph:
            return
