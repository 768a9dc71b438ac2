"""Which handles are alive at each operation, and which operations do nothing: what the trace's order alone decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from execution_oracle.program import LEGACY, NOT_READY, PER_THREAD, SUCCESS, Op, Program
from streamsan.vocabulary import ContextKind, FreeClass, HandleKind, MemoryKind, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

CONTEXT_ENDS = (Kind.DEVICE_RESET, Kind.CONTEXT_DESTROY)
STREAM_WORK = (
    Kind.LAUNCH, Kind.COPY, Kind.MEMSET, Kind.PREFETCH, Kind.HOST_FUNCTION, Kind.STREAM_MEMORY_OP, Kind.GRAPH_LAUNCH,
)  # fmt: skip
"""what is pending on a stream until it is done, less frees"""
ON_STREAM = (
    *STREAM_WORK, Kind.EVENT_RECORD, Kind.STREAM_WAIT_EVENT, Kind.STREAM_SYNCHRONIZE, Kind.STREAM_QUERY,
    Kind.STREAM_DESTROY,
)  # fmt: skip
ON_EVENT = (
    Kind.EVENT_RECORD, Kind.STREAM_WAIT_EVENT, Kind.EVENT_SYNCHRONIZE, Kind.EVENT_QUERY, Kind.EVENT_DESTROY,
    Kind.EVENT_ELAPSED,
)  # fmt: skip
ON_CONTEXT = (Kind.CONTEXT_CURRENT, Kind.CONTEXT_SYNCHRONIZE, Kind.PEER_ENABLE, *CONTEXT_ENDS)
NO_CALLS = (Kind.MAIN_BEGIN, Kind.HOST_RELEASE, Kind.HOST_ACQUIRE, Kind.HOST_ACCESS, Kind.HOST_CLOCK, Kind.OPAQUE_CALL)
HOST_MEMORY = (MemoryKind.HOST_HEAP, MemoryKind.HOST_STACK, MemoryKind.HOST_STATIC)
HOST_FREES = (FreeClass.HOST_HEAP, FreeClass.HOST_SCOPE)


@dataclass
class Context:
    """A context, by its handle."""

    kind: ContextKind
    ended: int = -1
    """index of the latest reset, or of its end"""
    dead: bool = False


@dataclass(frozen=True)
class _Made:
    context: int
    life: int
    """how often the context had ended then"""


GONE = _Made(0, -1)


@dataclass
class Lifetimes:
    """What the order of a program's operations says, whatever the threads do."""

    program: Program
    stale: set[int] = field(default_factory=set)
    """operations that name a handle which is gone: they do nothing else"""
    gone_stream: set[int] = field(default_factory=set)
    """... of these, those whose stream is"""
    failed: set[int] = field(default_factory=set)
    """calls that returned an error: they do nothing"""
    current: list[int] = field(default_factory=list)
    """the context that is current to the operation's thread when it is called"""
    context: dict[int, int] = field(default_factory=dict)
    """of an operation on a stream, the stream's context"""
    life: dict[int, int] = field(default_factory=dict)
    """of an operation on a stream, how often that context had ended before"""
    ends: dict[int, list[int]] = field(default_factory=dict)
    """context to the operations that ended it"""

    def __post_init__(self) -> None:
        self._contexts: dict[int, Context] = {}
        self._streams: dict[int, _Made] = {}
        self._events: dict[int, _Made] = {}
        self._others: dict[tuple[int, int], bool] = {}
        self._at = [0] * self.program.threads
        for known in self.program.before:
            if known.stated:
                self._streams[known.handle] = _Made(known.context, 0)
        for index, op in enumerate(self.program.ops):
            self.current.append(self._at[op.thread])
            if has_failed(op):
                self.failed.add(index)
            if self._names_gone_stream(op):
                self.gone_stream.add(index)
                self.stale.add(index)
            elif self._names_gone_handle(op):
                self.stale.add(index)
            self._note_context(index, op)
            if index not in self.failed and index not in self.stale:
                self._take(index, op)

    def has_effect(self, index: int) -> bool:
        """Whether the operation does what it says."""
        return index not in self.stale and index not in self.failed

    def made_in(self, index: int, op: Op) -> int:
        """Return the context of what the operation allocates."""
        if op.flags & SlotFlag.ASSUMED:
            return 0  # nobody knows whose it is: no end of a context is known to be its end
        return self.context.get(index, self.current[index])

    def _alive(self, made: _Made) -> bool:
        return (
            made is not GONE
            and made.life == len(self.ends.get(made.context, ()))
            and not self._contexts[made.context].dead
        )

    def _names_gone_stream(self, op: Op) -> bool:
        handle = op.object if op.kind is Kind.STREAM_DESTROY else op.stream
        if op.kind not in ON_STREAM and not is_ordered(op):
            return False
        if handle <= PER_THREAD:
            return False
        self._introduce(self._streams, handle, op)
        return not self._alive(self._streams[handle])

    def _introduce(self, known: dict[int, _Made], handle: int, op: Op) -> None:
        """What is seen in use for the first time exists, in the context that is current."""
        here = self._at[op.thread]
        known.setdefault(handle, _Made(here, len(self.ends.get(here, ()))))

    def _names_gone_handle(self, op: Op) -> bool:
        if op.kind in ON_EVENT:
            handles = (op.object, op.address) if op.kind is Kind.EVENT_ELAPSED else (op.object,)
            for each in handles:
                self._introduce(self._events, each, op)
            return any(not self._alive(self._events[each]) for each in handles)
        if op.kind in ON_CONTEXT:
            return self._contexts[op.object].dead
        if op.kind in (Kind.HANDLE_USE, Kind.HANDLE_DESTROY):
            return not self._others.get((op.detail, op.object), True)
        if op.kind is Kind.GRAPH_LAUNCH:
            return not self._others.get((HandleKind.GRAPH_EXEC, op.object), True)
        return False

    def _note_context(self, index: int, op: Op) -> None:
        if not op.stream:
            return
        made = self._streams.get(op.stream)
        of_thread = made is None or made is GONE or op.stream in (LEGACY, PER_THREAD)
        context = self._at[op.thread] if made is None or of_thread else made.context
        self.context[index], self.life[index] = context, len(self.ends.get(context, ()))

    def _take(self, index: int, op: Op) -> None:
        here = self._at[op.thread]
        made = _Made(here, len(self.ends.get(here, ())))
        if op.kind is Kind.CONTEXT_CREATE:
            self._contexts[op.object] = Context(ContextKind(op.detail))
        elif op.kind is Kind.CONTEXT_CURRENT:
            self._at[op.thread] = op.object
        elif op.kind is Kind.STREAM_CREATE:
            self._streams[op.object] = made
        elif op.kind is Kind.STREAM_DESTROY:
            self._streams[op.object] = GONE
        elif op.kind is Kind.EVENT_CREATE:
            self._events[op.object] = made
        elif op.kind is Kind.EVENT_DESTROY:
            self._events[op.object] = GONE
        elif op.kind in (Kind.HANDLE_CREATE, Kind.GRAPH_INSTANTIATE):
            self._others[op.detail if op.kind is Kind.HANDLE_CREATE else HandleKind.GRAPH_EXEC, op.object] = True
        elif op.kind is Kind.HANDLE_DESTROY:
            self._others[op.detail, op.object] = False
        elif op.kind in CONTEXT_ENDS:
            context = self._contexts[op.object]
            self.ends.setdefault(op.object, []).append(index)
            context.dead = op.kind is Kind.CONTEXT_DESTROY and context.kind is ContextKind.CREATED


def is_ordered(op: Op) -> bool:
    """Whether an allocation or free is done by a stream."""
    return (op.kind is Kind.ALLOC and op.detail == MemoryKind.STREAM_ORDERED) or (
        op.kind is Kind.FREE and op.detail == FreeClass.ASYNC
    )


def has_failed(op: Op) -> bool:
    """Whether the call returned an error. That work is not done yet is an answer, and promises nothing."""
    return op.status not in (SUCCESS, NOT_READY)


def is_call(op: Op) -> bool:
    """Whether the operation is a call of the API, not something that the program does itself."""
    if op.kind in NO_CALLS:
        return False
    if op.kind is Kind.ALLOC:
        return op.detail not in HOST_MEMORY
    return not (op.kind is Kind.FREE and op.detail in HOST_FREES)
