"""Allocations of every kind, and their frees."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore, known_size
from streamsan.model.handlers import handles
from streamsan.model.others import stale_pool
from streamsan.model.state import Allocation, Lifetime
from streamsan.model.statuses import ALREADY_REGISTERED, INVALID_VALUE, NOT_REGISTERED, SUCCESS
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.values import Outcome, Pointer, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, SlotFlag

PITCH_ALIGNMENT = 512


@handles(Effect.ALLOC)
def alloc(core: ModelCore, call: Call) -> Outcome:
    """Make memory, on the stream when it is stream-ordered. No bytes: NULL (runtime), an error (driver)."""
    context = core.current(call.thread, call.site)
    kind = call.api.memory or MemoryKind.UNKNOWN
    size, pitch = _extent(call)
    out = call.out(Role.OUT_POINTER) or call.out(Role.OUT_HANDLE)
    stream = stream_argument(core, call) if kind is MemoryKind.STREAM_ORDERED else None
    if stream is not None and (status := status_of(stream)):
        core.emit(
            OperationKind.ALLOC,
            call.thread,
            call.site,
            call.api.name,
            stream=stream.handle,
            detail=kind,
            status=status,
        )
        return Outcome(status, {})
    if status := stale_pool(core, call):
        return Outcome(status, {})
    if size == 0:
        status = SUCCESS if call.api.domain == "runtime" else INVALID_VALUE
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name, status=status)
        return Outcome(status, {} if status or out is None else {out.name: 0})
    allocation = core.new_allocation(call.thread, size, kind, context)
    core.say_allocation(
        call.thread, allocation, call.site, call.api.name, stream=stream.handle if stream is not None else 0
    )
    outputs: dict[str, Value] = {} if out is None else {out.name: allocation.pointer}
    if pitch is not None and (pitch_out := call.out(Role.OUT_VALUE)):
        outputs[pitch_out.name] = pitch
    return Outcome(SUCCESS, outputs)


@handles(Effect.FREE)
def free(core: ModelCore, call: Call) -> Outcome:
    """Release memory. What cannot be released is an error of the call, and the memory stays as it was (W-01, W-02)."""
    family = call.api.free or FreeClass.DEVICE
    core.current(call.thread, call.site)
    stream = stream_argument(core, call) if family is FreeClass.ASYNC else None
    value = call.value(Role.FREED)
    pointer = None if value == 0 else core.pointer_of(call.thread, value, call.site)
    if pointer is None:
        # NULL is a no-op (F-02); and of a pointer nobody knows nothing can be said.
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
        return Outcome(SUCCESS, {})
    allocation = freed_allocation(core, call, pointer, family)
    status = _free_status(pointer, allocation, family, call.api.accepts)
    if stream is not None and status_of(stream):
        status = status_of(stream)
    flags = 0 if pointer.exact else SlotFlag.ASSUMED
    core.emit(
        OperationKind.FREE,
        call.thread,
        call.site,
        call.api.name,
        stream=stream.handle if stream is not None else 0,
        references=[
            Reference(
                pointer.address,
                known_size(call.value(Role.SIZE)),
                allocation.generation if allocation is not None else pointer.generation,
            )
        ],
        detail=family,
        flags=flags,
        status=status,
    )
    if status == SUCCESS and allocation is not None:
        _release(core, call, allocation, family, pointer)
    return Outcome(status, {})


@handles(Effect.REGISTER)
def register(core: ModelCore, call: Call) -> Outcome:
    """Pin host memory: a registration of its own over the range of the host memory."""
    context = core.current(call.thread, call.site)
    pointer = core.pointer_of(call.thread, call.value(Role.MAPPED), call.site)
    if pointer is None:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
        return Outcome(SUCCESS, {})
    host = core.allocation_of(call.thread, pointer)
    if host is not None and host.registration:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name, status=ALREADY_REGISTERED)
        return Outcome(ALREADY_REGISTERED, {})
    registration = core.new_allocation(
        call.thread, call.value(Role.SIZE), MemoryKind.REGISTERED, context, address=pointer.address
    )
    if host is not None:
        host.registration = registration.generation
    core.say_allocation(call.thread, registration, call.site, call.api.name)
    return Outcome(SUCCESS, {})


@handles(Effect.HOST_POINTER)
def host_pointer(core: ModelCore, call: Call) -> Outcome:
    """Give the device's address of host memory or of a symbol: the same one, under unified addressing."""
    inspect(core, call)
    out = call.out(Role.OUT_POINTER)
    value = call.value(Role.INSPECTED)
    return Outcome(SUCCESS, {out.name: value} if out is not None and isinstance(value, Pointer) else {})


@handles(Effect.INSPECT)
def inspect(core: ModelCore, call: Call) -> Outcome:
    """Look at a pointer or advise on it; no access."""
    core.current(call.thread, call.site)
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    if pointer is None:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
    else:
        reference = core.reference(call.thread, pointer, call.value(Role.SIZE), AccessMode.OPAQUE, call.site)
        references = [reference] if reference is not None else []
        core.emit(OperationKind.ALLOC_ATTRIBUTE, call.thread, call.site, call.api.name, references=references)
    return Outcome(SUCCESS, {})


@handles(Effect.ADDRESS_RESERVE)
def address_reserve(core: ModelCore, call: Call) -> Outcome:
    """Reserve addresses: nothing there may be touched until something is mapped."""
    core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
    reservation = core.new_allocation(call.thread, call.value(Role.SIZE), MemoryKind.MAPPED, None)
    reservation.is_reservation = True
    reservation.label = core.builder.site_at(call.site).label
    out = call.out(Role.OUT_POINTER)
    return Outcome(SUCCESS, {out.name: reservation.pointer} if out is not None else {})


@handles(Effect.ADDRESS_FREE)
def address_free(core: ModelCore, call: Call) -> Outcome:
    """Give reserved addresses back."""
    core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
    return Outcome(SUCCESS, {})


@handles(Effect.MAP)
def map_memory(core: ModelCore, call: Call) -> Outcome:
    """Map physical memory at a reserved address: memory begins to exist there."""
    context = core.current(call.thread, call.site)
    pointer = core.pointer_of(call.thread, call.value(Role.MAPPED), call.site)
    if pointer is None:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
        return Outcome(SUCCESS, {})
    allocation = core.new_allocation(
        call.thread, call.value(Role.SIZE), MemoryKind.MAPPED, context, address=pointer.address
    )
    call.thread.process.mapped[pointer.address] = allocation
    reservation = core.allocation_of(call.thread, pointer)
    site = call.site
    if reservation is not None and reservation.label and not core.builder.site_at(site).label:
        site = core.labelled(site, reservation.label)
    flags = 0 if pointer.exact else SlotFlag.ASSUMED
    core.say_allocation(call.thread, allocation, site, call.api.name, flags=flags)
    return Outcome(SUCCESS, {})


def freed_allocation(core: ModelCore, call: Call, pointer: Pointer, family: FreeClass) -> Allocation | None:
    """Return what a free of this pointer is about: memory, the registration over it, or the mapping at it."""
    allocation = core.allocation_of(call.thread, pointer)
    if family is FreeClass.UNREGISTER and allocation is not None and allocation.registration:
        return call.thread.process.allocations.get(allocation.registration, allocation)
    if allocation is not None and allocation.is_reservation:
        return call.thread.process.mapped.get(pointer.address, allocation)
    return allocation


def _free_status(
    pointer: Pointer, allocation: Allocation | None, family: FreeClass, accepts: tuple[MemoryKind, ...]
) -> int:
    wrong = NOT_REGISTERED if family is FreeClass.UNREGISTER else INVALID_VALUE
    if allocation is None:
        return wrong
    if allocation.lifetime is Lifetime.UNCLEAR:
        return SUCCESS
    if allocation.is_reservation or allocation.lifetime is not Lifetime.LIVE:
        return wrong
    if allocation.kind is not MemoryKind.UNKNOWN and allocation.kind not in accepts:
        return wrong
    return wrong if pointer.exact and not allocation.assumed and pointer.address != allocation.address else SUCCESS


def _release(core: ModelCore, call: Call, allocation: Allocation, family: FreeClass, pointer: Pointer) -> None:
    if not pointer.exact:
        allocation.lifetime = Lifetime.UNCLEAR
        return
    allocation.lifetime = Lifetime.ASYNC_FREED if family is FreeClass.ASYNC else Lifetime.FREED
    if family is FreeClass.UNREGISTER:
        for host in call.thread.process.allocations.values():
            if host.registration == allocation.generation:
                host.registration = 0
    elif family is FreeClass.UNMAP:
        call.thread.process.mapped.pop(allocation.address, None)
    else:
        core.addresses.release(allocation.address, allocation.size)


def _extent(call: Call) -> tuple[Value, int | None]:
    """Return the bytes of an allocation (None: not known), and the pitch where it is known."""
    if call.has(Role.SIZE):
        return call.value(Role.SIZE), None
    width, height = call.number(Role.WIDTH), call.number(Role.HEIGHT)
    if width is None or height is None:
        return None, None
    pitch = -(-width // PITCH_ALIGNMENT) * PITCH_ALIGNMENT
    return pitch * height, pitch
