"""Several copies, or migrations, in one call."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.copies import copy_of
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.managed import prefetched
from streamsan.model.operands import CopyOperands, Operand, Shape, layout_of
from streamsan.model.others import unmodelled
from streamsan.model.ranges import range_status
from streamsan.model.statuses import INVALID_VALUE
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.values import Fields, Outcome, Value
from streamsan.vocabulary import AccessMode

LONGEST = 1 << 16
_ARRAY_OPERAND = 2
"""CU_MEMCPY_OPERAND_TYPE_ARRAY"""


@handles(Effect.COPY_BATCH)
def copy_batch(core: ModelCore, call: Call) -> Outcome:
    """Copy each pair in turn: an order within what the call promises, which is none."""
    copies = _copies(core, call)
    if copies is None:
        return unmodelled(core, call)
    stream = stream_argument(core, call)
    if core.machine is not None and stream.handle <= 2:
        return core.say(call, status=INVALID_VALUE)  # batches do not run on the legacy default stream
    for operands in copies:
        outcome = copy_of(core, call, operands)
        if outcome.status:
            return outcome
    return Outcome()


@handles(Effect.PREFETCH_BATCH)
def prefetch_batch(core: ModelCore, call: Call) -> Outcome:
    """Migrate, or discard, each range: a discarded one is written by nobody knows what."""
    count = call.values.get("count")
    addresses, sizes = _list(call, "dptrs", count), _list(call, "sizes", count)
    if addresses is None or sizes is None:
        return unmodelled(core, call)
    stream = stream_argument(core, call)
    mode = AccessMode.WRITE if "Discard" in call.api.name else AccessMode.READ
    for address, size in zip(addresses, sizes, strict=True):
        status = status_of(stream) or range_status(core, call, address, size)
        reference = core.reference(call.thread, address, size, mode, call.site)
        outcome = prefetched(core, call, stream, reference, status)
        if outcome.status:
            return outcome
    return Outcome()


def _copies(core: ModelCore, call: Call) -> list[CopyOperands] | None:
    if "3D" in call.api.name:
        return _copies_3d(core, call)
    count = call.values.get("count")
    to, source, sizes = (_list(call, name, count) for name in ("dsts", "srcs", "sizes"))
    if to is None or source is None or sizes is None:
        return None
    return [
        CopyOperands(Operand(a), Operand(b), Shape(size if isinstance(size, int) else None))
        for a, b, size in zip(to, source, sizes, strict=True)
    ]


def _copies_3d(core: ModelCore, call: Call) -> list[CopyOperands] | None:
    parameter = call.signature.first(Role.LIST) or call.signature.first(Role.STRUCTURE)
    fields = call.structures.get(parameter.name) if parameter is not None else None
    count = call.values.get("numOps", 1)
    if not fields or not isinstance(count, int) or not 0 <= count <= LONGEST:
        return None
    found = []
    for index in range(count):
        prefix = f"{index}." if f"{index}.extent.width" in fields else ""
        extent = [fields.get(f"{prefix}extent.{word}") for word in ("width", "height", "depth")]
        width, height, depth = (each if isinstance(each, int) else None for each in extent)
        to, to_element = _operand(core, call, fields, f"{prefix}dst", width, height)
        source, source_element = _operand(core, call, fields, f"{prefix}src", width, height)
        element = max(to_element, source_element)
        found.append(CopyOperands(to, source, Shape(None if width is None else width * element, height, depth)))
    return found


def _operand(
    core: ModelCore, call: Call, fields: Fields, prefix: str, width: int | None, height: int | None
) -> tuple[Operand, int]:
    """Return one side of a cudaMemcpy3DBatchOp, and the bytes of its elements."""
    if fields.get(f"{prefix}.type") == _ARRAY_OPERAND:
        array = fields.get(f"{prefix}.op.array.array")
        layout = layout_of(core, call, array)
        x, y, z = (fields.get(f"{prefix}.op.array.offset.{axis}", 0) for axis in "xyz")
        if layout is None or not isinstance(x, int) or not isinstance(y, int) or not isinstance(z, int):
            return Operand(array, None, None, None), 1
        offset = x * layout.element + y * layout.row + z * layout.slice
        return Operand(array, offset, layout.row, layout.slice), layout.element
    row, rows = fields.get(f"{prefix}.op.ptr.rowLength"), fields.get(f"{prefix}.op.ptr.layerHeight")
    pitch = (row or width) if isinstance(row, int) else width
    lines = (rows or height) if isinstance(rows, int) else height
    slice_pitch = None if pitch is None or lines is None else pitch * lines
    return Operand(fields.get(f"{prefix}.op.ptr.ptr"), 0, pitch, slice_pitch), 1


def _list(call: Call, name: str, count: Value) -> list[Value] | None:
    """Return the `count` elements of a list argument, None where they are not known."""
    fields = call.structures.get(name)
    if fields is None or not isinstance(count, int) or not 0 <= count <= LONGEST:
        return None
    return [fields.get(str(index)) for index in range(count)]
