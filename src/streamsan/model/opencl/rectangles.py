"""Which bytes a rectangle touches."""

from __future__ import annotations

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.opencl.images import pixels_of
from streamsan.model.opencl.objects import ImageShape
from streamsan.trace.rows import Rows


def region_of(call: Call, source: bool) -> tuple[int, Rows] | None:
    """Return where a rectangle of a buffer or of the host begins, from the base, and its rows; None: not known."""
    region = _three(call, Role.REGION)
    origin = _three(call, Role.SOURCE_ORIGIN if source else Role.ORIGIN)
    if region is None or origin is None or min(region) <= 0:
        return None
    pitch = call.number(Role.SOURCE_PITCH if source else Role.PITCH)
    slice_pitch = call.number(Role.SOURCE_SLICE_PITCH if source else Role.SLICE_PITCH)
    if pitch is None or slice_pitch is None:
        return None
    width, count, slices = region
    pitch = pitch or width
    slice_pitch = slice_pitch or pitch * count
    rows = Rows(width, pitch, count, slice_pitch, slices)
    if not rows.sensible:
        return None
    return origin[0] + origin[1] * pitch + origin[2] * slice_pitch, rows.simplest


def image_region_of(call: Call, source: bool, shape: ImageShape | None) -> tuple[int, Rows] | None:
    """Return the same of a region of an image, of which the shape may be known."""
    region = _three(call, Role.REGION)
    role = Role.SOURCE_ORIGIN if source and call.has(Role.SOURCE_ORIGIN) else Role.ORIGIN
    origin = _three(call, role)
    return None if shape is None or region is None or origin is None else pixels_of(shape, origin, region)


def _three(call: Call, role: Role) -> tuple[int, int, int] | None:
    """Return the three numbers of a list."""
    parameter = call.signature.first(role)
    fields = call.structures.get(parameter.name, {}) if parameter is not None else {}
    found = [fields.get(str(number)) for number in range(3)]
    first, second, third = found
    if isinstance(first, int) and isinstance(second, int) and isinstance(third, int):
        return first, second, third
    return None
