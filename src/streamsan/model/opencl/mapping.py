"""Memory that the host may use while it is mapped."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore, known_size
from streamsan.model.opencl.commands import event_behind, list_marker, queue_argument, wait_class, wait_for_list
from streamsan.model.opencl.handling import handles, memory_of, returned
from streamsan.model.opencl.memory_objects import reference_to
from streamsan.model.opencl.objects import Map, MemoryObject, Queue
from streamsan.model.resources import Allocation, Lifetime
from streamsan.model.values import Outcome, Pointer
from streamsan.platforms import OPENCL
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, WaitClass

_READ = OPENCL.constants["CL_MAP_READ"]
_WRITE = OPENCL.constants["CL_MAP_WRITE"]
_INVALIDATE = OPENCL.constants["CL_MAP_WRITE_INVALIDATE_REGION"]


@handles(Effect.MAP_MEMORY)
def map_memory(core: ModelCore, call: Call) -> Outcome:
    """Map: a command that brings the region to the host, by a pointer that is the host's from then on."""
    queue = queue_argument(core, call)
    wait_for_list(core, call, queue)
    flags = call.number(Role.MAP_FLAGS)
    mode = _host_mode(flags)
    thing: MemoryObject | None = None
    if call.has(Role.USE_OBJECT):
        thing = memory_of(core, call, call.value(Role.USE_OBJECT))
        offset, size = call.value(Role.OFFSET), call.value(Role.SIZE)
        if call.has(Role.REGION):
            offset, size = None, None
        region = reference_to(thing, AccessMode.READ, offset, size if size is None or isinstance(size, int) else -1)
    else:
        value = call.value(Role.USE)
        found = core.reference(call.thread, value, call.value(Role.SIZE), AccessMode.READ, call.site)
        if found is None:
            core.say(call)
            return Outcome(0, event_behind(core, call, queue))
        region = found
    brings = not (flags is not None and flags & _INVALIDATE and not flags & _READ)
    core.emit(
        OperationKind.COPY,
        call.thread,
        call.site,
        call.api.name,
        stream=queue.handle,
        references=[Reference(0, 0, 0, AccessMode.WRITE), region] if brings else [],
        detail=wait_class(call),
    )
    if thing is None:
        pointer = core.pointer_of(call.thread, call.value(Role.USE), call.site)
        assert pointer is not None
        said = Reference(pointer.address, region.size, pointer.generation)
    else:
        allocation = _mapped_pointer(core, call, region)
        pointer = allocation.pointer
        said = Reference(allocation.address, allocation.size, allocation.generation)
    core.emit(
        OperationKind.ALLOC,
        call.thread,
        call.site,
        call.api.name,
        stream=queue.handle,
        references=[said, Reference(region.address, region.size, region.generation, mode)],
        detail=MemoryKind.CL_MAPPED,
    )
    _maps(call).setdefault(pointer.address, []).append(
        Map(thing, region.address, region.size, mode, Pointer(region.address, region.address, region.generation))
    )
    outputs = event_behind(core, call, queue)
    if thing is None:
        return Outcome(0, outputs)
    outcome = returned(call, pointer)
    return Outcome(0, outputs | outcome.outputs)


def _mapped_pointer(core: ModelCore, call: Call, region: Reference) -> Allocation:
    """Return memory of the host that stands for the mapped region."""
    return core.new_allocation(call.thread, known_size(region.size) or None, MemoryKind.CL_MAPPED, None)


def _host_mode(flags: int | None) -> AccessMode:
    if flags is None:
        return AccessMode.READ_WRITE
    writes = bool(flags & (_WRITE | _INVALIDATE))
    if flags & _READ:
        return AccessMode.READ_WRITE if writes else AccessMode.READ
    return AccessMode.WRITE if writes else AccessMode.READ_WRITE


def _maps(call: Call) -> dict[int, list[Map]]:
    return call.thread.process.maps


@handles(Effect.UNMAP_MEMORY)
def unmap_memory(core: ModelCore, call: Call) -> Outcome:
    """Unmap: from here on the pointer is not the host's; what it wrote goes to the memory."""
    queue = queue_argument(core, call)
    wait_for_list(core, call, queue)
    pointer = core.pointer_of(call.thread, call.value(Role.FREED), call.site)
    if pointer is None:
        return _unknown(core, call, queue)
    core.emit(
        OperationKind.FREE,
        call.thread,
        call.site,
        call.api.name,
        stream=queue.handle,
        references=[Reference(pointer.address, 0, pointer.generation)],
        detail=FreeClass.CL_UNMAP,
    )
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is not None and allocation.kind is MemoryKind.CL_MAPPED:
        allocation.lifetime = Lifetime.FREED
    held = _maps(call).get(pointer.address, [])
    gone = held.pop() if held else None
    if gone is not None and gone.mode is not AccessMode.READ:
        written = Reference(gone.offset, gone.size, gone.pointer.generation, AccessMode.WRITE)
        core.emit(
            OperationKind.COPY,
            call.thread,
            call.site,
            call.api.name,
            stream=queue.handle,
            references=[written],
            detail=WaitClass.NONE,
        )
    elif gone is not None and gone.memory is not None and gone.memory.over_host:
        # The host's memory is the buffer's until this command is complete, too.
        core.emit(
            OperationKind.PREFETCH,
            call.thread,
            call.site,
            call.api.name,
            stream=queue.handle,
            references=[Reference(gone.offset, gone.size, gone.pointer.generation, AccessMode.READ)],
        )
    else:
        list_marker(core, call, queue)
    return Outcome(0, event_behind(core, call, queue))


def _unknown(core: ModelCore, call: Call, queue: Queue) -> Outcome:
    list_marker(core, call, queue)
    return Outcome(0, event_behind(core, call, queue))
