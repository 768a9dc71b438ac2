"""Stream capture: what is issued to a capturing stream is recorded, not executed, so it is not in the trace."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call, KernelArguments
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.launches import kernel_references
from streamsan.model.others import say_unmodelled
from streamsan.model.state import Capture, HostThread, Lifetime, Stream
from streamsan.model.statuses import SUCCESS
from streamsan.model.streams import stream_argument
from streamsan.model.values import Handle, Outcome
from streamsan.vocabulary import AccessMode, OperationKind

CAPTURED = frozenset(
    {
        Effect.ALLOC,
        Effect.FREE,
        Effect.COPY,
        Effect.MEMSET,
        Effect.LAUNCH,
        Effect.HOST_FUNCTION,
        Effect.PREFETCH,
        Effect.STREAM_MEMORY_OP,
        Effect.EVENT_RECORD,
        Effect.STREAM_WAIT_EVENT,
        Effect.STREAM_SYNCHRONIZE,
        Effect.STREAM_QUERY,
        Effect.UNMODELLED,
    }
)
"""Effects that, on a capturing stream, do not happen now."""


@handles(Effect.CAPTURE_BEGIN)
def capture_begin(core: ModelCore, call: Call) -> Outcome:
    """Begin a capture: what is issued to the stream from here on is not executed."""
    stream = stream_argument(core, call)
    if stream.capture is None:
        stream.capture = Capture()
        call.thread.process.capturing += 1
    say_unmodelled(core, call)
    return Outcome(SUCCESS, {})


@handles(Effect.CAPTURE_END)
def capture_end(core: ModelCore, call: Call) -> Outcome:
    """End a capture on every stream that had joined it; the graph is unknown, and may use what was captured."""
    stream = stream_argument(core, call)
    capture = stream.capture
    if capture is not None:
        call.thread.process.capturing -= 1
        for other in call.thread.process.handles.values():
            if isinstance(other, Stream) and other.capture is capture:
                other.capture = None
    references = [] if capture is None else capture.references
    call.thread.process.captured += references
    core.emit(OperationKind.OPAQUE_CALL, call.thread, call.site, call.api.name, references=references)
    out = call.out(Role.OUT_HANDLE)
    return Outcome(SUCCESS, {out.name: core.fresh_symbol("graph")} if out is not None else {})


def captured_call(core: ModelCore, call: Call) -> Outcome | None:
    """Take a call that a capture swallows; None: the call happens now."""
    if not call.thread.process.capturing or call.api.effect not in CAPTURED or not call.has(Role.HANDLE, "stream"):
        return None
    stream = stream_argument(core, call)
    event = None
    if call.api.effect in (Effect.EVENT_RECORD, Effect.STREAM_WAIT_EVENT):
        event = core.event_of(call.thread, call.value(Role.HANDLE, "event"), call.site)
    if call.api.effect is Effect.STREAM_WAIT_EVENT and event is not None and event.capture is not None:
        stream.capture = event.capture
    if stream.capture is None:
        return None
    if call.api.effect is Effect.EVENT_RECORD and event is not None:
        event.capture = stream.capture
    for name, value in call.values.items():
        described = next(each for each in call.signature.parameters if each.name == name)
        if described.is_out or isinstance(value, Handle | int | float | str) or value is None:
            continue
        reference = core.reference(call.thread, value, None, AccessMode.OPAQUE, call.site)
        if reference is not None:
            _keep(call.thread, reference.generation)
            stream.capture.references.append(reference)
    absorb(core, call.thread, stream, call.kernel_arguments or (), call.site)
    return Outcome(SUCCESS, {})


def absorb(core: ModelCore, thread: HostThread, stream: Stream, arguments: KernelArguments, site: int) -> bool:
    """Take a launch that a capture swallows; False: it happens now."""
    if stream.capture is None:
        return False
    for reference in kernel_references(core, thread, arguments, site):
        _keep(thread, reference.generation)
        stream.capture.references.append(reference)
    return True


def _keep(thread: HostThread, generation: int) -> None:
    """The graph may free what was captured: from here on the model does not know whether it is alive."""
    allocation = thread.process.allocations.get(generation)
    if allocation is not None and allocation.lifetime is Lifetime.LIVE:
        allocation.lifetime = Lifetime.UNCLEAR
