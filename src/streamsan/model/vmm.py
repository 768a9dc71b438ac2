"""Virtual memory management: reserved addresses, physical memory, mappings."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.answers import answers, give
from streamsan.model.call import Call
from streamsan.model.core import ModelCore, OutOfMemoryError
from streamsan.model.handlers import handles
from streamsan.model.hardware import Machine
from streamsan.model.makers import makes
from streamsan.model.pools import access_wishes
from streamsan.model.resources import Allocation, Lifetime, Physical
from streamsan.model.statuses import INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, SUCCESS
from streamsan.model.values import Handle, Outcome, Pointer, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import MemoryKind, SlotFlag

GRANULARITY = 1 << 21
_FILE_DESCRIPTOR = CUDA.constants["CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR"]
_DEVICE_LOCATION = CUDA.constants["CU_MEM_LOCATION_TYPE_DEVICE"]


@handles(Effect.ADDRESS_RESERVE)
def address_reserve(core: ModelCore, call: Call) -> Outcome:
    """Reserve addresses: nothing there may be touched until something is mapped."""
    size = call.number(Role.SIZE)
    out = call.out(Role.OUT_POINTER)
    if core.machine is not None and (size is None or size <= 0 or size % GRANULARITY or out is None):
        return core.say(call, status=INVALID_VALUE)
    try:
        reservation = core.new_allocation(call.thread, call.value(Role.SIZE), MemoryKind.MAPPED, None)
    except OutOfMemoryError:
        return core.say(call, status=OUT_OF_MEMORY)
    core.say(call)
    reservation.is_reservation = True
    reservation.label = core.builder.site_at(call.site).label
    call.thread.process.reservations[reservation.address] = reservation
    return Outcome(SUCCESS, {out.name: reservation.pointer} if out is not None else {})


@handles(Effect.ADDRESS_FREE)
def address_free(core: ModelCore, call: Call) -> Outcome:
    """Give reserved addresses back: all of a reservation, with nothing mapped in it."""
    process = call.thread.process
    if core.machine is None:
        return core.say(call)
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    reservation = None if pointer is None else process.reservations.get(pointer.address)
    if reservation is None or call.named("size") != reservation.size:
        return core.say(call, status=INVALID_VALUE)
    end = reservation.address + reservation.size
    if any(reservation.address <= address < end for address in process.mapped):
        return core.say(call, status=INVALID_VALUE)
    del process.reservations[reservation.address]
    reservation.lifetime = Lifetime.FREED
    outcome = core.say(call)
    core.executor.release_addresses(reservation)
    return outcome


@handles(Effect.MAP)
def map_memory(core: ModelCore, call: Call) -> Outcome:
    """Map physical memory at a reserved address: memory begins to exist there."""
    context = core.current(call.thread, call.site) if core.machine is None or call.thread.stack else None
    pointer = core.pointer_of(call.thread, call.value(Role.MAPPED), call.site)
    physical = _physical(call, call.value(Role.HANDLE, "other"))
    if core.machine is not None:
        status = _map_status(core, call, pointer, physical)
        if status or physical is None:
            return core.say(call, status=status or INVALID_VALUE)
        # The memory is of the device it was created on, whatever is current.
        context = core.primary(call.thread, physical.ordinal, call.site)
    if pointer is None:
        return core.say(call)
    reservation = core.allocation_of(call.thread, pointer)
    allocation = core.new_allocation(
        call.thread, call.value(Role.SIZE), MemoryKind.MAPPED, context, address=pointer.address, pool=physical
    )
    call.thread.process.mapped[pointer.address] = allocation
    if physical is not None:
        physical.mappings += 1
    site = call.site
    if reservation is not None and reservation.label and not core.builder.site_at(site).label:
        site = core.labelled(site, reservation.label)
    flags = 0 if pointer.exact else SlotFlag.ASSUMED
    core.say_allocation(call.thread, allocation, site, call.api.name, flags=flags)
    return Outcome()


def unmapped(core: ModelCore, call: Call, allocation: Allocation) -> None:
    """Note that a mapping is gone. Physical memory that was released lives until then."""
    call.thread.process.mapped.pop(allocation.address, None)
    physical = allocation.physical
    if physical is not None:
        physical.mappings -= 1
        _drop(core, physical)


def unmap_status(call: Call, pointer: Pointer) -> int:
    """Return what an unmap of a range returns: it takes whole mappings, none at all too, of reserved addresses."""
    size, process = call.number(Role.SIZE) or 0, call.thread.process
    end = pointer.address + size
    if size <= 0 or not any(
        each.address <= pointer.address and end <= each.address + each.size for each in process.reservations.values()
    ):
        return INVALID_VALUE
    touched = [
        each for each in process.mapped.values() if each.address < end and pointer.address < each.address + each.size
    ]
    whole = all(pointer.address <= each.address and each.address + each.size <= end for each in touched)
    return SUCCESS if whole else INVALID_VALUE


def further_mappings(call: Call, first: Allocation) -> list[Allocation]:
    """Return the mappings after the first that an unmap of `size` bytes covers."""
    size = call.number(Role.SIZE) or 0
    mapped = call.thread.process.mapped
    return [mapped[at] for at in sorted(mapped) if first.address < at < first.address + size]


@makes("cuMemCreate")
def _create_physical(core: ModelCore, call: Call, handle: int) -> Physical | int:
    """Make physical memory. Whether there is room shows when it is mapped."""
    size, fields = call.named("size"), call.structures.get("prop", {})
    where = fields.get("location.id", 0)
    ordinal = (
        where if isinstance(where, int) and fields.get("location.type", _DEVICE_LOCATION) == _DEVICE_LOCATION else 0
    )
    if core.machine is not None:
        if size is None or size <= 0 or size % GRANULARITY or call.values.get("prop") == 0:
            return INVALID_VALUE
        if not core.machine.has(ordinal):
            return INVALID_DEVICE
        if size > core.executor.memory_info(ordinal)[0]:
            return OUT_OF_MEMORY
    types = fields.get("requestedHandleTypes", 0)
    types = types if isinstance(types, int) else 0
    return Physical(handle, "other", None, outlives_reset=True, size=size or 0, ordinal=ordinal, handle_types=types)


@makes("cuMemImportFromShareableHandle")
def _import_physical(core: ModelCore, call: Call, handle: int) -> Physical | int:
    """Take physical memory of another process: the file that stands for it is that memory."""
    physical = Physical(handle, "other", None, outlives_reset=True)
    if core.machine is None:
        return physical
    file, kind = call.named("osHandle"), call.named("shHandleType")
    if file is None or kind is None or not kind & _FILE_DESCRIPTOR:
        return INVALID_VALUE if not kind else NOT_SUPPORTED
    physical.size = core.executor.open_physical(physical, file)
    return physical if physical.size else INVALID_VALUE


@answers("cuMemExportToShareableHandle")
def _export_physical(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a file that is physical memory in other processes, where it was made for that."""
    physical, kind = _physical(call, call.value(Role.HANDLE, "other")), call.named("handleType")
    if physical is None or not physical.alive or not kind or not physical.handle_types & kind:
        return Outcome(INVALID_VALUE)
    file = core.executor.share_physical(physical) if kind == _FILE_DESCRIPTOR else None
    return Outcome(NOT_SUPPORTED) if file is None else call.gives(file)


@makes("cuMemRetainAllocationHandle")
def _retain_physical(core: ModelCore, call: Call, handle: int) -> Physical | int:
    """Give the physical memory behind an address once more."""
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is not None and allocation.is_reservation and pointer is not None:
        allocation = _mapping_at(call, pointer.address)
    if allocation is None or allocation.physical is None or allocation.lifetime is not Lifetime.LIVE:
        return INVALID_VALUE if core.machine is not None else Physical(handle, "other", None, outlives_reset=True)
    allocation.physical.references += 1
    allocation.physical.alive = True
    return allocation.physical


def release_physical(core: ModelCore, physical: Physical) -> int:
    """Drop one handle of physical memory; return the status."""
    if physical.references == 0:
        return INVALID_VALUE
    physical.references -= 1
    physical.alive = physical.references > 0
    _drop(core, physical)
    return SUCCESS


give({"cuMemGetAllocationGranularity cuMulticastGetGranularity": lambda core, call, machine: GRANULARITY})


@answers("cuMemGetAllocationPropertiesFromHandle")
def _properties(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    physical = _physical(call, call.value(Role.HANDLE, "other"))
    if physical is None:
        return Outcome(INVALID_VALUE)
    return call.gives_fields({"type": 1, "location.type": _DEVICE_LOCATION, "location.id": physical.ordinal})


@answers("cuMemSetAccess")
def _set_access(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Let devices touch a range of mappings, or no longer."""
    pointer, size = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site), call.number(Role.SIZE)
    if pointer is None or not size:
        return Outcome(INVALID_VALUE)
    inside = [
        mapping
        for mapping in call.thread.process.mapped.values()
        if mapping.address < pointer.address + size and pointer.address < mapping.address + mapping.size
    ]
    if not inside or sum(mapping.size for mapping in inside) < size:
        return Outcome(INVALID_VALUE)
    for where, flags, kind in access_wishes(call, machine, "desc"):
        if kind != _DEVICE_LOCATION:
            continue  # the host's own access
        if not machine.has(where):
            return Outcome(INVALID_DEVICE)
        for mapping in inside:
            mapping.access[where] = flags
            core.executor.set_access(mapping, where, flags)
    return Outcome()


@answers("cuMemGetAccess")
def _get_access(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Say whether a device may touch a mapping."""
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    mapping = None if pointer is None else _mapping_at(call, pointer.address)
    where = call.structures.get("location", {}).get("id")
    if mapping is None or not isinstance(where, int):
        return Outcome(INVALID_VALUE)
    return call.gives(mapping.access.get(where, 0))


def _map_status(core: ModelCore, call: Call, pointer: Pointer | None, physical: Physical | None) -> int:
    size, offset = call.number(Role.SIZE), call.named("offset")
    if physical is None or not physical.alive or pointer is None or not size or offset:
        return INVALID_VALUE
    if size % GRANULARITY or size > physical.size:
        return NOT_SUPPORTED
    if pointer.address % GRANULARITY:
        return INVALID_VALUE
    process = call.thread.process
    inside = any(
        each.address <= pointer.address and pointer.address + size <= each.address + each.size
        for each in process.reservations.values()
    )
    taken = any(
        each.address < pointer.address + size and pointer.address < each.address + each.size
        for each in process.mapped.values()
    )
    return SUCCESS if inside and not taken else INVALID_VALUE


def _mapping_at(call: Call, address: int) -> Allocation | None:
    for mapping in call.thread.process.mapped.values():
        if mapping.address <= address < mapping.address + mapping.size:
            return mapping
    return None


def _physical(call: Call, value: Value) -> Physical | None:
    number_of = value.value if isinstance(value, Handle) else value
    found = call.thread.process.handles.get(number_of) if isinstance(number_of, int) else None
    return found if isinstance(found, Physical) else None


def _drop(core: ModelCore, physical: Physical) -> None:
    if not physical.references and not physical.mappings:
        core.executor.release_physical(physical)
