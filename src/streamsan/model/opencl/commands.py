"""What all commands of a queue have in common: a wait list, an event, and whether they block."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.opencl.handling import event_of, list_values, queue_of
from streamsan.model.opencl.objects import ClEvent, Queue, handle_of
from streamsan.model.values import Outcome, Symbol, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import EventKind, MarkerKind, OperationKind, WaitClass


def queue_argument(core: ModelCore, call: Call) -> Queue:
    """Return the queue that a command goes to."""
    return queue_of(core, call, call.value(Role.HANDLE, "stream"))


def wait_for_list(core: ModelCore, call: Call, queue: Queue) -> int:
    """Emit the waits of a command's list, directly before the command; return how many there are."""
    events = wait_list(core, call)
    for event in events:
        core.emit(
            OperationKind.STREAM_WAIT_EVENT,
            call.thread,
            call.site,
            call.api.name,
            stream=queue.handle,
            object=event.handle,
        )
    return len(events)


def wait_list(core: ModelCore, call: Call) -> list[ClEvent]:
    """Return the events of a wait list. What nobody knows is one event that is assumed to exist."""
    count = call.value(Role.WAIT_COUNT)
    given = call.value(Role.WAIT_LIST)
    if count == 0 or given == 0:
        return []
    values: list[Value] = list(list_values(call, Role.WAIT_LIST))
    if isinstance(count, int):
        values = values[:count]
        if len(values) < count:
            values.append(None)
    elif not values:
        values = [None]
    return [event_of(core, call, value) for value in values if value != 0]


def event_behind(core: ModelCore, call: Call, queue: Queue) -> dict[str, Value]:
    """Make the event of the command that was emitted last, if the program asks for it; return it as an output."""
    parameter = call.out(Role.OUT_HANDLE)
    if parameter is None or parameter.name not in call.values:
        return {}
    event = new_event(core, call, EventKind.COMMAND)
    core.emit(
        OperationKind.EVENT_RECORD,
        call.thread,
        call.site,
        call.api.name,
        stream=queue.handle,
        object=event.handle,
    )
    return {parameter.name: handle_of(event)}


def new_event(core: ModelCore, call: Call, kind: EventKind) -> ClEvent:
    """Make an event and say so."""
    event = ClEvent(core.fresh_handle(), "event", None, user=kind is EventKind.USER)
    call.thread.process.handles[event.handle] = event
    core.emit(OperationKind.EVENT_CREATE, call.thread, call.site, call.api.name, object=event.handle, detail=kind)
    return event


def wait_class(call: Call) -> WaitClass:
    """Return what the call waits for: its argument says so."""
    if not call.has(Role.BLOCKING):
        return WaitClass.NONE
    blocking = call.value(Role.BLOCKING)
    if isinstance(blocking, Symbol) or blocking is None:
        return WaitClass.MAYBE_COMPLETE
    return WaitClass.COMPLETE if blocking else WaitClass.NONE


def command(
    core: ModelCore,
    call: Call,
    kind: OperationKind,
    references: Sequence[Reference],
    *,
    queue: Queue | None = None,
    site: int | None = None,
    detail: int | None = None,
) -> Outcome:
    """Emit one command with its wait list and its event."""
    queue = queue or queue_argument(core, call)
    wait_for_list(core, call, queue)
    core.emit(
        kind,
        call.thread,
        call.site if site is None else site,
        call.api.name,
        stream=queue.handle,
        references=references,
        detail=wait_class(call) if detail is None else detail,
    )
    return Outcome(0, event_behind(core, call, queue))


def list_marker(core: ModelCore, call: Call, queue: Queue) -> None:
    """Emit a command that comes behind its wait list, and nothing else of the queue."""
    core.emit(
        OperationKind.QUEUE_MARKER,
        call.thread,
        call.site,
        call.api.name,
        stream=queue.handle,
        detail=MarkerKind.WAIT_LIST,
    )
