"""Memory and events given to other processes: IPC handles, pointers of shared pools.

A handle is given with what it stands for (`handle.kind`, `.exporter`, `.identity`, `.size`). A process that opens it
gives these fields back; the executor then finds the process that made it, if it is another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from streamsan.effects import Role
from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.process_state import Process
from streamsan.model.resources import Allocation, Lifetime
from streamsan.model.statuses import INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, MAP_FAILED, NOT_SUPPORTED, SUCCESS
from streamsan.model.streams_and_graphs import Event
from streamsan.model.values import Handle, Outcome, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import MemoryKind, OperationKind, SlotFlag

INTERPROCESS = CUDA.constants["cudaEventInterprocess"]
MEMORY, EVENT = 1, 2
"""what a handle stands for"""


class Export(Struct, frozen=True):
    """What an IPC handle stands for."""

    process: Process
    allocation: Allocation | None = None
    event: Event | None = None


class Origin(Struct, frozen=True):
    """Where memory that is opened lies, or why it is not."""

    address: int | None = None
    size: Value = None
    status: int = SUCCESS
    identity: int = 0
    """of an IPC handle: opening it again gives what was opened before"""


@answers("cudaIpcGetMemHandle", "cuIpcGetMemHandle")
def get_memory_handle(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a handle of plain device memory for other processes."""
    return _exported(core, call, frozenset({MemoryKind.PLAIN}))


@answers("cudaMemPoolExportPointer", "cuMemPoolExportPointer")
def export_pointer(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give what another process needs to import memory of a shared pool."""
    return _exported(core, call, frozenset({MemoryKind.STREAM_ORDERED}))


@answers("cudaIpcGetEventHandle", "cuIpcGetEventHandle")
def get_event_handle(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a handle of an event that was made for other processes."""
    value = call.value(Role.HANDLE, "event")
    event = call.thread.process.handles.get(value.value) if isinstance(value, Handle) else None
    if not isinstance(event, Event) or not event.alive or not event.flags & INTERPROCESS:
        return Outcome(INVALID_HANDLE)
    handle = _handle(core, Export(call.thread.process, event=event))
    if not core.executor.share_event(event, handle.value):
        return Outcome(NOT_SUPPORTED)
    return _given(core, call, handle, {"kind": EVENT})


@answers("cudaIpcOpenEventHandle", "cuIpcOpenEventHandle")
def open_event(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give another process's event; in the process that made it this fails."""
    foreign = _foreign(core, call, EVENT)
    if foreign is not None:
        # When the other process records it is not in this one's trace.
        known = Event(core.fresh_handle(), core.current(call.thread, call.site), assumed=True, flags=INTERPROCESS)
        if status := core.executor.open_event(known, foreign):
            return Outcome(status)
        call.thread.process.handles[known.handle] = known
        return _opened(core, call, known, SlotFlag.ASSUMED)
    export = _named(core, call.value(Role.HANDLE, "ipc"))
    if export is None or export.event is None:
        return Outcome(MAP_FAILED)
    if export.process is call.thread.process:
        return Outcome(INVALID_CONTEXT)
    event = export.event
    call.thread.process.handles[event.handle] = event
    return _opened(core, call, event)


def _opened(core: ModelCore, call: Call, event: Event, flags: int = 0) -> Outcome:
    core.say(call, OperationKind.EVENT_CREATE, object=event.handle, flags=flags)
    return call.gives(Handle("event", event.handle))


def origin(core: ModelCore, call: Call) -> Origin:
    """Return what is behind a handle that is opened, or a pointer that is imported; nothing where nobody knows."""
    kind = call.api.memory
    if core.machine is None or kind not in (MemoryKind.IPC, MemoryKind.POOL_IMPORT):
        return Origin()
    if (foreign := _foreign(core, call, MEMORY)) is not None:
        return _opened_memory(core, call, foreign, kind)
    if kind is MemoryKind.IPC:
        export = _named(core, call.value(Role.HANDLE, "ipc"))
    else:
        parameter = call.signature.first(Role.STRUCTURE)
        name = "" if parameter is None else parameter.name
        fields = call.structures.get(name)
        export = _named(core, next(iter(fields.values()), None) if fields else call.values.get(name))
    if export is None or export.allocation is None:
        return Origin(status=INVALID_VALUE)
    if export.process is call.thread.process and call.api.memory is MemoryKind.IPC:
        return Origin(status=INVALID_CONTEXT)
    number = call.value(Role.HANDLE, "ipc") if call.api.memory is MemoryKind.IPC else None
    identity = number.value if isinstance(number, Handle) else 0
    return Origin(export.allocation.address, export.allocation.size, identity=identity)


def _exported(core: ModelCore, call: Call, kinds: frozenset[MemoryKind]) -> Outcome:
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is None or allocation.kind not in kinds or allocation.lifetime is not Lifetime.LIVE:
        return Outcome(INVALID_VALUE)
    handle = _handle(core, Export(call.thread.process, allocation=allocation))
    if not core.executor.share_memory(allocation, handle.value):
        return Outcome(NOT_SUPPORTED)
    return _given(core, call, handle, {"kind": MEMORY, "size": allocation.size})


def _opened_memory(core: ModelCore, call: Call, foreign: Mapping[str, Value], kind: MemoryKind) -> Origin:
    """Open another process's memory, unless it is open already."""
    # Two processes that know nothing of each other may use the same identities.
    identity = _number(foreign, "exporter") << 64 | _number(foreign, "identity")
    known = call.thread.process.imports.get(identity)
    if kind is MemoryKind.IPC and known is not None and known.lifetime is Lifetime.LIVE:
        return Origin(known.address, known.size, identity=identity)
    opened = core.executor.open_memory(foreign, kind, core.current(call.thread, call.site))
    if opened.status:
        return Origin(status=opened.status)
    reason = "what other processes do with imported memory, and when, is not checked"
    core.say_once(call, reason, reason)
    return Origin(opened.address, opened.size, identity=identity if kind is MemoryKind.IPC else 0)


def _given(core: ModelCore, call: Call, handle: Handle, fields: dict[str, Value]) -> Outcome:
    outcome = call.gives(handle)
    for name in list(outcome.outputs):
        fields |= {"identity": handle.value, "exporter": core.executor.exporter}
        outcome.outputs.update({f"{name}.{key}": value for key, value in fields.items()})
    return outcome


def _foreign(core: ModelCore, call: Call, kind: int) -> Mapping[str, Value] | None:
    """Return what a handle of another process says; None if it says nothing of the kind, or is of this one."""
    for fields in call.structures.values():
        exporter = _number(fields, "exporter")
        if fields.get("kind") == kind and exporter and exporter != core.executor.exporter:
            return fields
    return None


def _number(fields: Mapping[str, Value], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0


def _handle(core: ModelCore, export: Export) -> Handle:
    for known, other in core.exports.items():
        if isinstance(other, Export) and other.allocation is export.allocation and other.event is export.event:
            return Handle("ipc", known)
    value = core.fresh_handle()
    core.exports[value] = export
    return Handle("ipc", value)


def _named(core: ModelCore, value: Value) -> Export | None:
    number = value.value if isinstance(value, Handle) else value
    found = core.exports.get(number) if isinstance(number, int) else None
    return found if isinstance(found, Export) else None
