"""Stream capture: what is issued to a capturing stream is recorded, not executed, so it is not in the trace."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import capturing, descriptions, legality
from streamsan.model.graphs.legality import invalidate, refuse_call
from streamsan.model.process_state import HostThread, Process
from streamsan.model.statuses import (
    CAPTURE_IMPLICIT,
    CAPTURE_UNSUPPORTED,
    CAPTURED_EVENT,
    INVALID_VALUE,
)
from streamsan.model.streams import stream_argument
from streamsan.model.streams_and_graphs import LEGACY_HANDLE, Capture, Graph, GraphExec, Stream
from streamsan.model.values import Handle, KernelArguments, Outcome, Pointer, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import AccessMode, NodeKind, SlotFlag

_LAUNCH_API = "cudaLaunchKernel"
_IMPLICITLY_ON_A_STREAM = frozenset({Effect.COPY, Effect.MEMSET, Effect.LAUNCH})
"""Without a stream argument these are on the default stream."""
_ORDERED_BY_LEGACY = (
    capturing.WORK
    | _IMPLICITLY_ON_A_STREAM
    | {
        Effect.PREFETCH,
        Effect.ALLOC,
        Effect.FREE,
        Effect.GRAPH_LAUNCH,
        Effect.EVENT_RECORD,
        Effect.STREAM_WAIT_EVENT,
        Effect.STREAM_SYNCHRONIZE,
        Effect.STREAM_QUERY,
    }
)
"""What on the legacy default stream would be ordered against blocking streams (C-09)."""


def captured_call(core: ModelCore, call: Call) -> Outcome | None:
    """Take a call that a capture swallows or forbids; None: the call happens now."""
    process = call.thread.process
    effect = call.api.effect
    if not process.graphs.captured:
        return _external_outside(core, call)
    if effect in _EVENT_CALLS and (outcome := _event_call(core, call)) is not None:
        return outcome
    if effect is Effect.CONTEXT_SYNCHRONIZE:
        return _context_call(core, call)
    if effect in _OWN_RULES:
        return None
    stream = _stream(core, call)
    if effect is Effect.STREAM_DESTROY:
        if stream is not None and stream.capture is not None:
            _drop(process, stream, stream.capture)
        return None
    if stream is not None and stream.capture is not None:
        return capturing.issue(core, call, stream, stream.capture)
    outcome = _wait_outside(core, call, stream) if stream is not None and effect is Effect.STREAM_WAIT_EVENT else None
    if outcome is not None:
        return outcome
    by_legacy = stream is not None and stream.handle == LEGACY_HANDLE and effect in _ORDERED_BY_LEGACY
    if stream is not None and by_legacy and (captures := legality.implicit(process, stream)):
        invalidate(captures)
        return refuse_call(core, call, CAPTURE_IMPLICIT, stream)
    if legality.is_unsafe(call) and (captures := legality.forbidding(call.thread)):
        invalidate(captures)
        return refuse_call(core, call, CAPTURE_UNSUPPORTED, stream)
    return _external_outside(core, call)


_EVENT_CALLS = frozenset({Effect.EVENT_SYNCHRONIZE, Effect.EVENT_QUERY, Effect.EVENT_ELAPSED})
_OWN_RULES = frozenset(
    {Effect.PURE, Effect.CAPTURE_BEGIN, Effect.CAPTURE_END, Effect.CAPTURE_INFO, Effect.CAPTURE_UPDATE}
)


def _stream(core: ModelCore, call: Call) -> Stream | None:
    """Return the stream that a call is about, None when it is about none."""
    for fields in call.structures.values() if call.api.effect is Effect.LAUNCH else ():
        for name in ("stream", "hStream"):
            if name in fields:
                return core.stream_of(call.thread, fields[name], call.site, call.per_thread)
    if call.has(Role.HANDLE, "stream") or call.api.effect in _IMPLICITLY_ON_A_STREAM:
        return stream_argument(core, call)
    return None


def _event_call(core: ModelCore, call: Call) -> Outcome | None:
    """Judge a host call on events that were recorded in a capture."""
    for parameter in call.signature.with_role(Role.HANDLE):
        if parameter.handle != "event":
            continue
        event = core.event_of(call.thread, call.values.get(parameter.name), call.site)
        capture = event.capture
        if capture is None or not event.alive:
            continue
        if not capture.active:
            return refuse_call(core, call, INVALID_VALUE, event=event)  # C-20
        if call.api.effect is not Effect.EVENT_ELAPSED:  # C-03: that one leaves the capture alone
            invalidate([capture])
        return refuse_call(core, call, CAPTURED_EVENT, event=event)  # C-02
    return None


def _context_call(core: ModelCore, call: Call) -> Outcome | None:
    """Refuse to wait for a context with a stream that captures, in every mode (C-01)."""
    context = core.current(call.thread, call.site)
    if call.has(Role.HANDLE, "context"):
        context = core.context_of(call.thread, call.value(Role.HANDLE, "context"), call.site) or context
    captures = [
        capture
        for capture in legality.valid_captures(call.thread.process)
        if any(member.context is context for member in capture.streams.values())
    ]
    if not captures:
        return None
    invalidate(captures)
    return refuse_call(core, call, CAPTURE_UNSUPPORTED)


def _wait_outside(core: ModelCore, call: Call, stream: Stream) -> Outcome | None:
    """Let a stream that does not capture wait for an event: a captured one makes it join."""
    event = core.event_of(call.thread, call.value(Role.HANDLE, "event"), call.site)
    capture = event.capture
    if capture is not None and capture.active and stream.handle == LEGACY_HANDLE:
        invalidate([capture])
        return refuse_call(core, call, CAPTURE_IMPLICIT, stream, event)
    return capturing.forked_to(core, call, stream, event)


def _external_outside(core: ModelCore, call: Call) -> Outcome | None:
    """Refuse the flag that asks for an event node where nothing captures: it is invalid there."""
    if call.api.effect not in (Effect.EVENT_RECORD, Effect.STREAM_WAIT_EVENT) or not capturing.is_external(call):
        return None
    stream = stream_argument(core, call)
    if stream.capture is not None or stream.assumed:
        return None
    event = core.event_of(call.thread, call.value(Role.HANDLE, "event"), call.site)
    return refuse_call(core, call, INVALID_VALUE, stream, event)


def _drop(process: Process, stream: Stream, capture: Capture) -> None:
    """A stream that takes part is destroyed: with the origin nobody can end the capture any more (C-21).

    Another one leaves its nodes behind: whether they were joined back is asked when the capture ends.
    """
    stream.capture = None
    if stream is capture.origin:
        invalidate([capture])
        capturing.release(process, capture)
    else:
        capture.streams.pop(stream.handle, None)


def captured_launch(
    core: ModelCore, thread: HostThread, arguments: KernelArguments, stream: Stream, site: int
) -> Outcome | None:
    """Take a launch by `<<<>>>` that a capture swallows or forbids; None: it happens now."""
    if not thread.process.graphs.captured:
        return None
    row = CUDA.effects.find(_LAUNCH_API)
    assert row is not None
    handle: Value = Handle("stream", stream.handle) if stream.handle > 2 else stream.handle
    values: dict[str, Value] = {"stream": handle}
    call = Call(thread, row, row.versions[0], site, values, per_thread=False, kernel_arguments=arguments)
    return captured_call(core, call)


def unseen_code(core: ModelCore, thread: HostThread, values: Iterable[Value], site: int, api: str) -> None:
    """Code nobody can see ran with these values: it may have changed graphs, launched them, and added to captures."""
    process = thread.process
    known = list(values)
    for value in known:
        found = process.handles.get(value.value) if isinstance(value, Handle) else None
        if isinstance(found, Graph):
            found.assumed = True
        elif isinstance(found, GraphExec):
            # Imported late, as what makes one is.
            from streamsan.model.graphs.executables import lose_sight

            lose_sight(thread)
    captures = [capture for capture in process.graphs.captures if not capture.invalid]
    if not captures:
        return
    streams = [stream for value in known if (stream := _named_stream(process, value)) is not None]
    for stream in streams:
        if stream.capture is not None:
            stream.capture.unclear = True
    references = []
    for value in known:
        if not isinstance(value, Pointer) and value not in process.assumed_memory:
            continue
        reference = core.reference(thread, value, None, AccessMode.OPAQUE, site)
        if reference is not None:
            references.append(replace(reference, flags=reference.flags | SlotFlag.ASSUMED))
    if not references and not streams:
        return
    for capture in captures:
        touched = tuple(dict.fromkeys(references))
        description = descriptions.Description(descriptions.EMPTY, NodeKind.OPAQUE, references=touched)
        capturing.add_unseen(core, process, capture, description, site, api)


def _named_stream(process: Process, value: Value) -> Stream | None:
    """Return the stream that a value is known to mean, None for every other value."""
    if isinstance(value, Handle):
        found = process.handles.get(value.value)
    else:
        found = process.assumed_handles.get(("stream", value))
    return found if isinstance(found, Stream) else None
