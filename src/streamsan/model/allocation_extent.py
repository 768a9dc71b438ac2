"""How many bytes an allocation has, and how they lie: sizes, pitches, arrays."""

from __future__ import annotations

from msgspec import Struct

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.resources import ArrayLayout
from streamsan.model.statuses import INVALID_CHANNEL_DESCRIPTOR, INVALID_VALUE, SUCCESS
from streamsan.model.values import Fields, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import MemoryKind

PITCH_ALIGNMENT = 512
_FORMAT_BYTES = {
    CUDA.constants[f"CU_AD_FORMAT_{word}"]: size
    for word, size in (
        ("UNSIGNED_INT8", 1),
        ("UNSIGNED_INT16", 2),
        ("UNSIGNED_INT32", 4),
        ("SIGNED_INT8", 1),
        ("SIGNED_INT16", 2),
        ("SIGNED_INT32", 4),
        ("HALF", 2),
        ("FLOAT", 4),
    )
}


class AllocationExtent(Struct, frozen=True):
    """What is to be allocated."""

    size: Value
    """bytes; None: not known"""
    pitch: int | None = None
    width: int = 0
    rows: int | None = None
    """for cudaMalloc3D"""
    layout: ArrayLayout | None = None
    status: int = SUCCESS
    """what the call returns for its numbers, where they make no sense"""


def allocation_extent(call: Call) -> AllocationExtent:
    """Return how much an allocation asks for."""
    if call.api.memory is MemoryKind.ARRAY:
        layout = _layout(call)
        if layout is None:
            return AllocationExtent(None, status=_array_status(call))
        return AllocationExtent(layout.size, layout=layout, status=INVALID_VALUE if layout.size <= 0 else SUCCESS)
    if call.has(Role.SIZE):
        return AllocationExtent(call.value(Role.SIZE))
    if call.has(Role.EXTENT):
        parameter = call.signature.first(Role.EXTENT)
        fields = call.structures.get(parameter.name, {}) if parameter is not None else {}
        numbers = _numbers(fields, "width", "height", "depth")
        if numbers is None:
            return AllocationExtent(None)
        width, height, depth = numbers
        pitch = pitch_of(width)
        return AllocationExtent(pitch * height * depth, pitch, width, height)
    first, second = call.number(Role.WIDTH), call.number(Role.HEIGHT)
    if first is None or second is None:
        return AllocationExtent(None)
    return AllocationExtent(pitch_of(first) * second, pitch_of(first))


def pitch_of(width: int) -> int:
    """Return the bytes from row to row that an allocation with rows of `width` bytes gets."""
    return -(-width // PITCH_ALIGNMENT) * PITCH_ALIGNMENT


def _layout(call: Call) -> ArrayLayout | None:
    """Return the layout of an array to be made; None where it is not known, and for arrays with levels."""
    if "Mipmapped" in call.api.name:
        return None
    if call.api.domain == "driver":
        return _driver_layout(call.structures.get("pAllocateArray", {}))
    channels = _numbers(call.structures.get("desc", {}), "x", "y", "z", "w")
    if channels is None:
        return None
    format_number = call.structures["desc"].get("f", 0)
    extent = call.structures.get("extent")
    sizes: Fields = {"width": call.values.get("width"), "height": call.values.get("height", 0), "depth": 0}
    numbers = _numbers(sizes if extent is None else extent, "width", "height", "depth")
    if numbers is None or sum(channels) % 8 or sum(map(bool, channels)) in (0, 3):
        return None
    flags = call.values.get("flags", 0)
    return ArrayLayout(
        numbers[0],
        numbers[1],
        numbers[2],
        sum(channels) // 8,
        flags if isinstance(flags, int) else 0,
        (channels[0], channels[1], channels[2], channels[3]),
        format_number if isinstance(format_number, int) else 0,
    )


def _array_status(call: Call) -> int:
    """Return what the description of an array without a layout gives: wrong (Q-01), or merely not known here."""
    if "Mipmapped" in call.api.name:
        return SUCCESS
    if call.api.domain == "driver":
        found = _numbers(call.structures.get("pAllocateArray", {}), "Format", "NumChannels", "Width")
        return INVALID_VALUE if found is not None and (0 in found or found[1] not in (1, 2, 4)) else SUCCESS
    channels = _numbers(call.structures.get("desc", {}), "x", "y", "z", "w")
    # of no channel, or of three.
    return INVALID_CHANNEL_DESCRIPTOR if channels is not None and sum(map(bool, channels)) in (0, 3) else SUCCESS


def _driver_layout(fields: Fields) -> ArrayLayout | None:
    numbers = _numbers(fields, "Width", "Height", "Format", "NumChannels")
    if numbers is None or numbers[2] not in _FORMAT_BYTES or numbers[3] not in (1, 2, 4):
        return None
    width, height, format_number, channels = numbers
    depth, flags = fields.get("Depth", 0), fields.get("Flags", 0)
    if not isinstance(depth, int) or not isinstance(flags, int):
        return None
    each = _FORMAT_BYTES[format_number]
    bits = tuple(each * 8 if index < channels else 0 for index in range(4))
    return ArrayLayout(
        width, height, depth, each * channels, flags, (bits[0], bits[1], bits[2], bits[3]), format_number
    )


def _numbers(fields: Fields, *names: str) -> tuple[int, ...] | None:
    found = [fields.get(name) for name in names]
    numbers = tuple(each for each in found if isinstance(each, int) and each >= 0)
    return numbers if len(numbers) == len(names) else None
