"""Launch attributes that let work begin before the kernel before it has ended (programmatic dependent launch).

Promised is (CUDA Programming Guide, Programmatic Dependent Launch and Synchronization): such a kernel may begin, and be
given neither the end nor the writes of the kernel before it, unless it waits for them; the wait covers the kernels that
it depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import Value
from streamsan.platforms import CUDA
from streamsan.trace.references import MOST_FURTHER_REFERENCES, Reference
from streamsan.vocabulary import OperationKind, SlotFlag, WaitClass

_SERIALIZATION = CUDA.constants["cudaLaunchAttributeProgrammaticStreamSerialization"]
_EVENTS = {
    CUDA.constants["cudaLaunchAttributeProgrammaticEvent"]: "programmaticEvent.event",
    CUDA.constants["cudaLaunchAttributeLaunchCompletionEvent"]: "launchCompletionEvent.event",
}
_IDENTITY = ".id"
_NO_REFERENCE = Reference(0)
"""takes the place of a launch's own reference where all others are used after the wait"""


def attributes(call: Call) -> Iterator[tuple[int, dict[str, Value]]]:
    """Yield the attributes in a launch's configuration: each one's number, and the fields of its value."""
    for fields in call.structures.values():
        for key, number in fields.items():
            if key.startswith("attrs.") and key.endswith(_IDENTITY) and isinstance(number, int):
                prefix = key.removesuffix(_IDENTITY) + "."
                inner = {
                    name[len(prefix) :].partition(".")[2]: fields[name] for name in fields if name.startswith(prefix)
                }
                yield number, inner


def is_programmatic(call: Call) -> bool:
    """Return whether a launch surely allows its kernel to begin before the one before it has ended."""
    allowed = [
        fields.get("programmaticStreamSerializationAllowed")
        for number, fields in attributes(call)
        if number == _SERIALIZATION
    ]
    return bool(allowed) and isinstance(allowed[-1], int) and allowed[-1] != 0


def combined(
    references: list[Reference], early: list[Reference] | None, programmatic: bool
) -> tuple[list[Reference], WaitClass]:
    """Return what a launch uses as a slot holds it, and the class that says how.

    `early` is what the kernel uses before it waits for the one before it; None: it waits first, or nobody knows.
    """
    if not programmatic:
        return references, WaitClass.NONE
    if early is None or len(references) + len(early) > MOST_FURTHER_REFERENCES:
        return references, WaitClass.PROGRAMMATIC
    behind = [replace(each, flags=each.flags | SlotFlag.BEHIND) for each in references if each not in early]
    first = [*early, *behind] if early or not behind else [_NO_REFERENCE, *behind]
    return first, WaitClass.AT_ONCE


def is_used_early(references: Iterable[Reference]) -> bool:
    """Return whether all that an AT_ONCE launch uses is used without waiting."""
    return not any(each.flags & SlotFlag.BEHIND for each in references)


def record_events(core: ModelCore, call: Call, stream: Stream) -> None:
    """Emit the records of events that a launch's attributes ask for.

    Such an event does not mean that the kernel has ended. Who waits for one relies on what the kernel did before its
    trigger, which nobody sees: it counts as a record behind the kernel.
    """
    for number, fields in attributes(call):
        event = fields.get(_EVENTS[number]) if number in _EVENTS else None
        if event is not None and event != 0:
            _record(core, call.thread, stream, event, call)


def _record(core: ModelCore, thread: HostThread, stream: Stream, value: Value, call: Call) -> None:
    event = core.event_of(thread, value, call.site)
    if not event.alive:
        return
    event.recorded, event.capture = True, None
    core.emit(OperationKind.EVENT_RECORD, thread, call.site, call.api.name, stream=stream.handle, object=event.handle)
    core.executor.record(thread, stream, event)
