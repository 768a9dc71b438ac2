"""Markers, barriers, events, and what the host waits for."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.host_function_body import HostCall
from streamsan.model.opencl.commands import command, event_behind, new_event, queue_argument, wait_for_list, wait_list
from streamsan.model.opencl.handling import event_of, handles, returned
from streamsan.model.opencl.objects import ClEvent, handle_of
from streamsan.model.process_state import HostThread
from streamsan.model.values import Outcome
from streamsan.platforms import OPENCL
from streamsan.vocabulary import CallbackTime, EdgeClass, EventKind, HandleKind, MarkerKind, OperationKind

EXECUTION_STATUS = OPENCL.constants["CL_EVENT_COMMAND_EXECUTION_STATUS"]
COMPLETE = OPENCL.constants["CL_COMPLETE"]


@handles(Effect.STREAM_SYNCHRONIZE)
def finish(core: ModelCore, call: Call) -> Outcome:
    """The host waits for all commands of a queue."""
    queue = queue_argument(core, call)
    core.say(call, OperationKind.STREAM_SYNCHRONIZE, stream=queue.handle)
    return Outcome()


@handles(Effect.EVENT_SYNCHRONIZE)
def wait_for_events(core: ModelCore, call: Call) -> Outcome:
    """The host waits for events."""
    events = wait_list(core, call)
    for event in events:
        core.say(call, OperationKind.EVENT_SYNCHRONIZE, object=event.handle)
    if not events:
        core.say(call)
    return Outcome()


@handles(Effect.QUEUE_MARKER)
def marker(core: ModelCore, call: Call) -> Outcome:
    """A command that does nothing but wait, and in a barrier let others wait."""
    queue = queue_argument(core, call)
    listed = wait_for_list(core, call, queue)
    if call.api.name == "clEnqueueWaitForEvents" or ("Barrier" in call.api.name and listed):
        kind = MarkerKind.BARRIER_WAIT_LIST
    elif "Barrier" in call.api.name:
        kind = MarkerKind.BARRIER_ALL
    else:
        kind = MarkerKind.WAIT_LIST if listed else MarkerKind.ALL_BEFORE
    core.say(call, OperationKind.QUEUE_MARKER, stream=queue.handle, detail=kind)
    return Outcome(0, event_behind(core, call, queue))


@handles(Effect.SEMAPHORE_WAIT, Effect.SEMAPHORE_SIGNAL)
def semaphore(core: ModelCore, call: Call) -> Outcome:
    """What a semaphore orders nobody sees: who waits for it may know all that was done before."""
    outcome = command(core, call, OperationKind.QUEUE_MARKER, [], detail=MarkerKind.ALL_BEFORE)
    core.emit(OperationKind.OPAQUE_CALL, call.thread, call.site, call.api.name)
    return outcome


@handles(Effect.USER_EVENT)
def user_event(core: ModelCore, call: Call) -> Outcome:
    """Make an event that the host completes."""
    return returned(call, handle_of(new_event(core, call, EventKind.USER)))


@handles(Effect.EVENT_CREATE)
def foreign_event(core: ModelCore, call: Call) -> Outcome:
    """Make an event that another interface completes."""
    return returned(call, handle_of(new_event(core, call, EventKind.COMMAND)))


@handles(Effect.USER_EVENT_SET)
def set_user_event(core: ModelCore, call: Call) -> Outcome:
    """The host completes a user event: who waits for it goes on, after all that the host did before."""
    event = event_of(core, call, call.value(Role.HANDLE, "event"))
    core.say(call, OperationKind.EVENT_RECORD, object=event.handle)
    return Outcome()


@handles(Effect.EVENT_QUERY)
def event_information(core: ModelCore, call: Call) -> Outcome:
    """Ask an event something. Its status is no synchronisation point, whatever it says (5.11)."""
    event = event_of(core, call, call.value(Role.HANDLE, "event"))
    if event.counted and not event.alive:
        core.say(call, OperationKind.HANDLE_USE, object=event.handle, detail=HandleKind.EVENT)
        return Outcome()
    core.say(call)
    if call.named("param_name") != EXECUTION_STATUS:
        return Outcome()
    return Outcome(0, {"param_value": core.fresh_symbol("execution status")})


def status_seen_complete(core: ModelCore, thread: HostThread, event: ClEvent, site: int) -> None:
    """The program found that an event is complete: the order that this gives in practice is not promised."""
    core.emit(OperationKind.EVENT_QUERY, thread, site, "clGetEventInfo", object=event.handle, detail=EdgeClass.OBSERVED)


@handles(Effect.EVENT_CALLBACK)
def event_callback(core: ModelCore, call: Call) -> Outcome:
    """A function to call when an event is complete; nothing waits for it."""
    event = event_of(core, call, call.value(Role.HANDLE, "event"))
    body = call.payload if callable(call.payload) else None
    key = core.fresh_handle() if body is not None else 0
    status = call.named("command_exec_callback_type")
    early = isinstance(status, int) and status != COMPLETE
    time = CallbackTime.EARLIER if early else CallbackTime.COMPLETE
    core.say(call, OperationKind.EVENT_CALLBACK, object=event.handle, address=key, detail=time)
    if body is not None:
        HostCall(core, call.thread, body, key, call.site)()
    return Outcome()
