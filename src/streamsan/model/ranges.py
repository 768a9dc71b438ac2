"""Statuses of calls that name memory: NULL, ranges beyond an allocation, wrong pitches, wrong directions.

Only where the machine is known: a reader of source must not take a path for impossible because of a number that it
computed. Memory that was freed is refused only where a driver's own answers are simulated; else the work runs into it,
which is what is to be found.
"""

from __future__ import annotations

from streamsan.effects import Role
from streamsan.effects.waits import Endpoint
from streamsan.model.call import Call
from streamsan.model.core import LARGEST_SIZE, ModelCore
from streamsan.model.operands import CopyOperands, Operand, Shape, address_of, extent
from streamsan.model.resources import Allocation, Lifetime
from streamsan.model.statuses import INVALID_DEVICE, INVALID_DIRECTION, INVALID_PITCH, INVALID_VALUE, SUCCESS
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import Pointer, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import MemoryKind

LAST_KIND = 4


def copy_status(core: ModelCore, call: Call, operands: CopyOperands, stream: Stream) -> int:
    """Return what a copy returns for its arguments."""
    if core.machine is None:
        return SUCCESS
    kind = call.value(Role.KIND) if call.has(Role.KIND) else None
    if kind is None:
        kind = next((fields["kind"] for fields in call.structures.values() if "kind" in fields), None)
    if isinstance(kind, int) and not 0 <= kind <= LAST_KIND:
        return INVALID_DIRECTION
    for side in (operands.to, operands.source):
        if isinstance(side.device, int) and not core.machine.has(side.device):
            return INVALID_DEVICE
    if operands.shape.empty:
        return SUCCESS
    for side in (operands.to, operands.source):
        if status := _side_status(core, call, side, operands.shape, 1, stream):
            return status
    return _direction_status(core, call, operands, kind)


def fill_status(core: ModelCore, call: Call, target: Operand, shape: Shape, element: int, stream: Stream) -> int:
    """Return what a fill returns for its arguments."""
    if core.machine is None or shape.empty:
        return SUCCESS
    if status := _side_status(core, call, target, shape, element, stream):
        return status
    pointer = address_of(core, call, target)
    if pointer is None:
        return SUCCESS
    if element > 1 and pointer.exact and pointer.address % element:
        return INVALID_VALUE
    # Memory of the host that CUDA does not know cannot be filled by the device.
    if _is_pageable(core, call, pointer) or not _reaches(stream, core.allocation_of(call.thread, pointer)):
        return INVALID_VALUE
    return SUCCESS


def range_status(core: ModelCore, call: Call, value: Value, size: Value) -> int:
    """Return what a call returns that names a range of CUDA's memory: NULL and unknown addresses are refused."""
    if core.machine is None:
        return SUCCESS
    if value == 0:
        return INVALID_VALUE
    pointer = core.pointer_of(call.thread, value, call.site)
    if pointer is None:
        return SUCCESS
    if _is_pageable(core, call, pointer) or not _fits(core, call, pointer, size if isinstance(size, int) else 0):
        return INVALID_VALUE
    return SUCCESS


def _side_status(core: ModelCore, call: Call, side: Operand, shape: Shape, element: int, stream: Stream) -> int:
    if side.value == 0 or (side.offset is not None and not 0 <= side.offset < LARGEST_SIZE):
        return INVALID_VALUE
    if shape.width is not None and shape.height is not None:
        if min(shape.width, shape.height, shape.depth or 0) < 0:
            return INVALID_VALUE
        if side.pitch is not None and shape.height > 1 and side.pitch < shape.width * element:
            return INVALID_PITCH if call.api.domain == "runtime" else INVALID_VALUE
    pointer, size = address_of(core, call, side), extent(side, shape, element)
    if pointer is None or size is None:
        return SUCCESS
    if core.executor.refuses_freed_memory and stream.capture is None and _is_gone(core, call, pointer):
        return INVALID_VALUE
    if _is_of_another_graph(stream, core.allocation_of(call.thread, pointer)):
        return INVALID_VALUE
    return SUCCESS if _fits(core, call, pointer, size) else INVALID_VALUE


def _is_gone(core: ModelCore, call: Call, pointer: Pointer) -> bool:
    """Return whether the driver knows that there is no memory at an address (any more, or not yet: G-15).

    So it is of a pool's memory from its free on, though kernels still reach it (W-10).
    """
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is None or not pointer.exact or allocation.lifetime in (Lifetime.LIVE, Lifetime.UNCLEAR):
        return False
    if allocation.lifetime is Lifetime.ASYNC_FREED and allocation.kind is not MemoryKind.STREAM_ORDERED:
        return False  # nobody measured it
    here = call.thread.process.ranges.find(pointer.address)
    return here is None or here is allocation or here.lifetime is not Lifetime.LIVE


def _direction_status(core: ModelCore, call: Call, operands: CopyOperands, kind: Value) -> int:
    """Refuse copies whose named direction is not that of the memory: a host buffer as the device's side, ..."""
    words = {0: ("host", "host"), 1: ("host", "device"), 2: ("device", "host"), 3: ("device", "device")}
    if call.api.direction:
        source_word, _, to_word = call.api.direction.partition("_to_")
    elif isinstance(kind, int) and kind in words:
        source_word, to_word = words[kind]
    else:
        return SUCCESS
    for side, word in ((operands.source, source_word), (operands.to, to_word)):
        pointer = address_of(core, call, side)
        if pointer is None:
            continue
        allocation = core.allocation_of(call.thread, pointer)
        if word == "device" and _is_pageable(core, call, pointer):
            return INVALID_VALUE
        side_of_memory = None if allocation is None else CUDA.side(allocation.kind)
        if word == "host" and side is operands.to and side_of_memory is Endpoint.DEVICE:
            return INVALID_VALUE  # of a source the driver takes what it is
    return SUCCESS


def _reaches(stream: Stream, allocation: Allocation | None) -> bool:
    """Return whether fills of a stream reach memory: another device's only with peer access (P-09)."""
    context = stream.context
    if context is None or allocation is None or allocation.context is None or CUDA.reached_by_all(allocation.kind):
        return True
    if _is_of_another_graph(stream, allocation):
        return False
    if allocation.context.ordinal == context.ordinal or allocation.context.handle in context.peers:
        return True
    return allocation.pool is not None and bool(allocation.pool.access.get(context.ordinal))


def _is_of_another_graph(stream: Stream, allocation: Allocation | None) -> bool:
    """Return whether memory is that of a graph on another device: peer access does not reach it (P-11)."""
    if allocation is None or allocation.kind is not MemoryKind.GRAPH:
        return False
    context = stream.context
    return context is not None and allocation.context is not None and allocation.context.ordinal != context.ordinal


def _is_pageable(core: ModelCore, call: Call, pointer: Pointer) -> bool:
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is None:
        return core.executor.unknown_is_pageable
    return CUDA.pageable(allocation.kind) and not allocation.registration


def _fits(core: ModelCore, call: Call, pointer: Pointer, size: int) -> bool:
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is None or not pointer.exact or not allocation.size or allocation.lifetime is not Lifetime.LIVE:
        return True
    if allocation.kind is MemoryKind.REGISTERED:
        return True  # the host's buffer may go on beyond what was registered
    return allocation.address <= pointer.address and pointer.address + size <= allocation.address + allocation.size
