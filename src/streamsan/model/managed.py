"""Managed memory: advice, prefetches, and where ranges live."""

from __future__ import annotations

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.ranges import range_status
from streamsan.model.resources import Allocation
from streamsan.model.statuses import INVALID_DEVICE, INVALID_VALUE, SUCCESS
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import Outcome
from streamsan.model.work import NoWork
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import MemoryKind, OperationKind, WaitClass

HOST = -1
"""cudaCpuDeviceId"""
NOWHERE = -2
"""cudaInvalidDeviceId"""
_HOST_LOCATIONS = frozenset(
    CUDA.constants[name]
    for name in ("cudaMemLocationTypeHost", "cudaMemLocationTypeHostNuma", "cudaMemLocationTypeHostNumaCurrent")
)
_ADVICE = {
    1: (CUDA.constants["cudaMemRangeAttributeReadMostly"], True),
    2: (CUDA.constants["cudaMemRangeAttributeReadMostly"], False),
    3: (CUDA.constants["cudaMemRangeAttributePreferredLocation"], True),
    4: (CUDA.constants["cudaMemRangeAttributePreferredLocation"], False),
    5: (CUDA.constants["cudaMemRangeAttributeAccessedBy"], True),
    6: (CUDA.constants["cudaMemRangeAttributeAccessedBy"], False),
}
"""cudaMemoryAdvise -> what it is about, and whether it sets it"""
_READ_MOSTLY = CUDA.constants["cudaMemRangeAttributeReadMostly"]
_ACCESSED_BY = CUDA.constants["cudaMemRangeAttributeAccessedBy"]
"""kept as a set of bits: 0 is the host, n + 1 is device n"""
_LAST_PREFETCH = CUDA.constants["cudaMemRangeAttributeLastPrefetchLocation"]


def location(call: Call) -> int | None:
    """Return the device that a call names by number or cudaMemLocation, HOST for the host; None: not known."""
    for name in ("location", "dstDevice", "device"):
        fields = call.structures.get(name)
        if fields is not None:
            if fields.get("type") in _HOST_LOCATIONS:
                return HOST
            device = fields.get("id")
            return device if isinstance(device, int) else None
        value = call.values.get(name)
        if isinstance(value, int):
            return value
    return None


def location_status(core: ModelCore, call: Call) -> int:
    """Return what a call returns for the location that it names."""
    where = location(call)
    if core.machine is None or where is None or where == HOST or core.machine.has(where):
        return SUCCESS
    return INVALID_DEVICE


def managed_allocation(core: ModelCore, call: Call) -> Allocation | None:
    """Return the managed allocation that a call names."""
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    found = core.allocation_of(call.thread, pointer)
    return found if found is not None and found.kind is MemoryKind.MANAGED else None


def prefetch_status(core: ModelCore, call: Call) -> int:
    """Return what a prefetch, or an attachment to a stream, returns for its range."""
    if core.machine is None:
        return SUCCESS
    if managed_allocation(core, call) is None:
        return INVALID_VALUE
    return range_status(core, call, call.value(Role.INSPECTED), call.value(Role.SIZE)) or location_status(core, call)


def prefetched(core: ModelCore, call: Call, stream: Stream, reference: Reference | None, status: int) -> Outcome:
    """Migrate a range, None where nobody knows it, in the order of a stream, unless `status` says that it fails."""
    core.say(
        call,
        OperationKind.PREFETCH,
        stream=stream.handle,
        references=[] if reference is None else [reference],
        detail=WaitClass.NONE,
        status=status,
    )
    if not status:
        core.executor.enqueue(call.thread, stream, NoWork(), WaitClass.NONE)
    return Outcome(status)


def remember_prefetch(core: ModelCore, call: Call) -> None:
    """Note where the range was last sent."""
    allocation, where = managed_allocation(core, call), location(call)
    if core.machine is not None and allocation is not None and where is not None:
        allocation.advice[_LAST_PREFETCH] = where


def advise(core: ModelCore, call: Call) -> int:
    """Take cudaMemAdvise; return its status."""
    allocation, advice = managed_allocation(core, call), call.values.get("advice")
    if core.machine is None or not isinstance(advice, int):
        return SUCCESS
    if allocation is None or advice not in _ADVICE:
        return INVALID_VALUE
    attribute, sets = _ADVICE[advice]
    where = location(call)
    if attribute != _READ_MOSTLY and (status := location_status(core, call)):
        return status
    if attribute == _ACCESSED_BY and where is not None:
        bit = 1 << (where - HOST)
        known = allocation.advice.get(attribute, 0)
        allocation.advice[attribute] = known | bit if sets else known & ~bit
    elif not sets:
        allocation.advice.pop(attribute, None)
    else:
        allocation.advice[attribute] = 1 if attribute == _READ_MOSTLY else NOWHERE if where is None else where
    return SUCCESS


def accessed_by(allocation: Allocation) -> list[int]:
    """Return the devices that were said to access a range, the host last (Q-03)."""
    known = allocation.advice.get(_ACCESSED_BY, 0)
    devices = [bit + HOST for bit in range(1, known.bit_length()) if known >> bit & 1]
    return [*devices, HOST] if known & 1 else devices


def range_attribute(allocation: Allocation, attribute: int) -> int:
    """Return a cudaMemRangeAttribute of a managed allocation."""
    return allocation.advice.get(attribute, 0 if attribute == _READ_MOSTLY else NOWHERE)
