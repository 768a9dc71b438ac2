"""Streams."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.process_state import HostThread
from streamsan.model.statuses import INVALID_HANDLE, SUCCESS
from streamsan.model.streams_and_graphs import PER_THREAD_HANDLE, Stream
from streamsan.model.values import Handle, Outcome, Value
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.vocabulary import HandleKind, OperationKind, StreamKind

NON_BLOCKING_FLAG = 1


@handles(Effect.STREAM_CREATE)
def stream_create(core: ModelCore, call: Call) -> Outcome:
    """Make a stream of the current context. Flags that nobody knows: blocking, which has the more edges."""
    context = core.current(call.thread, call.site)
    flags = call.number(Role.FLAGS) or 0
    kind = StreamKind.NON_BLOCKING if flags & NON_BLOCKING_FLAG else StreamKind.BLOCKING
    priority = call.values.get("priority")
    stream = Stream(core.fresh_handle(), kind, context, flags=flags & NON_BLOCKING_FLAG)
    if core.machine is not None and isinstance(priority, int):
        stream.priority = max(core.machine.greatest_priority, min(priority, 0))
    call.thread.process.handles[stream.handle] = stream
    core.say(call, OperationKind.STREAM_CREATE, object=stream.handle, detail=kind)
    return call.gives(Handle("stream", stream.handle))


@handles(Effect.STREAM_DESTROY)
def stream_destroy(core: ModelCore, call: Call) -> Outcome:
    """Destroy a stream; does not wait (A-04). A default stream cannot be destroyed."""
    value = call.value(Role.HANDLE, "stream")
    if value is None:
        return core.say(call)
    stream = core.stream_of(call.thread, value, call.site, call.per_thread)
    if stream.handle <= PER_THREAD_HANDLE:
        return core.say(call, status=INVALID_HANDLE)
    status = status_of(stream)
    core.say(call, OperationKind.STREAM_DESTROY, object=stream.handle, status=status)
    stream.alive = False
    return Outcome(status)


@handles(Effect.STREAM_SYNCHRONIZE)
def stream_synchronize(core: ModelCore, call: Call) -> Outcome:
    """Wait for a stream."""
    stream = stream_argument(core, call)
    status = status_of(stream)
    if not status:
        core.executor.synchronize_stream(call.thread, stream)
        status = core.sticky_error(call.thread, stream.context)
    return core.say(call, OperationKind.STREAM_SYNCHRONIZE, stream=stream.handle, status=status)


@handles(Effect.STREAM_QUERY)
def stream_query(core: ModelCore, call: Call) -> Outcome:
    """Ask whether a stream is done. The result is in `outputs["return"]`; the edge comes with `query_succeeded`."""
    stream = stream_argument(core, call)
    status = status_of(stream)
    result: Value = status or core.executor.query_stream(call.thread, stream, core.fresh_symbol(call.api.name, "input"))
    result = core.sticky_error(call.thread, stream.context) or result
    known = result if isinstance(result, int) else STATUS_UNKNOWN
    core.say(call, OperationKind.STREAM_QUERY, stream=stream.handle, status=known)
    return Outcome(known, {"return": result})


@handles(Effect.STREAM_CONTEXT)
def stream_context(core: ModelCore, call: Call) -> Outcome:
    """Give the context that a stream belongs to."""
    stream = stream_argument(core, call)
    context = stream.context or core.current(call.thread, call.site)
    use_stream(core, call, stream)
    out = call.out(Role.OUT_HANDLE)
    return Outcome(status_of(stream), {out.name: Handle("context", context.handle)} if out else {})


def stream_argument(core: ModelCore, call: Call) -> Stream:
    """Return the stream that a call runs on: the default stream where the argument is missing altogether."""
    core.current(call.thread, call.site)
    parameter = call.signature.first(Role.HANDLE, "stream")
    value: Value = 0 if parameter is None or parameter.name not in call.values else call.values[parameter.name]
    return core.stream_of(call.thread, value, call.site, call.per_thread)


def status_of(stream: Stream) -> int:
    """Return what a call on this stream returns."""
    return SUCCESS if stream.alive else INVALID_HANDLE


def use_stream(core: ModelCore, call: Call, stream: Stream) -> None:
    """Emit that a stream's handle was used."""
    if stream.handle <= PER_THREAD_HANDLE:
        core.say(call)
        return
    core.say(call, OperationKind.HANDLE_USE, object=stream.handle, detail=HandleKind.STREAM, status=status_of(stream))


def stream_query_succeeded(core: ModelCore, thread: HostThread, stream: Stream, site: int) -> None:
    """The path on which the query returned success: all work of the stream is complete, and the host knows it."""
    core.emit(OperationKind.STREAM_QUERY, thread, site, "cudaStreamQuery", stream=stream.handle)
