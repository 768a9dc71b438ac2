"""Copies and fills: what they touch, and what the host waits for."""

from __future__ import annotations

import re

from streamsan.effects import Effect, Endpoint, Role, copy_wait, memset_wait
from streamsan.effects.waits import endpoint
from streamsan.model.call import Call, Fields
from streamsan.model.core import LARGEST_SIZE, ModelCore
from streamsan.model.handlers import handles
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.values import Outcome, Pointer, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, OperationKind, WaitClass

DEFAULT_KIND = 4
_DIRECTIONS = {
    0: "host_to_host",
    1: "host_to_device",
    2: "device_to_host",
    3: "device_to_device",
}
_ELEMENT = re.compile(r"D(8|16|32)(?:Async)?$")

Side = tuple[Value, Value]
"""Address and bytes of one side of a copy."""


@handles(Effect.COPY)
def copy(core: ModelCore, call: Call) -> Outcome:
    """Copy; the destination first, then the source. 2D and 3D copies are their bounding ranges."""
    stream = stream_argument(core, call)
    (to, to_size), (source, source_size) = _sides(call)
    wait = wait_of(core, call, to, source)
    references = _two(
        core.reference(call.thread, to, to_size, AccessMode.WRITE, call.site),
        core.reference(call.thread, source, source_size, AccessMode.READ, call.site),
    )
    status = status_of(stream)
    core.emit(
        OperationKind.COPY,
        call.thread,
        call.site,
        call.api.name,
        stream=stream.handle,
        references=references,
        detail=wait,
        status=status,
    )
    return Outcome(status, {})


@handles(Effect.MEMSET)
def memset(core: ModelCore, call: Call) -> Outcome:
    """Fill memory. On device memory even the call without Async returns at once."""
    stream = stream_argument(core, call)
    target = call.value(Role.WRITE) if call.has(Role.WRITE) else call.value(Role.PITCHED)
    wait = memset_wait(call.api.wait or "asynchronous", _endpoint(core, call, target))
    reference = core.reference(call.thread, target, _memset_size(call), AccessMode.WRITE, call.site)
    status = status_of(stream)
    core.emit(
        OperationKind.MEMSET,
        call.thread,
        call.site,
        call.api.name,
        stream=stream.handle,
        references=[] if reference is None else [reference],
        detail=wait,
        status=status,
    )
    return Outcome(status, {})


def wait_of(core: ModelCore, call: Call, to: Value, source: Value) -> WaitClass:
    """Return what the host waits for, from the direction the program named and the kinds of memory in view."""
    column = call.api.wait or "asynchronous"
    direction = call.api.direction or _DIRECTIONS.get(_kind(call), "")
    from_end, to_end = _endpoint(core, call, source), _endpoint(core, call, to)
    if direction:
        source_word, _, to_word = direction.partition("_to_")
        from_end = Endpoint.DEVICE if source_word == "device" else _host_side(from_end)
        to_end = Endpoint.DEVICE if to_word == "device" else _host_side(to_end)
        if direction == "host_to_host":
            return WaitClass.COMPLETE
    elif Endpoint.UNKNOWN in (from_end, to_end) or from_end is to_end is Endpoint.MANAGED:
        return copy_wait(column, Endpoint.UNKNOWN, Endpoint.UNKNOWN)
    return copy_wait(column, from_end, to_end)


def _host_side(end: Endpoint) -> Endpoint:
    """The side that the program says is the host's: memory of another kind there is of unknown kind."""
    return Endpoint.UNKNOWN if end is Endpoint.DEVICE else end


def _kind(call: Call) -> int:
    """Return the cudaMemcpyKind of a call, DEFAULT_KIND where it has none or nobody knows it."""
    if call.has(Role.KIND):
        kind = call.number(Role.KIND)
        return DEFAULT_KIND if kind is None else kind
    for fields in call.structures.values():
        if isinstance(named := fields.get("kind"), int):
            return named
    return DEFAULT_KIND


def _endpoint(core: ModelCore, call: Call, value: Value) -> Endpoint:
    allocation = core.allocation_of(call.thread, core.pointer_of(call.thread, value, call.site))
    if allocation is None:
        return Endpoint.UNKNOWN
    return Endpoint.PINNED if allocation.registration else endpoint(allocation.kind)


def _sides(call: Call) -> tuple[Side, Side]:
    if structure := call.signature.first(Role.STRUCTURE):
        fields = call.structures.get(structure.name, {})
        return _side(fields, "dst"), _side(fields, "src")
    to, source = call.value(Role.WRITE), call.value(Role.READ)
    if call.has(Role.OFFSET) and (offset := call.number(Role.OFFSET)) != 0:
        # The offset is into the symbol, which is the destination of ToSymbol and the source of FromSymbol.
        if "ToSymbol" in call.api.name:
            to = _shifted(to, offset)
        else:
            source = _shifted(source, offset)
    if call.has(Role.WIDTH):
        return (to, _rows(call, Role.PITCH)), (source, _rows(call, Role.SOURCE_PITCH))
    size = call.value(Role.SIZE)
    return (to, size), (source, size)


def _side(fields: Fields, word: str) -> Side:
    """Return one side of a cudaMemcpy3DParms, or of the driver's CUDA_MEMCPY2D and 3D: extent unknown."""
    for name in (f"{word}Ptr.ptr", f"{word}Array", f"{word}Device", f"{word}Host"):
        if fields.get(name) not in (None, 0):
            return fields[name], None
    return None, None


def _shifted(value: Value, offset: int | None) -> Value:
    if not isinstance(value, Pointer):
        return value
    if offset is None:
        return Pointer(value.base, value.base, value.generation, exact=False)
    return Pointer(value.address + offset, value.base, value.generation, value.exact)


def _rows(call: Call, pitch_role: Role) -> Value:
    """Return the bytes from the first to the last one that a pitched operand touches."""
    width, height = call.number(Role.WIDTH), call.number(Role.HEIGHT)
    if width == 0 or height == 0:
        return 0
    pitch = call.number(pitch_role)
    if width is None or height is None or pitch is None or min(width, height, pitch) < 0:
        return None
    return min((height - 1) * pitch + width, LARGEST_SIZE)


def _memset_size(call: Call) -> Value:
    match = _ELEMENT.search(call.api.name)
    element = int(match[1]) // 8 if match else 1
    if call.has(Role.ELEMENTS):
        count = call.number(Role.ELEMENTS)
        return None if count is None else count * element
    if call.has(Role.WIDTH):
        width, height, pitch = call.number(Role.WIDTH), call.number(Role.HEIGHT), call.number(Role.PITCH)
        if width == 0 or height == 0:
            return 0
        if width is None or height is None or pitch is None or min(width, height, pitch) < 0:
            return None
        return min((height - 1) * pitch + width * element, LARGEST_SIZE)
    return call.value(Role.SIZE)


def _two(to: Reference | None, source: Reference | None) -> list[Reference]:
    """Return destination and source in their places: a copy's first reference is always the destination."""
    nowhere = Reference(0)
    if source is None:
        return [] if to is None else [to]
    return [nowhere if to is None else to, source]
