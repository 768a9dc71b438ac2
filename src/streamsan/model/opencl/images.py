"""How large images are, and which bytes of the range that stands for one a region is."""

from __future__ import annotations

from collections.abc import Mapping

from streamsan.model.call import Call
from streamsan.model.core import LARGEST_SIZE
from streamsan.model.opencl.objects import ImageShape
from streamsan.model.values import Value
from streamsan.platforms import OPENCL
from streamsan.trace.rows import Rows

_CHANNELS = {
    **dict.fromkeys(("CL_R", "CL_A", "CL_INTENSITY", "CL_LUMINANCE", "CL_DEPTH"), 1),
    **dict.fromkeys(("CL_RG", "CL_RA", "CL_Rx"), 2),
    **dict.fromkeys(("CL_RGBA", "CL_BGRA", "CL_ARGB", "CL_ABGR"), 4),
}
_BYTES = {
    **dict.fromkeys(("CL_SNORM_INT8", "CL_UNORM_INT8", "CL_SIGNED_INT8", "CL_UNSIGNED_INT8"), 1),
    **dict.fromkeys(("CL_SNORM_INT16", "CL_UNORM_INT16", "CL_SIGNED_INT16", "CL_UNSIGNED_INT16", "CL_HALF_FLOAT"), 2),
    **dict.fromkeys(("CL_SIGNED_INT32", "CL_UNSIGNED_INT32", "CL_FLOAT"), 4),
}
_CHANNELS_OF = {OPENCL.constants[name]: count for name, count in _CHANNELS.items()}
_BYTES_OF = {OPENCL.constants[name]: size for name, size in _BYTES.items()}
_EXTENTS = {
    "CL_MEM_OBJECT_IMAGE1D": ("image_width",),
    "CL_MEM_OBJECT_IMAGE1D_ARRAY": ("image_width", "image_array_size"),
    "CL_MEM_OBJECT_IMAGE2D": ("image_width", "image_height"),
    "CL_MEM_OBJECT_IMAGE2D_ARRAY": ("image_width", "image_height", "image_array_size"),
    "CL_MEM_OBJECT_IMAGE3D": ("image_width", "image_height", "image_depth"),
}
_EXTENTS_OF = {OPENCL.constants[name]: fields for name, fields in _EXTENTS.items()}
_DIRECT = ("image_width", "image_height", "image_depth")


def shape_of(call: Call) -> ImageShape | None:
    """Return the shape of the image that a call makes; None where it is not known, or another object's memory."""
    pixel = _pixel(call.structures.get("image_format", {}))
    given = call.structures.get("image_desc", {})
    if "image_desc" in call.values:
        kind = given.get("0.image_type")
        fields = _EXTENTS_OF.get(kind) if isinstance(kind, int) else None
        if fields is None or given.get("0.mem_object", 0) != 0:
            return None
        extents = [given.get(f"0.{name}") for name in fields]
    else:
        extents = [call.values[name] for name in _DIRECT if name in call.values]
    known = [each for each in extents if isinstance(each, int) and 0 < each < LARGEST_SIZE]
    if pixel is None or not known or len(known) != len(extents):
        return None
    width, height, depth = (*known, 1, 1)[:3]
    shape = ImageShape(pixel, width, height, depth)
    return shape if shape.bytes < LARGEST_SIZE else None


def _pixel(given: Mapping[str, Value]) -> int | None:
    order, kind = given.get("0.image_channel_order"), given.get("0.image_channel_data_type")
    channels = _CHANNELS_OF.get(order) if isinstance(order, int) else None
    size = _BYTES_OF.get(kind) if isinstance(kind, int) else None
    return channels * size if channels is not None and size is not None else None


def pixels_of(shape: ImageShape, origin: tuple[int, int, int], region: tuple[int, int, int]) -> tuple[int, Rows] | None:
    """Return where a region begins, in bytes from the first pixel, and its rows; None: it is not inside."""
    inside = all(
        first >= 0 and size > 0 and first + size <= end
        for first, size, end in zip(origin, region, (shape.width, shape.height, shape.depth), strict=True)
    )
    if not inside:
        return None
    rows = Rows(region[0] * shape.pixel, shape.row, region[1], shape.slice, region[2])
    return origin[0] * shape.pixel + origin[1] * shape.row + origin[2] * shape.slice, rows.simplest
