"""What instructions of SPIR-V are worth, for all work-items: sums of axes, places behind pointers, conditions."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from streamsan.kernels.axis_sums import Axes, Sum, added
from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_module import SpirvModule
from streamsan.kernels.work_item_expressions import Place

UNSIGNED: Final = frozenset((172, 174, 176, 178))
"""comparisons of numbers without a sign"""
_VECTOR, _ARRAY, _FLOAT = 23, 28, 22
_TO_UNSIGNED: Final = 113
_SHIFT_LEFT, _SHIFT_RIGHT_SIGNED = 196, 195
_SHIFTS_RIGHT: Final = frozenset((194, _SHIFT_RIGHT_SIGNED))
_WIDE: Final = 64
_COPIES: Final = frozenset((83, 400))


class Comparison(Struct, frozen=True):
    """A condition."""

    operator: str
    left: Sum
    right: Sum


class Joined(Struct, frozen=True):
    """Two conditions, of which both hold, or (not `both`) one."""

    both: bool
    left: Condition
    right: Condition


class Opposite(Struct, frozen=True):
    """A condition that holds where another one does not."""

    of: Condition


class Widened(Struct, frozen=True):
    """A number in the upper bits of a word: a compiler widens it by a shift back."""

    number: Sum
    by: int


Condition = Comparison | Joined | Opposite | None
"""None: nobody knows where it holds"""
Value = Sum | Place | Comparison | Joined | Opposite | Widened | tuple["Sum | None", ...] | None


def size_of(module: SpirvModule, type_id: int) -> int | None:
    """Return the bytes of a type; None: not known. A structure's are not looked at."""
    kind = module.types.get(type_id)
    if kind is None or len(kind.words) < 2:
        return None
    if kind.opcode in (op.TYPE_INT, _FLOAT):
        return kind.words[1] // 8 or None
    if kind.opcode in (_VECTOR, _ARRAY) and len(kind.words) > 2:
        part = size_of(module, kind.words[1])
        count = kind.words[2] if kind.opcode == _VECTOR else module.constants.get(kind.words[2])
        if part is None or not isinstance(count, int) or count <= 0:
            return None
        return part * (4 if kind.opcode == _VECTOR and count == 3 else count)
    return None


def pointee(module: SpirvModule, type_id: int) -> int | None:
    """Return the type of what a pointer of a type leads to; None of other types."""
    kind = module.types.get(type_id)
    return kind.words[2] if kind is not None and kind.opcode == op.TYPE_POINTER and len(kind.words) > 2 else None


def moved(module: SpirvModule, place: Place, type_id: int, indices: tuple[Value, ...], first: bool) -> Place:
    """Return the place that indices lead to; `first`: the first of them counts whole elements of the pointer."""
    offset, at = place.offset, pointee(module, type_id)
    for number, index in enumerate(indices):
        if number or not first:
            kind = module.types.get(at) if at is not None else None
            parts = kind is not None and kind.opcode in (_VECTOR, _ARRAY) and len(kind.words) > 1
            at = kind.words[1] if kind is not None and parts else None
        size = None if at is None else size_of(module, at)
        if offset is None or size is None or not isinstance(index, Sum):
            return Place(place.parameter, None)
        offset = added(offset, index, size)
    return Place(place.parameter, offset)


def fitting(module: SpirvModule, axes: Axes, number: Sum | None, type_id: int) -> Sum | None:
    """Return a number if its type has room for all that it may be: it could come round otherwise."""
    kind = module.types.get(type_id)
    if number is None or kind is None or kind.opcode != op.TYPE_INT or len(kind.words) < 2:
        return None
    low, high = axes.bounds(number)
    limit = 1 << (kind.words[1] - 1)
    return number if -limit <= low and high < limit else None


def converted(module: SpirvModule, axes: Axes, opcode: int, value: Value, type_id: int) -> Value:
    """Return a value in another type."""
    if opcode in _COPIES:
        return value
    if isinstance(value, Sum):
        if opcode == _TO_UNSIGNED and axes.bounds(value)[0] < 0:
            return None
        return fitting(module, axes, value, type_id)
    return value if isinstance(value, Place) and pointee(module, type_id) is not None else None


def calculated(axes: Axes, opcode: int, left: Sum, right: Sum) -> Sum | None:
    """Return what two numbers give; None: not known."""
    operator = op.ARITHMETIC[opcode]
    if operator in ("+", "-"):
        return added(left, right, 1 if operator == "+" else -1)
    if right.terms and operator in ("*", "&", "|"):
        left, right = right, left
    if right.terms:
        return None
    number = right.constant
    if operator == "&" and number >= 0:
        low, high = axes.bounds(left)
        if low == high:
            return Sum(low & number)
        return axes.between(0, min(high, number) if low >= 0 else number, left)
    if operator == "|":
        free = 1 << max(0, number).bit_length()
        parts = (left.constant, *(factor for _, factor in left.terms))
        return added(left, right, 1) if number >= 0 and all(part % free == 0 for part in parts) else None
    return axes.by_constant(operator, left, number)


def shifted(module: SpirvModule, axes: Axes, opcode: int, value: Value, by: Value, type_id: int) -> Value:
    """Return a number that is moved to the upper bits of a word, or back; None: it is another shift."""
    kind = module.types.get(type_id)
    if not isinstance(by, Sum) or by.terms or kind is None or kind.opcode != op.TYPE_INT or len(kind.words) < 2:
        return None
    bits = kind.words[1] - by.constant
    if opcode == _SHIFT_LEFT and isinstance(value, Sum) and kind.words[1] == _WIDE and 0 < bits <= _WIDE // 2:
        return Widened(value, by.constant)
    if opcode in _SHIFTS_RIGHT and isinstance(value, Widened) and value.by == by.constant:
        low, high = axes.bounds(value.number)
        signed = opcode == _SHIFT_RIGHT_SIGNED
        least, most = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
        return value.number if least <= low and high < most else None
    return None


def compared(axes: Axes, opcode: int, left: Value, right: Value) -> Condition:
    """Return the condition that a comparison is."""
    if not isinstance(left, Sum) or not isinstance(right, Sum):
        return None
    if opcode in UNSIGNED and min(axes.bounds(left)[0], axes.bounds(right)[0]) < 0:
        return None
    return Comparison(op.COMPARISONS[opcode], left, right)
