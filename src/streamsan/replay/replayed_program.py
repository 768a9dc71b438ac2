"""Reads the operations of a trace for a replay: one after another, each reference as the memory that it means then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from streamsan.platforms import OPENCL
from streamsan.replay import replayed_maps
from streamsan.replay.replayed_addresses import Space
from streamsan.replay.replayed_handles import HOST_MEMORY
from streamsan.replay.replayed_steps import Access, Memory, Node, NoReplayError, Step
from streamsan.replay.window import shortened, start_of_window
from streamsan.trace import Reference, Trace
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
_BULK_NODES = (NodeKind.COPY, NodeKind.MEMSET)
_COMMANDS = (
    OperationKind.COPY,
    OperationKind.MEMSET,
    OperationKind.LAUNCH,
    OperationKind.PREFETCH,
    OperationKind.QUEUE_MARKER,
)
"""commands of OpenCL's queues"""


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


class _Reader:
    """Reads operations in order."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._opencl = frozenset(api for api in trace.apis if api and OPENCL.interface(api) is not None)
        self._spaces: dict[int, Space] = {}
        self._memories = 0
        self._body: Step | None = None
        self._parts: list[OperationView] = []

    def read(self, views: Iterable[OperationView]) -> Iterator[Step]:
        if self._opencl:
            views = list(views)
            self._know_hosts_own(views)
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
        space = self._space(process)
        api = self.trace.apis[view.api] if view.api < len(self.trace.apis) else ""
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
            _value_of(view),
            api,
        )
        if view.flags & SlotFlag.ENTER and self.trace.origin == RECORDING:
            _leave_inside(step)
        if not step.succeeded:
            return step
        context = space.handles.take(view, is_opencl=api in self._opencl)
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
            references = tuple(_references(view))
            accesses = self._accesses(references, space, bulk=bulk, view=view, is_opencl=api in self._opencl)
            # The host's side of a copy may come behind the other one.
            step.accesses = tuple(sorted(accesses, key=_reads_only) if view.kind is OperationKind.COPY else accesses)
            if view.kind in _COMMANDS and view.stream and api in self._opencl:
                replayed_maps.note_command(step, space)
        return step

    def _space(self, process: int) -> Space:
        return self._spaces.setdefault(process, Space())

    def _new_memory(self, view: OperationView, kind: MemoryKind) -> Memory:
        self._memories += 1
        return Memory(self._memories, view.sequence, kind, view.address, view.size, view.object, view.site, view.stream)

    def _know_hosts_own(self, views: Sequence[OperationView]) -> None:
        """Make memory of what only commands name: ranges of the host that lie over each other are one memory."""
        found: dict[int, list[tuple[int, int]]] = {}
        for view in views:
            if view.kind is OperationKind.COPY and view.thread < len(self.trace.threads):
                ranges = found.setdefault(self.trace.threads[view.thread].process, [])
                ranges += [(each.address, each.address + each.size) for each in view.references if _is_hosts_own(each)]
        for process, ranges in found.items():
            for begin, end in _joined(sorted(ranges)):
                self._memories += 1
                memory = Memory(
                    self._memories, -self._memories, MemoryKind.UNKNOWN, begin, end - begin, 0, 0, is_hosts_own=True
                )
                self._space(process).add_hosts_own(memory)

    def _allocated(self, view: OperationView, space: Space, step: Step) -> Memory | None:
        kind = MemoryKind(view.detail) if view.detail <= max(MemoryKind) else MemoryKind.UNKNOWN
        known = space.find(view.address)
        host = known is not None and known.kind in (*HOST_MEMORY, MemoryKind.UNKNOWN)
        if kind is MemoryKind.REGISTERED and known is not None and host and known.number not in space.freed:
            step.overlays = True
            return known
        if kind is MemoryKind.CL_BUFFER and known is not None and host and known.number not in space.freed:
            step.overlays = True  # a buffer over memory of the host, under one name
            return known
        if not view.address:
            return None
        if kind is MemoryKind.CL_MAPPED:
            return self._mapped(view, space, step)
        if kind is MemoryKind.POOL_BLOCK and known is not None and view.address + view.size <= known.end:
            # A pool hands out the bytes of what it has: whoever had them before may still use them.
            space.name_also(known, view.object)
            return None
        memory = self._new_memory(view, kind)
        space.add(memory)
        return memory

    def _mapped(self, view: OperationView, space: Space, step: Step) -> Memory | None:
        """Return what a map's pointer leads to; None where that is memory that has addresses itself."""
        known = space.find(view.address)
        if known is not None and known.number not in space.freed and known.kind is not MemoryKind.CL_MAPPED:
            return None
        pointer = space.live_pointer(view.address)
        if pointer is None:
            pointer = self._new_memory(view, MemoryKind.CL_MAPPED)
            space.add(pointer)
        elif pointer.base != view.address:
            return None
        pointer.size = max(pointer.size, view.size)
        replayed_maps.note_pointer(step, space, pointer)
        return pointer

    @staticmethod
    def _freed(view: OperationView, space: Space, step: Step) -> Memory | None:
        if view.detail == FreeClass.CL_UNMAP:
            return replayed_maps.take_back(step, space)
        if view.detail in (FreeClass.POOL_BLOCK, FreeClass.GRAPH_NODE) or not view.detail:
            return None
        memory = space.find(view.address, 0 if view.detail == FreeClass.UNREGISTER else view.object)
        if memory is None or memory.number in space.freed:
            return None
        if view.detail == FreeClass.UNREGISTER and memory.kind is not MemoryKind.REGISTERED:
            step.overlays = True
            return memory
        if view.detail == FreeClass.CL_RELEASE and memory.kind in HOST_MEMORY:
            step.overlays = True  # the host's memory goes on
            return memory
        if memory.kind is not MemoryKind.GRAPH:
            space.freed.add(memory.number)
        return memory

    def _accesses(
        self,
        references: Sequence[Reference],
        space: Space,
        *,
        bulk: bool,
        view: OperationView,
        is_opencl: bool = False,
    ) -> Iterator[Access]:
        for reference in references:
            memory = space.find(reference.address, reference.generation)
            if memory is None and bulk and _is_hosts_own(reference):
                memory = space.hosts_own(reference.address)
            if memory is None or reference.polls:
                continue
            begin = reference.address - memory.base
            # Beside memory of unknown size, what stands for a kernel's bytes.
            told = bulk or not memory.size or is_opencl
            end = begin + reference.size if told and reference.size else 0
            if reference.bounds is not None and is_opencl:
                begin, end = max(0, begin + reference.bounds.begin), begin + reference.bounds.end
                if end <= begin or (memory.size and begin >= memory.size):
                    continue
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
        space = self._space(step.process)
        step.nodes = tuple(
            self._node(part, space, before.get(part.object, []))
            for part in self._parts
            if part.kind is OperationKind.GRAPH_NODE
        )
        self._parts = []
        yield step

    def _node(self, part: OperationView, space: Space, before: Sequence[int]) -> Node:
        kind = NodeKind(part.detail) if NodeKind.EMPTY <= part.detail <= NodeKind.OPAQUE else NodeKind.OPAQUE
        accesses = self._accesses(part.references, space, bulk=kind in _BULK_NODES, view=part)
        return Node(part.object, part.sequence, kind, part.site, tuple(accesses), part.address, tuple(before))


def _is_function(view: OperationView) -> bool:
    """Tell whether it is a host function: what its body writes are accesses of the host's."""
    node = view.kind is OperationKind.GRAPH_NODE and view.detail == NodeKind.HOST
    return node or view.kind is OperationKind.HOST_FUNCTION


def _reads_only(access: Access) -> bool:
    return not access.writes


def _is_hosts_own(reference: Reference) -> bool:
    return bool(reference.flags & SlotFlag.HOST_SIDE) and reference.size > 0


def _joined(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield sorted ranges, those that lie over each other as one."""
    begin, end = 0, 0
    for first, last in ranges:
        if first >= end:
            if end:
                yield begin, end
            begin = first
        end = max(end, last)
    if end:
        yield begin, end


def _value_of(view: OperationView) -> int:
    told = view.kind is OperationKind.STREAM_MEMORY_OP
    return view.size if told or (view.kind is OperationKind.FREE and view.detail == FreeClass.CL_RELEASE) else 0


def _references(view: OperationView) -> Iterator[Reference]:
    for number, reference in enumerate(view.references):
        first = number == 0 and view.address == reference.address and not reference.flags & ~SlotFlag.ASSUMED
        flags = view.flags & (SlotFlag.ATOMIC | SlotFlag.ASSUMED) if first else reference.flags
        yield replace(reference, flags=flags)


class ReplayedSteps(Struct, frozen=True):
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
