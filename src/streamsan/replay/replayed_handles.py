"""What handles mean, call by call: which context is current, and whether a stream, an event or a context is there.

OpenCL's contexts have no end here: what was made in one holds it. What a call does with a handle whose object has ended
is undefined (W-12, W-15: one driver both crashed and refused). So nothing follows from such a call: neither that its
work runs, nor that anything comes after what it waits for.
"""

from __future__ import annotations

from itertools import count

from msgspec import Struct, field

from streamsan.platforms import CUDA
from streamsan.trace.view import OperationView
from streamsan.vocabulary import ContextKind, MemoryKind, OperationKind

PER_THREAD = CUDA.per_thread_stream
"""the largest handle that names a default stream: those never end"""
HOST_MEMORY = tuple(filter(CUDA.pageable, MemoryKind))
_ON_CONTEXTS = (
    OperationKind.CONTEXT_CURRENT,
    OperationKind.CONTEXT_DESTROY,
    OperationKind.DEVICE_RESET,
    OperationKind.CONTEXT_SYNCHRONIZE,
)
_ON_EVENTS = (
    OperationKind.EVENT_DESTROY,
    OperationKind.EVENT_RECORD,
    OperationKind.EVENT_QUERY,
    OperationKind.EVENT_SYNCHRONIZE,
    OperationKind.STREAM_WAIT_EVENT,
)
_IN_STREAMS = (
    OperationKind.STREAM_SYNCHRONIZE,
    OperationKind.STREAM_QUERY,
    OperationKind.STREAM_WAIT_EVENT,
    OperationKind.EVENT_RECORD,
    OperationKind.ALLOC,
    OperationKind.FREE,
    OperationKind.LAUNCH,
    OperationKind.COPY,
    OperationKind.MEMSET,
    OperationKind.HOST_FUNCTION,
    OperationKind.PREFETCH,
    OperationKind.STREAM_MEMORY_OP,
    OperationKind.GRAPH_LAUNCH,
)


class _Context(Struct, eq=False):
    number: int
    created: bool = False
    """by cuCtxCreate: its end is for good, while a primary one comes back, with its default streams"""
    ends: int = 0
    """how often it has ended"""
    is_dead: bool = False


class _Object(Struct):
    """A stream or an event."""

    context: _Context
    born: int
    """how often its context had ended"""
    destroyed: bool = False

    @property
    def is_there(self) -> bool:
        return not self.destroyed and self.context.ends == self.born


class Handles(Struct):
    """The handles of one process. Calls are told in the order of the trace."""

    _numbers: count[int] = field(default_factory=lambda: count(1))
    _contexts: dict[int, _Context] = field(default_factory=dict)
    """by handle; 0: the one that was used before anybody named one"""
    _default: _Context | None = None
    _current: dict[int, _Context] = field(default_factory=dict)
    """by thread"""
    _streams: dict[int, _Object] = field(default_factory=dict)
    _events: dict[int, _Object] = field(default_factory=dict)

    def take(self, view: OperationView, *, is_opencl: bool = False) -> int | None:
        """Follow a call that succeeded; return the number of the context that it is about, 0 for none of them.

        None: it names what is not there any more.
        """
        if is_opencl and view.kind in (*_ON_CONTEXTS, OperationKind.CONTEXT_CREATE):
            return 0
        if view.kind is OperationKind.CONTEXT_CREATE:
            return self._create_context(view).number
        if view.kind in _ON_CONTEXTS:
            return self._on_context(view)
        if view.kind in (OperationKind.STREAM_CREATE, OperationKind.EVENT_CREATE):
            objects = self._streams if view.kind is OperationKind.STREAM_CREATE else self._events
            context = self._context_of(view.thread)
            objects[view.object] = _Object(context, context.ends)
            return context.number
        if view.kind in _ON_EVENTS and not self._is_there(self._events, view.object, view.thread):
            return None
        if view.kind is OperationKind.EVENT_DESTROY:
            self._events[view.object].destroyed = True
        return self._in_stream(view)

    # -- contexts ---------------------------------------------------------------------------------
    def _create_context(self, view: OperationView) -> _Context:
        created = view.detail == ContextKind.CREATED
        known = None if created else self._contexts.get(view.object)
        if known is None and not created:
            known = self._named(view.object)
        if known is None or known.is_dead:
            known = self._new_context(view.object)
        known.created = created
        return known

    def _new_context(self, handle: int) -> _Context:
        context = self._contexts[handle] = _Context(next(self._numbers))
        self._default = self._default or context
        return context

    def _named(self, handle: int) -> _Context:
        known = self._contexts.get(handle)
        if known is not None:
            return known
        unnamed = self._contexts.get(0)
        if unnamed is None or unnamed is not self._default:
            return self._new_context(handle)
        self._contexts[handle] = self._contexts.pop(0)  # this is the name of the one that was used without one
        return unnamed

    def _context_of(self, thread: int) -> _Context:
        return self._current.get(thread) or self._default or self._new_context(0)

    def _on_context(self, view: OperationView) -> int | None:
        if view.kind is OperationKind.CONTEXT_CURRENT and not view.object:
            self._current.pop(view.thread, None)
            return 0
        context = self._named(view.object) if view.object else self._context_of(view.thread)
        if context.is_dead:
            return None
        if view.kind is OperationKind.CONTEXT_CURRENT:
            self._current[view.thread] = context
        elif view.kind is not OperationKind.CONTEXT_SYNCHRONIZE:
            context.ends += 1
            context.is_dead = context.created and view.kind is OperationKind.CONTEXT_DESTROY
            if context.is_dead:
                self._current = {thread: each for thread, each in self._current.items() if each is not context}
                self._default = None if self._default is context else self._default
        return context.number

    # -- streams and events -----------------------------------------------------------------------
    def _is_there(self, objects: dict[int, _Object], handle: int, thread: int) -> bool:
        known = objects.get(handle)
        if known is None:  # a caller hands it in
            context = self._context_of(thread)
            known = objects[handle] = _Object(context, context.ends)
        return known.is_there

    def _in_stream(self, view: OperationView) -> int | None:
        stream = view.object if view.kind is OperationKind.STREAM_DESTROY else view.stream
        if view.kind is OperationKind.STREAM_DESTROY or view.kind in _IN_STREAMS:
            if stream > PER_THREAD and not self._is_there(self._streams, stream, view.thread):
                return None
            if view.kind is OperationKind.STREAM_DESTROY and stream > PER_THREAD:
                self._streams[stream].destroyed = True
        uses = stream or (view.kind is OperationKind.ALLOC and view.detail not in HOST_MEMORY)
        return self._context_of(view.thread).number if uses else 0
