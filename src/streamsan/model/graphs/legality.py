"""Calls that a capture forbids, and what a call that was refused leaves in the trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread, Process
from streamsan.model.streams_and_graphs import Capture, Event, Stream
from streamsan.model.values import Outcome
from streamsan.trace.references import Reference
from streamsan.vocabulary import CaptureMode, FreeClass, MemoryKind, OperationKind, StreamKind

UNSAFE_EFFECTS = frozenset(
    {
        # Waiting and asking outside the capture: not part of what is captured (C-04).
        Effect.STREAM_SYNCHRONIZE,
        Effect.STREAM_QUERY,
        Effect.EVENT_SYNCHRONIZE,
        Effect.EVENT_QUERY,
        # cudaHostRegister (C-05) and cudaGraphInstantiate (C-06) do work at once that no stream orders.
        Effect.REGISTER,
        Effect.GRAPH_INSTANTIATE,
    }
)
UNSAFE_MEMORY = frozenset(
    # cudaMalloc is the documentation's own example; the others and stream-ordered memory in a stream that does not
    # capture behave alike (C-05, C-06). VMM is not among them; what was not measured (IPC) is not claimed.
    {MemoryKind.PLAIN, MemoryKind.MANAGED, MemoryKind.PINNED, MemoryKind.STREAM_ORDERED, MemoryKind.ARRAY}
)
UNSAFE_FREES = frozenset({FreeClass.DEVICE, FreeClass.PINNED, FreeClass.ASYNC})  # C-05, C-06
UNSAFE_NAMES = frozenset(
    # C-06, and the driver's calls of the same name.
    {
        "cudaMemPoolCreate",
        "cuMemPoolCreate",
        "cudaMemPoolDestroy",
        "cuMemPoolDestroy",
        "cudaMemPoolGetAttribute",
        "cuMemPoolGetAttribute",
        "cudaMemPoolTrimTo",
        "cuMemPoolTrimTo",
        "cudaDeviceSetLimit",
        "cuCtxSetLimit",
    }
)

_KINDS = {
    Effect.ALLOC: OperationKind.ALLOC,
    Effect.FREE: OperationKind.FREE,
    Effect.COPY: OperationKind.COPY,
    Effect.MEMSET: OperationKind.MEMSET,
    Effect.LAUNCH: OperationKind.LAUNCH,
    Effect.HOST_FUNCTION: OperationKind.HOST_FUNCTION,
    Effect.PREFETCH: OperationKind.PREFETCH,
    Effect.STREAM_MEMORY_OP: OperationKind.STREAM_MEMORY_OP,
    Effect.STREAM_SYNCHRONIZE: OperationKind.STREAM_SYNCHRONIZE,
    Effect.STREAM_QUERY: OperationKind.STREAM_QUERY,
    Effect.STREAM_WAIT_EVENT: OperationKind.STREAM_WAIT_EVENT,
    Effect.EVENT_RECORD: OperationKind.EVENT_RECORD,
    Effect.EVENT_SYNCHRONIZE: OperationKind.EVENT_SYNCHRONIZE,
    Effect.EVENT_QUERY: OperationKind.EVENT_QUERY,
    Effect.EVENT_ELAPSED: OperationKind.EVENT_ELAPSED,
    Effect.CONTEXT_SYNCHRONIZE: OperationKind.CONTEXT_SYNCHRONIZE,
    Effect.CAPTURE_BEGIN: OperationKind.CAPTURE_BEGIN,
    Effect.CAPTURE_END: OperationKind.CAPTURE_END,
    Effect.GRAPH_INSTANTIATE: OperationKind.GRAPH_INSTANTIATE,
    Effect.GRAPH_LAUNCH: OperationKind.GRAPH_LAUNCH,
}


def is_unsafe(call: Call) -> bool:
    """Return whether a call does something that a capture cannot see."""
    effect = call.api.effect
    return (
        effect in UNSAFE_EFFECTS
        or (effect is Effect.ALLOC and call.api.memory in UNSAFE_MEMORY)
        or (effect is Effect.FREE and call.api.free in UNSAFE_FREES)
        or call.api.name in UNSAFE_NAMES
    )


def forbidding(thread: HostThread) -> list[Capture]:
    """Return the captures that forbid a thread unsafe calls (cudaThreadExchangeStreamCaptureMode)."""
    if thread.capture_mode is CaptureMode.RELAXED:
        return []
    return [
        capture
        for capture in valid_captures(thread.process)
        if capture.mode is not CaptureMode.RELAXED
        and (
            capture.thread == thread.index
            or (thread.capture_mode is CaptureMode.GLOBAL and capture.mode is CaptureMode.GLOBAL)
        )
    ]


def valid_captures(process: Process) -> Iterator[Capture]:
    """Yield the captures that are certainly under way, and that nothing invalidated."""
    return (capture for capture in process.graphs.captures if not capture.invalid and not capture.unclear)


def implicit(process: Process, stream: Stream) -> list[Capture]:
    """Return the captures on blocking streams: use of the legacy default stream would order against them (C-09)."""
    return [
        capture
        for capture in valid_captures(process)
        if any(
            member.kind in (StreamKind.BLOCKING, StreamKind.PER_THREAD)
            and (stream.context is None or member.context is None or member.context is stream.context)
            for member in capture.streams.values()
        )
    ]


def invalidate(captures: Iterable[Capture]) -> None:
    """These captures will give no graph."""
    for capture in captures:
        capture.invalid = True


def refuse_call(
    core: ModelCore, call: Call, status: int, stream: Stream | None = None, event: Event | None = None
) -> Outcome:
    """Say in the trace, by an operation of the call's own kind, that it was refused."""
    kind = _KINDS.get(call.api.effect, OperationKind.CALL)
    references: list[Reference] = []
    detail = 0
    if kind is OperationKind.ALLOC:
        detail = call.api.memory or 0
    elif kind is OperationKind.FREE:
        detail = call.api.free or 0
        value = call.value(Role.FREED)
        pointer = None if value == 0 else core.pointer_of(call.thread, value, call.site)
        if pointer is not None:
            references = [Reference(pointer.address, 0, pointer.generation)]
        else:
            kind, detail = OperationKind.CALL, 0  # of NULL, or of memory nobody knows
    number = 0
    if kind is OperationKind.CONTEXT_SYNCHRONIZE:
        number = core.current(call.thread, call.site).handle
    elif event is not None:
        number = event.handle
    core.say(
        call,
        kind,
        stream=stream.handle if stream is not None else 0,
        object=number,
        references=references,
        detail=detail,
        status=status,
    )
    queries = (Effect.STREAM_QUERY, Effect.EVENT_QUERY)
    return Outcome(status, {"return": status} if call.api.effect in queries else {})
