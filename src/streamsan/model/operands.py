"""Which bytes a copy or a fill is about: every shape of the API brought to one form."""

from __future__ import annotations

from msgspec import Struct

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.core import LARGEST_SIZE, ModelCore
from streamsan.model.resources import ArrayLayout
from streamsan.model.values import Fields, Pointer, Value
from streamsan.model.work import CopyForm, CopyWork, FillWork, NoWork, Place, Work
from streamsan.patterns.late_pattern import late_pattern
from streamsan.trace.rows import Rows
from streamsan.vocabulary import SlotFlag

_ELEMENT = late_pattern(r"D(8|16|32)(?:Async)?$")
_ARRAY_TYPE = 3
"""CU_MEMORYTYPE_ARRAY"""
_HOST_TYPE = 1
"""CU_MEMORYTYPE_HOST"""


class Operand(Struct, frozen=True):
    """One side of a copy, or the target of a fill. None is a number nobody knows."""

    value: Value
    """the memory or array that the program named"""
    offset: int | None = 0
    """bytes from there to the first byte"""
    pitch: int | None = 0
    slice_pitch: int | None = 0
    device: Value = None
    """the device it is on, where the call names it"""


class Shape(Struct, frozen=True):
    """Bytes of a row (of an element, in a fill: elements), rows, slices. None is a number nobody knows."""

    width: int | None
    height: int | None = 1
    depth: int | None = 1

    @property
    def empty(self) -> bool:
        """Whether there is certainly nothing to do."""
        return 0 in (self.width, self.height, self.depth)

    @property
    def known(self) -> tuple[int, int, int] | None:
        """All three numbers, None if one of them is not known or makes no sense."""
        if (
            self.width is None
            or self.height is None
            or self.depth is None
            or min(self.width, self.height, self.depth) < 0
        ):
            return None
        return self.width, self.height, self.depth


class CopyOperands(Struct, frozen=True):
    """What a copy is about."""

    to: Operand
    source: Operand
    shape: Shape


def copy_operands(core: ModelCore, call: Call) -> CopyOperands:
    """Return what a copy is about."""
    structure = call.signature.first(Role.STRUCTURE)
    if structure is not None and not call.has(Role.WRITE):
        return structure_operands(core, call, call.structures.get(structure.name, {}))
    if call.has(Role.WIDTH):
        shape = Shape(call.number(Role.WIDTH), call.number(Role.HEIGHT))
    elif "2D" in call.api.name:
        shape = Shape(_named(call, "width"), _named(call, "height"))
    else:
        # An array has no gaps here: a copy of so many bytes goes on in the next row.
        shape = Shape(call.number(Role.SIZE) if call.has(Role.SIZE) else _named(call, "count"))
    to, source = _sides(core, call, shape)
    return CopyOperands(to, source, shape)


def structure_operands(core: ModelCore, call: Call, fields: Fields) -> CopyOperands:
    """Return what a copy by cudaMemcpy3DParms, cudaMemcpy3DPeerParms, CUDA_MEMCPY2D, 3D or 3D_PEER is about."""
    if any(name.startswith("extent.") or name.endswith("Ptr.ptr") for name in fields):
        return _runtime_structure(core, call, fields)
    to, source = _driver_side(core, call, fields, "dst"), _driver_side(core, call, fields, "src")
    depth = _number(fields, "Depth") if "Depth" in fields else 1
    return CopyOperands(to, source, Shape(_number(fields, "WidthInBytes"), _number(fields, "Height"), depth))


def fill_operands(core: ModelCore, call: Call) -> tuple[Operand, Shape, int]:
    """Return the target of a fill, its shape in elements, and the bytes of an element."""
    match = _ELEMENT.search(call.api.name)
    element = int(match[1]) // 8 if match else 1
    if call.has(Role.PITCHED):
        parameter = call.signature.first(Role.PITCHED)
        extent = call.signature.first(Role.EXTENT)
        assert parameter is not None
        pitched = call.structures.get(parameter.name, {})
        sizes = call.structures.get(extent.name, {}) if extent is not None else {}
        pitch, rows = _number(pitched, "pitch"), _number(pitched, "ysize")
        slice_pitch = None if pitch is None or rows is None else pitch * rows
        target = Operand(pitched.get("ptr", call.values.get(parameter.name)), 0, pitch, slice_pitch)
        return target, Shape(*(_number(sizes, word) for word in ("width", "height", "depth"))), element
    target = Operand(call.value(Role.WRITE), 0, call.number(Role.PITCH) if call.has(Role.PITCH) else 0)
    if call.has(Role.WIDTH):
        return target, Shape(call.number(Role.WIDTH), call.number(Role.HEIGHT)), element
    return target, Shape(call.number(Role.ELEMENTS) if call.has(Role.ELEMENTS) else call.number(Role.SIZE)), element


def address_of(core: ModelCore, call: Call, operand: Operand) -> Pointer | None:
    """Return the first byte of an operand; an inexact pointer where the offset is not known."""
    pointer = core.pointer_of(call.thread, operand.value, call.site)
    if pointer is None or operand.offset == 0:
        return pointer
    if operand.offset is None or not 0 <= pointer.address + operand.offset < LARGEST_SIZE:
        return Pointer(pointer.base, pointer.base, pointer.generation, exact=False)
    return Pointer(pointer.address + operand.offset, pointer.base, pointer.generation, pointer.exact)


def extent(operand: Operand, shape: Shape, element: int = 1) -> int | None:
    """Return the bytes from the first to the last one of an operand, None where a number is not known."""
    if shape.empty:
        return 0
    if shape.known is None:
        return None
    width, height, depth = shape.known
    if (height > 1 and operand.pitch is None) or (depth > 1 and operand.slice_pitch is None):
        return None
    pitch, slice_pitch = operand.pitch or 0, operand.slice_pitch or 0
    if min(pitch, slice_pitch) < 0:
        return None
    return min((depth - 1) * slice_pitch + (height - 1) * pitch + width * element, LARGEST_SIZE)


def named_extent(call: Call, operand: Operand, shape: Shape, element: int = 1) -> Value:
    """Return the bytes of an operand, or what stands for them where a plain copy or fill is given no number."""
    found = extent(operand, shape, element)
    plain = found is None and shape.width is None and shape.height == shape.depth == 1
    return call.value(Role.SIZE) if plain and element == 1 and call.has(Role.SIZE) else found


def rows_of(operand: Operand, shape: Shape, element: int = 1) -> Rows | None:
    """Return the rows of an operand, None where they leave no byte of its extent untouched, or are not known."""
    size = extent(operand, shape, element)
    if not size or shape.known is None:
        return None
    width, height, depth = shape.known
    rows = Rows(width * element, operand.pitch or 0, height, operand.slice_pitch or 0, depth)
    return rows if rows.sensible and rows.extent == size and not rows.dense else None


def gaps(operand: Operand, shape: Shape, element: int = 1) -> int:
    """Return the flag of an operand's reference: STRIDED where its rows leave bytes of its extent untouched, else 0."""
    size = extent(operand, shape, element)
    if not size or shape.known is None:
        return 0
    width, height, depth = shape.known
    return SlotFlag.STRIDED if size > width * element * height * depth else 0


def first_byte(operand: Operand, shape: Shape, element: int = 1) -> int:
    """Return the flag of an operand's reference whose size nobody knows: TOUCHES, as no program means to copy nothing.

    So `if (i < n)` of a kernel is taken to hold for its first thread.
    """
    return SlotFlag.TOUCHES if extent(operand, shape, element) is None else 0


def copy_work(core: ModelCore, call: Call, operands: CopyOperands, form: CopyForm) -> Work:
    """Return what a copy does to bytes, NoWork where a number of it is not known."""
    shape = operands.shape
    to, source = _place(core, call, operands.to, shape), _place(core, call, operands.source, shape)
    if to is None or source is None or shape.known is None or shape.empty:
        return NoWork()
    if extent(operands.to, shape) is None or extent(operands.source, shape) is None:
        return NoWork()
    return CopyWork(to, source, *shape.known, form)


def fill_work(core: ModelCore, call: Call, target: Operand, shape: Shape, element: int) -> Work:
    """Return what a fill does to bytes, NoWork where a number of it is not known."""
    to, value = _place(core, call, target, shape), call.number(Role.VALUE)
    if to is None or value is None or shape.known is None or shape.empty or extent(target, shape, element) is None:
        return NoWork()
    return FillWork(to, value & ((1 << 8 * element) - 1), element, *shape.known)


def layout_of(core: ModelCore, call: Call, value: Value) -> ArrayLayout | None:
    """Return how an array lies in memory; None for what is no array, or one whose layout nobody knows."""
    allocation = core.allocation_of(call.thread, core.pointer_of(call.thread, value, call.site))
    return None if allocation is None else allocation.layout


def _place(core: ModelCore, call: Call, operand: Operand, shape: Shape) -> Place | None:
    pointer = address_of(core, call, operand)
    if pointer is None or not pointer.exact:
        return None
    pitch = 0 if shape.height == 1 else operand.pitch or 0
    # The host's buffer may go on beyond what was registered of it; what CUDA allocated has its size checked.
    end = 0 if core.allocation_of(call.thread, pointer) else core.executor.host_buffer_end(pointer.address)
    return Place(pointer.address, pitch, 0 if shape.depth == 1 else operand.slice_pitch or 0, end)


def _sides(core: ModelCore, call: Call, shape: Shape) -> tuple[Operand, Operand]:
    """Return destination and source of a copy that names them by arguments of their own."""
    to_offset, source_offset = _offsets(call) if call.has(Role.VALUE) else (_NOWHERE, _NOWHERE)
    to_device: Value = None
    source_device: Value = None
    if call.has(Role.DEVICE):
        to_device, *_, source_device = [
            call.values.get(each.name) for each in call.signature.with_role(Role.DEVICE)
        ] * 2
    added: tuple[int | None, int | None] = (0, 0)
    if call.has(Role.OFFSET):
        # The offset is into the symbol, which is the destination of ToSymbol and the source of FromSymbol.
        offset = call.number(Role.OFFSET)
        added = (offset, 0) if "ToSymbol" in call.api.name else (0, offset)
    return (
        _side(core, call, Role.WRITE, Role.PITCH, shape, to_offset, added[0], to_device),
        _side(core, call, Role.READ, Role.SOURCE_PITCH, shape, source_offset, added[1], source_device),
    )


_NOWHERE: tuple[int | None, int | None] = (0, 0)
"""Offsets across and down: none."""


def _offsets(call: Call) -> tuple[tuple[int | None, int | None], tuple[int | None, int | None]]:
    """Return how far across and down in destination and source a copy begins; each stands after its array."""
    offsets = {Role.WRITE: _NOWHERE, Role.READ: _NOWHERE}
    side = Role.WRITE
    for parameter in call.signature.parameters:
        if parameter.role in offsets:
            side = parameter.role
        elif parameter.role is Role.VALUE and parameter.name.startswith(("wOffset", "dstOffset", "srcOffset")):
            offsets[side] = (_named(call, parameter.name), offsets[side][1])
        elif parameter.role is Role.VALUE and parameter.name.startswith("hOffset"):
            offsets[side] = (offsets[side][0], _named(call, parameter.name))
    return offsets[Role.WRITE], offsets[Role.READ]


def _side(
    core: ModelCore,
    call: Call,
    role: Role,
    pitch_role: Role,
    shape: Shape,
    offset: tuple[int | None, int | None],
    added: int | None,
    device: Value,
) -> Operand:
    value = call.value(role)
    across, down = offset
    flat = shape.height == 1 and "2D" not in call.api.name
    layout = layout_of(core, call, value)
    if layout is not None:
        start = None if across is None or down is None else down * layout.row + across
        return Operand(value, start, 0 if flat else layout.row, layout.slice, device)
    pitch = 0 if flat else call.number(pitch_role) if call.has(pitch_role) else None
    return Operand(value, added if offset == (0, 0) else None, pitch, None, device)


def _runtime_structure(core: ModelCore, call: Call, fields: Fields) -> CopyOperands:
    element = 1
    for word in ("dst", "src"):
        layout = layout_of(core, call, fields.get(f"{word}Array"))
        if layout is not None:
            # With an array the extent counts its elements; without one, bytes.
            element = layout.element
    width = _number(fields, "extent.width")
    shape = Shape(
        None if width is None else width * element, _number(fields, "extent.height"), _number(fields, "extent.depth")
    )
    return CopyOperands(_runtime_side(core, call, fields, "dst"), _runtime_side(core, call, fields, "src"), shape)


def _runtime_side(core: ModelCore, call: Call, fields: Fields, word: str) -> Operand:
    device = fields.get(f"{word}Device")
    x, y, z = (fields.get(f"{word}Pos.{axis}", 0) for axis in "xyz")
    array = fields.get(f"{word}Array")
    if array not in (None, 0):
        layout = layout_of(core, call, array)
        if layout is None:
            return Operand(array, None, None, None, device)
        return Operand(array, _at(x, y, z, layout.element, layout.row, layout.slice), layout.row, layout.slice, device)
    pitch, rows = _number(fields, f"{word}Ptr.pitch"), _number(fields, f"{word}Ptr.ysize")
    slice_pitch = None if pitch is None or rows is None else pitch * rows
    value = fields.get(f"{word}Ptr.ptr")
    return Operand(value, _at(x, y, z, 1, pitch, slice_pitch), pitch, slice_pitch, device)


def _driver_side(core: ModelCore, call: Call, fields: Fields, word: str) -> Operand:
    x, y, z = (fields.get(name, 0) for name in (f"{word}XInBytes", f"{word}Y", f"{word}Z"))
    kind = fields.get(f"{word}MemoryType")
    array = fields.get(f"{word}Array")
    if kind == _ARRAY_TYPE or (kind is None and array not in (None, 0)):
        layout = layout_of(core, call, array)
        if layout is None:
            return Operand(array, None, None, None)
        return Operand(array, _at(x, y, z, 1, layout.row, layout.slice), layout.row, layout.slice)
    host, device = fields.get(f"{word}Host"), fields.get(f"{word}Device")
    value = host if kind == _HOST_TYPE or (kind is None and host not in (None, 0)) else device
    pitch, rows = _number(fields, f"{word}Pitch"), _number(fields, f"{word}Height")
    if pitch == 0:
        pitch = _number(fields, "WidthInBytes")  # a pitch of 0 is the copy's own width
    slice_pitch = None if pitch is None else pitch * (rows or _number(fields, "Height") or 0)
    return Operand(value, _at(x, y, z, 1, pitch, slice_pitch), pitch, slice_pitch)


def _at(x: Value, y: Value, z: Value, element: int, row: int | None, slice_size: int | None) -> int | None:
    if not isinstance(x, int) or not isinstance(y, int) or not isinstance(z, int):
        return None
    if (y and row is None) or (z and slice_size is None):
        return None
    return x * element + y * (row or 0) + z * (slice_size or 0)


def _number(fields: Fields, name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) else None


def _named(call: Call, name: str) -> int | None:
    return _number(call.values, name)
