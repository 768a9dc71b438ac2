"""Events."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.process_state import HostThread
from streamsan.model.statuses import INVALID_HANDLE, SUCCESS
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.streams_and_graphs import Event, Stream
from streamsan.model.values import Handle, Outcome, Value
from streamsan.platforms import CUDA
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.vocabulary import OperationKind

DISABLE_TIMING = CUDA.constants["cudaEventDisableTiming"]


@handles(Effect.EVENT_CREATE)
def event_create(core: ModelCore, call: Call) -> Outcome:
    """Make an event of the current context."""
    event = Event(core.fresh_handle(), core.current(call.thread, call.site), flags=call.number(Role.FLAGS) or 0)
    call.thread.process.handles[event.handle] = event
    core.say(call, OperationKind.EVENT_CREATE, object=event.handle)
    return call.gives(Handle("event", event.handle))


@handles(Effect.EVENT_DESTROY)
def event_destroy(core: ModelCore, call: Call) -> Outcome:
    """Destroy an event; waits that were issued still hold (A-05)."""
    value = call.value(Role.HANDLE, "event")
    if value is None or value == 0:
        status = SUCCESS if value is None else INVALID_HANDLE
        return core.say(call, status=status)
    outcome = _simple(core, call, OperationKind.EVENT_DESTROY)
    core.event_of(call.thread, value, call.site).alive = False
    return outcome


@handles(Effect.EVENT_RECORD)
def event_record(core: ModelCore, call: Call) -> Outcome:
    """The event captures the stream as it is now."""
    stream = stream_argument(core, call)
    event = event_argument(core, call)
    status = event_status(event) or status_of(stream) or _device_status(core, call, stream, event)
    if not status:
        event.recorded, event.capture = True, None
    core.say(call, OperationKind.EVENT_RECORD, stream=stream.handle, object=event.handle, status=status)
    if not status:
        core.executor.record(call.thread, stream, event)
    return Outcome(status)


@handles(Effect.STREAM_WAIT_EVENT)
def stream_wait_event(core: ModelCore, call: Call) -> Outcome:
    """The stream waits for the event's latest record."""
    stream = stream_argument(core, call)
    event = event_argument(core, call)
    status = event_status(event) or status_of(stream)
    core.say(call, OperationKind.STREAM_WAIT_EVENT, stream=stream.handle, object=event.handle, status=status)
    if not status:
        core.executor.wait_event(call.thread, stream, event)
    return Outcome(status)


@handles(Effect.EVENT_SYNCHRONIZE)
def event_synchronize(core: ModelCore, call: Call) -> Outcome:
    """The host waits for the event's latest record."""
    event = event_argument(core, call)
    if event.alive:
        core.executor.synchronize_event(call.thread, event)
    return _simple(core, call, OperationKind.EVENT_SYNCHRONIZE, core.sticky_error(call.thread, event.context))


@handles(Effect.EVENT_QUERY)
def event_query(core: ModelCore, call: Call) -> Outcome:
    """Ask whether an event is complete. The result is in `outputs["return"]`; see `query_succeeded` for the edge."""
    event = event_argument(core, call)
    status = event_status(event)
    result: Value = status or core.executor.query_event(call.thread, event, core.fresh_symbol(call.api.name, "input"))
    result = core.sticky_error(call.thread, event.context) or result
    known = result if isinstance(result, int) else STATUS_UNKNOWN
    core.say(call, OperationKind.EVENT_QUERY, object=event.handle, status=known)
    return Outcome(known, {"return": result})


@handles(Effect.EVENT_ELAPSED)
def event_elapsed(core: ModelCore, call: Call) -> Outcome:
    """Read the time between two events."""
    names = [parameter.name for parameter in call.signature.with_role(Role.HANDLE)]
    core.current(call.thread, call.site)
    start, end = (core.event_of(call.thread, call.values.get(name), call.site) for name in names[:2])
    status = event_status(start) or event_status(end) or _timing_status(core, call, start, end)
    core.say(call, OperationKind.EVENT_ELAPSED, object=start.handle, address=end.handle, status=status)
    out = call.out(Role.OUT_VALUE)
    if status or out is None or core.machine is None:
        return Outcome(status)
    return Outcome(status, {out.name: core.executor.elapsed(start, end, core.fresh_symbol("milliseconds"))})


def event_argument(core: ModelCore, call: Call) -> Event:
    """Return the event that a call is about."""
    core.current(call.thread, call.site)
    return core.event_of(call.thread, call.value(Role.HANDLE, "event"), call.site)


def event_status(event: Event) -> int:
    """Return what a call on this event returns."""
    return SUCCESS if event.alive else INVALID_HANDLE


def may_be_recorded(thread: HostThread, values: Iterable[Value]) -> None:
    """Code nobody can see got these values: it may have recorded the events among them."""
    for value in values:
        event = thread.process.handles.get(value.value) if isinstance(value, Handle) else None
        if isinstance(event, Event):
            event.recorded = True


def event_query_succeeded(core: ModelCore, thread: HostThread, event: Event, site: int) -> None:
    """The path on which the query returned success."""
    core.emit(OperationKind.EVENT_QUERY, thread, site, "cudaEventQuery", object=event.handle)


def _device_status(core: ModelCore, call: Call, stream: Stream, event: Event) -> int:
    """An event is recorded in streams of its own context only."""
    context = stream.context or core.current(call.thread, call.site)
    if core.machine is None or event.context is None or event.context is context or event.assumed:
        return SUCCESS
    return INVALID_HANDLE


def _timing_status(core: ModelCore, call: Call, start: Event, end: Event) -> int:
    for event in (start, end):
        if not event.assumed and (event.flags & DISABLE_TIMING or not event.recorded):
            return INVALID_HANDLE
    if core.machine is None:
        return SUCCESS
    for event in (start, end):
        result = core.executor.query_event(call.thread, event, core.fresh_symbol(call.api.name, "input"))
        if isinstance(result, int) and result:
            return result
    return SUCCESS


def _simple(core: ModelCore, call: Call, kind: OperationKind, error: int = SUCCESS) -> Outcome:
    event = event_argument(core, call)
    status = event_status(event) or error
    return core.say(call, kind, object=event.handle, status=status)
