"""Allocations of every kind, and their frees."""

from __future__ import annotations

from streamsan.effects import Effect, Parameter, Role
from streamsan.model.allocation_extent import AllocationExtent, allocation_extent
from streamsan.model.answers import answer
from streamsan.model.call import Call
from streamsan.model.core import ModelCore, OutOfMemoryError, known_size
from streamsan.model.exports import origin
from streamsan.model.handlers import handles
from streamsan.model.others import stale_pool
from streamsan.model.pools import note_pool_usage, stream_pool
from streamsan.model.resources import Allocation, Lifetime
from streamsan.model.statuses import INVALID_VALUE, NOT_REGISTERED, NOT_SUPPORTED, OUT_OF_MEMORY, SUCCESS
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import Outcome, Pointer, Value
from streamsan.model.vmm import further_mappings, unmap_status, unmapped
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, SlotFlag


@handles(Effect.ALLOC)
def alloc(core: ModelCore, call: Call) -> Outcome:
    """Make memory, on the stream when it is stream-ordered. No bytes: NULL (runtime), an error (driver)."""
    context = core.current(call.thread, call.site)
    kind = call.api.memory or MemoryKind.UNKNOWN
    stream = stream_argument(core, call) if kind is MemoryKind.STREAM_ORDERED else None
    if stream is not None and (status := status_of(stream)):
        return _refused(core, call, kind, stream, status)
    if status := stale_pool(core, call):
        return Outcome(status)
    extent = allocation_extent(call)
    out = call.out(Role.OUT_POINTER) or call.out(Role.OUT_HANDLE)
    if core.machine is not None and (out is None or extent.status):
        status = extent.status or INVALID_VALUE
        return core.say(call, status=status)
    if extent.size == 0:
        status = SUCCESS if call.api.domain == "runtime" else INVALID_VALUE
        core.say(call, status=status)
        return Outcome(status, {} if status or out is None else {out.name: 0})
    pool, status = stream_pool(core, call, stream, context)
    source = origin(core, call)
    if status := status or source.status:
        return _refused(core, call, kind, stream, status)
    opened = call.thread.process.imports.get(source.identity) if source.identity else None
    if opened is not None and opened.lifetime is Lifetime.LIVE:
        # "the reference count on the handle is incremented by 1 and the existing device pointer is returned"
        opened.opens += 1
        core.say(call)
        return Outcome(SUCCESS, _outputs(call, out, opened, extent))
    size = extent.size if source.size is None else source.size
    try:
        allocation = core.new_allocation(call.thread, size, kind, context, source.address, stream, pool)
    except OutOfMemoryError:
        return _refused(core, call, kind, stream, OUT_OF_MEMORY)
    allocation.layout, allocation.flags = extent.layout, call.number(Role.FLAGS) or 0
    if source.identity:
        call.thread.process.imports[source.identity] = allocation
    note_pool_usage(core, pool)
    core.say_allocation(
        call.thread, allocation, call.site, call.api.name, stream=stream.handle if stream is not None else 0
    )
    return Outcome(SUCCESS, _outputs(call, out, allocation, extent))


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
        return core.say(call)
    allocation = freed_allocation(core, call, pointer, family)
    released = _owner(core, call, pointer, allocation)
    status = _free_status(pointer, released, family)
    if stream is not None and status_of(stream):
        status = status_of(stream)
    if family is FreeClass.UNMAP and core.machine is not None:
        status = unmap_status(call, pointer)
    if status == SUCCESS and family is FreeClass.IPC_CLOSE and released is not None and released.opens > 1:
        released.opens -= 1
        return core.say(call)
    flags = 0 if pointer.exact else SlotFlag.ASSUMED
    core.say(
        call,
        OperationKind.FREE,
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
    if status == SUCCESS and released is not None and not released.is_reservation:
        _release(core, call, released, family, pointer)
        core.executor.free(call.thread, released, family, stream)
        for other in further_mappings(call, released) if family is FreeClass.UNMAP else ():
            _free_further(core, call, other, family)
    return Outcome(status)


def _free_further(core: ModelCore, call: Call, allocation: Allocation, family: FreeClass) -> None:
    """An unmap of a range takes every mapping in it."""
    reference = Reference(allocation.address, allocation.size, allocation.generation)
    core.say(call, OperationKind.FREE, references=[reference], detail=family)
    _release(core, call, allocation, family, allocation.pointer)
    core.executor.free(call.thread, allocation, family, None)


@handles(Effect.INSPECT)
def inspect(core: ModelCore, call: Call) -> Outcome:
    """Look at a pointer or advise on it; no access."""
    core.current(call.thread, call.site)
    outcome = answer(core, call)
    say_inspection(core, call, max(outcome.status, SUCCESS))
    return outcome


def say_inspection(core: ModelCore, call: Call, status: int) -> None:
    """Emit that a pointer was looked at."""
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    if pointer is None:
        core.say(call, status=status)
        return
    reference = core.reference(call.thread, pointer, call.value(Role.SIZE), AccessMode.OPAQUE, call.site)
    core.say(call, OperationKind.ALLOC_ATTRIBUTE, references=[] if reference is None else [reference], status=status)


def freed_allocation(core: ModelCore, call: Call, pointer: Pointer, family: FreeClass) -> Allocation | None:
    """Return what a free of this pointer is about: memory, the registration over it, or the mapping at it."""
    allocation = core.allocation_of(call.thread, pointer)
    if family is FreeClass.UNREGISTER and allocation is not None and allocation.registration:
        return call.thread.process.allocations.get(allocation.registration, allocation)
    if allocation is not None and allocation.is_reservation:
        return call.thread.process.mapped.get(pointer.address, allocation)
    return allocation


def _owner(core: ModelCore, call: Call, pointer: Pointer, allocation: Allocation | None) -> Allocation | None:
    """Return what a free really releases: of a pointer kept too long, what lies at its address by now (W-03).

    The trace keeps the generation that the pointer was made for. A reader of source never meets this: there addresses
    do not come back.
    """
    if core.machine is None or allocation is None or allocation.lifetime is Lifetime.LIVE or not pointer.exact:
        return allocation
    newer = call.thread.process.ranges.find(pointer.address)
    if newer is None or newer.address != pointer.address or newer.is_reservation or newer.lifetime is not Lifetime.LIVE:
        return allocation
    return newer


def _free_status(pointer: Pointer, allocation: Allocation | None, family: FreeClass) -> int:
    wrong = NOT_REGISTERED if family is FreeClass.UNREGISTER else INVALID_VALUE
    if allocation is not None and not CUDA.is_hosts_own(allocation.kind) and allocation.lifetime is Lifetime.LIVE:
        # CUDA's own memory; Q-02: an address inside a registration, not its start
        wrong = NOT_SUPPORTED if (family, allocation.kind) == (FreeClass.ASYNC, MemoryKind.MANAGED) else INVALID_VALUE
    if allocation is None:
        return wrong
    if allocation.lifetime is Lifetime.UNCLEAR:
        return SUCCESS
    if allocation.is_reservation or allocation.lifetime is not Lifetime.LIVE:
        return wrong
    if not CUDA.accepts(family, allocation.kind):
        return wrong
    return wrong if pointer.exact and not allocation.assumed and pointer.address != allocation.address else SUCCESS


def _release(core: ModelCore, call: Call, allocation: Allocation, family: FreeClass, pointer: Pointer) -> None:
    if not pointer.exact:
        allocation.lifetime = Lifetime.UNCLEAR
        return
    allocation.lifetime = Lifetime.ASYNC_FREED if family is FreeClass.ASYNC else Lifetime.FREED
    process = call.thread.process
    if family is FreeClass.UNREGISTER:
        # What lies there is the host's memory again.
        process.ranges.remove(allocation)
        for host in process.allocations.values():
            if host.registration == allocation.generation:
                host.registration = 0
                process.ranges.add(host)
    elif family is FreeClass.UNMAP:
        unmapped(core, call, allocation)


def _refused(core: ModelCore, call: Call, kind: MemoryKind, stream: Stream | None, status: int) -> Outcome:
    return core.say(
        call, OperationKind.ALLOC, stream=stream.handle if stream is not None else 0, detail=kind, status=status
    )


def _outputs(call: Call, out: Parameter | None, allocation: Allocation, extent: AllocationExtent) -> dict[str, Value]:
    """Return the results: the pointer, and pitches where they are known."""
    if out is None:
        return {}
    outputs: dict[str, Value] = {out.name: allocation.pointer}
    if extent.pitch is not None and (pitch_out := call.out(Role.OUT_VALUE)):
        outputs[pitch_out.name] = extent.pitch
    if extent.rows is not None and extent.pitch is not None:
        # cudaMalloc3D fills a cudaPitchedPtr.
        fields: dict[str, Value] = {"ptr": allocation.pointer, "pitch": extent.pitch, "xsize": extent.width}
        fields["ysize"] = extent.rows
        outputs |= {f"{out.name}.{name}": value for name, value in fields.items()}
    return outputs
