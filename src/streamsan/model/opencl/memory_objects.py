"""Memory objects and shared virtual memory: made, and given back."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import LARGEST_SIZE, ModelCore, known_size
from streamsan.model.opencl.commands import event_behind, list_marker, queue_argument, wait_for_list
from streamsan.model.opencl.handling import (
    INVALID_OBJECTS,
    handles,
    known,
    list_values,
    made,
    made_in,
    memory_of,
    returned,
    say_handle,
)
from streamsan.model.opencl.images import shape_of
from streamsan.model.opencl.objects import MemoryObject
from streamsan.model.resources import Allocation, Lifetime
from streamsan.model.values import Outcome, Pointer, Symbol, Value
from streamsan.platforms import OPENCL
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, SlotFlag

_USE_HOST_POINTER = OPENCL.constants["CL_MEM_USE_HOST_PTR"]
_COPY_HOST_POINTER = OPENCL.constants["CL_MEM_COPY_HOST_PTR"]


@handles(Effect.ALLOC)
def allocate(core: ModelCore, call: Call) -> Outcome:
    """Make a memory object, or shared virtual memory."""
    if call.api.memory is MemoryKind.SVM:
        allocation = core.new_allocation(call.thread, call.value(Role.SIZE), MemoryKind.SVM, None)
        core.say_allocation(call.thread, allocation, call.site, call.api.name)
        return returned(call, allocation.pointer)
    flags, host = call.number(Role.FLAGS), call.value(Role.HOST_POINTER)
    size = call.value(Role.SIZE) if call.has(Role.SIZE) else None
    uses_host = flags is None or bool(flags & _USE_HOST_POINTER)
    pointer = core.pointer_of(call.thread, host, call.site) if host not in (0, None) else None
    if pointer is not None and flags is not None and flags & _COPY_HOST_POINTER:
        read = core.reference(call.thread, pointer, size, AccessMode.READ, call.site)
        if read is not None:
            core.emit(OperationKind.HOST_ACCESS, call.thread, call.site, call.api.name, references=[read])
    over_host = pointer if uses_host and pointer is not None and pointer.exact and known_size(size) else None
    if over_host is not None and (thing := _over_known_memory(core, call, over_host, known_size(size))) is not None:
        return made(core, call, thing)
    shape = None if call.has(Role.SIZE) else shape_of(call)
    bytes_of_image = shape.bytes if shape is not None else None
    allocation = core.new_allocation(call.thread, bytes_of_image or size, MemoryKind.CL_BUFFER, None)
    if over_host is not None and not _is_under_another(call, over_host, allocation.size):
        # The host's memory is the buffer's, under the same name in the trace.
        allocation.address = over_host.address
        allocation.generation = over_host.generation or allocation.generation
    context = made_in(call)
    core.say_allocation(call.thread, allocation, call.site, call.api.name, more=[Reference(context)] if context else [])
    thing = MemoryObject(
        core.fresh_handle(), "memory", None, made_in=context, allocation=allocation, size=allocation.size
    )
    thing.is_image = not call.has(Role.SIZE)
    thing.shape = shape
    thing.over_host = over_host is not None
    return made(core, call, thing)


def _over_known_memory(core: ModelCore, call: Call, pointer: Pointer, size: int) -> MemoryObject | None:
    """Make a buffer over memory that the trace has already: shared virtual memory, or memory of a live buffer."""
    under = core.allocation_of(call.thread, pointer)
    if under is not None and under.kind is MemoryKind.SVM:
        core.say(call)
        offset = pointer.address - under.address
        thing = MemoryObject(core.fresh_handle(), "memory", None, allocation=under, offset=offset, size=size)
        thing.is_lent = thing.over_host = True
        return thing
    for other in _buffers_over(call, pointer, size):
        assert other.allocation is not None
        if (other.allocation.address, other.allocation.size) == (pointer.address, size):
            # Two buffers have the same memory: it goes with the last of them.
            return _part_of(core, call, other, size=size)
    return None


def _is_under_another(call: Call, pointer: Pointer, size: int) -> bool:
    return any(True for _ in _buffers_over(call, pointer, size))


def _buffers_over(call: Call, pointer: Pointer, size: int) -> Iterator[MemoryObject]:
    """Yield the buffers whose memory, some bytes of a host range, is not gone yet."""
    for other in call.thread.process.handles.values():
        if not isinstance(other, MemoryObject) or other.whole is not None or not (other.alive or other.parts):
            continue
        memory = other.allocation
        if memory is None or memory.generation != pointer.generation or other.is_lent:
            continue
        if memory.address < pointer.address + size and pointer.address < memory.address + memory.size:
            yield other


@handles(Effect.SUB_BUFFER)
def sub_buffer(core: ModelCore, call: Call) -> Outcome:
    """Make a part of a buffer: it keeps the whole's memory alive."""
    whole = memory_of(core, call, call.value(Role.HANDLE, "memory"))
    fields = call.structures.get("buffer_create_info", {})
    origin, size = (fields.get(f"0.{name}", fields.get(name)) for name in ("origin", "size"))
    thing = _part_of(core, call, whole)
    thing.exact = isinstance(origin, int) and isinstance(size, int) and whole.exact
    thing.exact &= isinstance(origin, int) and 0 <= origin < LARGEST_SIZE
    if isinstance(origin, int) and isinstance(size, int) and thing.exact:
        thing.offset, thing.size = whole.offset + origin, known_size(size)
    return made(core, call, thing)


def _part_of(core: ModelCore, call: Call, whole: MemoryObject, size: int = 0) -> MemoryObject:
    thing = MemoryObject(core.fresh_handle(), "memory", None, allocation=whole.allocation, whole=whole, size=size)
    thing.over_host = whole.over_host
    whole.parts += 1
    thing.made_in = whole.made_in
    say_handle(core, call, OperationKind.HANDLE_CREATE, thing)
    return thing


def release_memory(core: ModelCore, call: Call, thing: MemoryObject) -> Outcome:
    """One reference to a memory object less; with the last one it goes, when its commands are complete."""
    status = 0
    if thing.counted:
        status = 0 if thing.alive else INVALID_OBJECTS["memory"]
        thing.count -= 0 if status else 1
    if thing.whole is not None:
        if status or (thing.count <= 0 and thing.counted):
            say_handle(core, call, OperationKind.HANDLE_DESTROY, thing, status)
            if not status:
                thing.alive = False
                _part_gone(core, call, thing.whole)
            return Outcome(status)
        return say_handle(core, call, OperationKind.HANDLE_USE, thing)
    if status or (thing.counted and thing.count <= 0):
        thing.alive = False
        if thing.parts and not status:
            return core.say(call)
        return free_memory(core, call, thing, status)
    if thing.assumed and not thing.shared:
        # Whose the references are nobody knows; after this one the program's own uses are over.
        return core.say(call)
    return core.say(call)


def _part_gone(core: ModelCore, call: Call, whole: MemoryObject) -> None:
    whole.parts -= 1
    if not whole.parts and not whole.alive and whole.whole is None:
        free_memory(core, call, whole, 0)


def free_memory(core: ModelCore, call: Call, thing: MemoryObject, status: int) -> Outcome:
    """Emit that a memory object goes; of one over shared virtual memory nothing does."""
    assert thing.allocation is not None
    if thing.is_lent:
        return core.say(call, status=status)
    if not status:
        thing.allocation.lifetime = Lifetime.FREED
    return core.say(
        call,
        OperationKind.FREE,
        references=[Reference(thing.allocation.address, 0, thing.allocation.generation)],
        detail=FreeClass.CL_RELEASE,
        status=status,
    )


@handles(Effect.FREE)
def free(core: ModelCore, call: Call) -> Outcome:
    """Give shared virtual memory back: at once, or as a command of a queue."""
    if call.api.free is FreeClass.ASYNC:
        return _enqueued_free(core, call)
    value = call.value(Role.FREED)
    if value == 0:
        return core.say(call)
    return _say_free(core, call, value, call.api.free or FreeClass.CL_SVM, 0)


def _enqueued_free(core: ModelCore, call: Call) -> Outcome:
    queue = queue_argument(core, call)
    wait_for_list(core, call, queue)
    pointers = list(list_values(call, Role.LIST))
    if pointers:
        # The command itself: what is freed is freed with it, behind its wait list and nothing else of the queue.
        list_marker(core, call, queue)
    for value in pointers:
        _say_free(core, call, value, FreeClass.ASYNC, queue.handle)
    if not pointers:
        core.say(call)
    return Outcome(0, event_behind(core, call, queue))


def _say_free(core: ModelCore, call: Call, value: Value, family: FreeClass, stream: int) -> Outcome:
    pointer = core.pointer_of(call.thread, value, call.site)
    if pointer is None:
        return core.say(call)
    allocation = core.allocation_of(call.thread, pointer)
    core.say(
        call,
        OperationKind.FREE,
        stream=stream,
        references=[Reference(pointer.address, 0, pointer.generation)],
        detail=family,
        flags=0 if pointer.exact else SlotFlag.ASSUMED,
    )
    if allocation is not None and allocation.lifetime in (Lifetime.LIVE, Lifetime.UNCLEAR):
        allocation.lifetime = Lifetime.FREED if pointer.exact else Lifetime.UNCLEAR
    return Outcome()


def reference_to(
    thing: MemoryObject, mode: AccessMode, offset: Value = 0, size: Value = None, flags: int = 0
) -> Reference:
    """Return what a command touches of a memory object; `size` None: all, or nobody knows how much of it."""
    allocation = thing.allocation
    assert allocation is not None
    if not thing.exact or not isinstance(offset, int) or not 0 <= offset < LARGEST_SIZE:
        return Reference(allocation.address, 0, allocation.generation, mode, flags)
    start = thing.offset + offset
    if isinstance(size, int) and size > 0:
        extent = known_size(size)
    elif size is None and offset == 0 and thing.whole is not None:
        extent = thing.size  # a part: nothing beyond it is touched
    else:
        extent = 0
    return Reference(allocation.address + start, extent, allocation.generation, mode, flags)


def argument_reference(
    core: ModelCore, call: Call, value: MemoryObject | Pointer | Symbol, mode: AccessMode, flags: int = 0
) -> Reference | None:
    """Return what a kernel uses of an argument that it holds."""
    if isinstance(value, MemoryObject):
        found = reference_to(value, mode, flags=flags)
        if value.whole is not None and not value.exact:
            found = replace(found, flags=flags & ~SlotFlag.TOUCHES)
        return found
    return core.reference(call.thread, value, None, mode, call.site, flags)


def object_argument(core: ModelCore, call: Call, value: Value) -> MemoryObject:
    """Return the memory object of an argument."""
    return memory_of(core, call, value)


def is_memory(call: Call, value: Value) -> bool:
    """Return whether a value is the handle of a memory object that is known."""
    return isinstance(known(call, value), MemoryObject)


def allocation_at(core: ModelCore, call: Call, value: Value) -> Allocation | None:
    """Return the allocation that an address lies in."""
    return core.allocation_of(call.thread, core.pointer_of(call.thread, value, call.site))
