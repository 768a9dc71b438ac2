"""What handlers of OpenCL's calls share: how a value becomes an object, and what it leaves in the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore, identity
from streamsan.model.opencl.objects import ClEvent, ClObject, Kernel, MemoryObject, Queue, handle_of
from streamsan.model.values import Handle, HandleType, Outcome, Symbol, Value
from streamsan.model.verb_registry import Registry
from streamsan.platforms import OPENCL
from streamsan.vocabulary import HandleKind, MemoryKind, OperationKind, SlotFlag, StreamKind

Handler = Callable[[ModelCore, Call], Outcome]
HANDLERS: Registry[Effect, Handler] = Registry()
handles = HANDLERS.of

_Object = TypeVar("_Object", bound=ClObject)

INVALID_OBJECTS = {
    "context": OPENCL.constants["CL_INVALID_CONTEXT"],
    "stream": OPENCL.constants["CL_INVALID_COMMAND_QUEUE"],
    "memory": OPENCL.constants["CL_INVALID_MEM_OBJECT"],
    "event": OPENCL.constants["CL_INVALID_EVENT"],
    "kernel": OPENCL.constants["CL_INVALID_KERNEL"],
    "program": OPENCL.constants["CL_INVALID_PROGRAM"],
    "sampler": OPENCL.constants["CL_INVALID_SAMPLER"],
}
INVALID_VALUE = OPENCL.constants["CL_INVALID_VALUE"]

KINDS = {
    "stream": HandleKind.STREAM,
    "event": HandleKind.EVENT,
    "context": HandleKind.CONTEXT,
    "kernel": HandleKind.KERNEL,
    "program": HandleKind.PROGRAM,
    "sampler": HandleKind.SAMPLER,
    "command_buffer": HandleKind.COMMAND_BUFFER,
}


def made(core: ModelCore, call: Call, thing: ClObject) -> Outcome:
    """Return the outcome of a call that made an object."""
    call.thread.process.handles[thing.handle] = thing
    return returned(call, handle_of(thing))


def returned(call: Call, value: Value) -> Outcome:
    """Return success with what the call returns, and success where it tells its status."""
    outputs: dict[str, Value] = {"return": value}
    status = call.out(Role.OUT_STATUS)
    if status is not None:
        outputs[status.name] = 0
    return Outcome(0, outputs)


def known(call: Call, value: Value) -> ClObject | None:
    """Return the object of a handle, alive or not; None: nobody knows it."""
    if isinstance(value, Handle):
        found = call.thread.process.handles.get(value.value)
        return found if isinstance(found, ClObject) else None
    if isinstance(value, Symbol):
        for (_, key), assumed in call.thread.process.assumed_handles.items():
            if key == value and isinstance(assumed, ClObject):
                return assumed
    return None


def object_of(
    core: ModelCore, call: Call, word: HandleType, kind: type[_Object], value: Value, assume: Callable[[int], _Object]
) -> _Object:
    """Return the object of a kind that a value means; one that nobody knows is assumed to exist, once."""
    process = call.thread.process
    found = process.handles.get(value.value) if isinstance(value, Handle) else None
    if isinstance(found, kind):
        return found
    key = (word, identity(value, call.site))
    assumed = process.assumed_handles.get(key)
    if not isinstance(assumed, kind):
        assumed = assume(core.fresh_handle())
        assumed.assumed = True
        process.assumed_handles[key] = process.handles[assumed.handle] = assumed
    return assumed


def queue_of(core: ModelCore, call: Call, value: Value) -> Queue:
    """Return the queue that a value means. Nobody knows of what kind an unknown one is."""

    def assume(handle: int) -> Queue:
        site = core.named_site(call.site, value)
        core.emit(
            OperationKind.STREAM_CREATE,
            call.thread,
            site,
            object=handle,
            detail=StreamKind.UNKNOWN,
            flags=SlotFlag.ASSUMED,
        )
        return Queue(handle, "stream", None)

    return object_of(core, call, "stream", Queue, value, assume)


def event_of(core: ModelCore, call: Call, value: Value) -> ClEvent:
    """Return the event that a value means."""

    def assume(handle: int) -> ClEvent:
        site = core.named_site(call.site, value)
        core.emit(OperationKind.EVENT_CREATE, call.thread, site, object=handle, flags=SlotFlag.ASSUMED)
        return ClEvent(handle, "event", None)

    return object_of(core, call, "event", ClEvent, value, assume)


def memory_of(core: ModelCore, call: Call, value: Value) -> MemoryObject:
    """Return the memory object that a value means."""

    def assume(handle: int) -> MemoryObject:
        allocation = core.new_allocation(call.thread, None, MemoryKind.UNKNOWN, None)
        allocation.assumed = True
        core.say_allocation(call.thread, allocation, core.named_site(call.site, value), flags=SlotFlag.ASSUMED)
        return MemoryObject(handle, "memory", None, allocation=allocation)

    return object_of(core, call, "memory", MemoryObject, value, assume)


def kernel_of(core: ModelCore, call: Call, value: Value) -> Kernel:
    """Return the kernel object that a value means."""

    def assume(handle: int) -> Kernel:
        return Kernel(handle, "kernel", None, unclear=True)

    return object_of(core, call, "kernel", Kernel, value, assume)


def made_in(call: Call) -> int:
    """Return the handle of the context that a call makes something in; 0: not known."""
    thing = known(call, call.value(Role.HANDLE, "context"))
    return 0 if thing is None or thing.assumed else thing.handle


def say_handle(core: ModelCore, call: Call, kind: OperationKind, thing: ClObject, status: int = 0) -> Outcome:
    """Emit what happens to an object that the trace knows by its handle; a plain call for any other."""
    detail = KINDS.get(thing.type)
    if isinstance(thing, MemoryObject) and thing.whole is not None:
        detail = HandleKind.SUB_BUFFER
    if detail is None or thing.assumed:
        return core.say(call, status=status)
    context = thing.made_in if kind is OperationKind.HANDLE_CREATE else 0
    return core.say(call, kind, object=thing.handle, address=context, detail=detail, status=status)


def list_values(call: Call, role: Role) -> Iterator[Value]:
    """Yield the entries of the first list of a role, as far as they are known."""
    parameter = call.signature.first(role)
    fields = call.structures.get(parameter.name, {}) if parameter is not None else {}
    for number in range(len(fields)):
        if str(number) in fields:
            yield fields[str(number)]


def named_list(call: Call, name: str) -> list[Value]:
    """Return the entries of a list parameter, as far as they are known."""
    fields = call.structures.get(name, {})
    return [fields[str(number)] for number in range(len(fields)) if str(number) in fields]
