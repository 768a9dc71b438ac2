"""Numbers that become floating-point ones, and back: by way of them compilers divide, and name texels."""

from __future__ import annotations

from typing import Final

from streamsan.machine_code.instruction_operands import Constant, Register
from streamsan.machine_code.lane_arithmetic import SIGNED, as_float, float_bits, rounded_up
from streamsan.machine_code.lane_comparison import Cutting
from streamsan.machine_code.lane_state import Effect, State
from streamsan.machine_code.lane_values import (
    PARTS,
    WHOLE,
    Half,
    Sum,
    Value,
    Wide,
    bounds,
    every,
    fitted,
    halves,
    low_word,
    mask_of,
    total,
    wrapped,
)
from streamsan.machine_code.machine_operations import Operation, Source

_WORD = 1 << 32
_EXACT = 1 << 24
"""below this, floating-point numbers of 32 bits have all whole numbers"""


def _to_float(state: State, operation: Operation, cutting: Cutting) -> None:
    suffixes = operation.suffixes
    wide = not suffixes.isdisjoint(("U64", "S64"))
    if not suffixes.isdisjoint(("F64", "F16", "U8", "S8", "U16", "S16", "BF16")) or not operation.sources:
        state.forget(operation)
        return
    if wide:
        number = state.pair(operation.sources[0])
        number = number & ((1 << 64) - 1) if isinstance(number, int) and "U64" in suffixes else number
    else:
        number = fitted(state.value(operation.sources[0]), 0 if "U32" in suffixes else SIGNED)
    if not isinstance(number, int):
        state.write(operation, [_whole(number)])
    else:
        state.write(operation, [rounded_up(number) if "RP" in suffixes else float_bits(float(number))])


def _whole(number: Wide) -> Value:
    """A floating-point number that differs from thread to thread."""
    limits = None if number is None else bounds(number)
    if limits is None or not (every(mask_of(limits[0] > -_EXACT)) and every(mask_of(limits[1] < _EXACT))):
        return None
    return low_word(total(Sum(WHOLE, 0), number))


def _add(state: State, operation: Operation, cutting: Cutting) -> None:
    addends = [_addend(state, source) for source in operation.sources]
    if len(addends) != 2 or "SAT" in operation.suffixes:
        state.forget(operation)
        return
    one, other = addends
    if isinstance(one, float) and isinstance(other, float):
        state.write(operation, [float_bits(one + other)])
        return
    if isinstance(one, float):
        one, other = other, one
    if not isinstance(one, Sum) or not isinstance(other, float) or abs(other) >= _EXACT:
        state.write(operation, [])
        return
    fraction = other % 1
    if fraction and one.base == PARTS:
        state.write(operation, [])
        return
    moved = total(Sum(PARTS if fraction else one.base, one.constant, one.terms), int(other - fraction))
    state.write(operation, [low_word(moved)])


def _addend(state: State, source: Source) -> float | Sum | None:
    """A number that is known, or one that differs from thread to thread."""
    if not isinstance(source.operand, Register | Constant):
        try:
            found = float(source.text)
        except ValueError:
            return None
        return found if abs(found) < _EXACT else None
    value = state.plain(source)
    if isinstance(value, Half):
        known = value.whole.base in (WHOLE, PARTS) and not source.negative and not source.absolute
        return value.whole if known else None
    if not isinstance(value, int) or source.absolute:
        return None
    found = as_float(value)
    return (-found if source.negative else found) if abs(found) < _EXACT else None


def _reciprocal(state: State, operation: Operation, cutting: Cutting) -> None:
    bits = state.value(operation.sources[0]) if operation.sources else None
    value = as_float(bits) if isinstance(bits, int) else 0.0
    if "RCP" not in operation.suffixes or value == 0 or value != value:
        state.write(operation, [])
    else:
        state.write(operation, [float_bits(1.0 / value)])


def _from_float(state: State, operation: Operation, cutting: Cutting) -> None:
    suffixes = operation.suffixes
    bits = state.value(operation.sources[0]) if operation.sources else None
    known = isinstance(bits, int) and "TRUNC" in suffixes and suffixes.isdisjoint(("F64", "F16", "U8", "U16", "S16"))
    value = as_float(bits) if known and isinstance(bits, int) else float("nan")
    if value != value or abs(value) >= 2.0**63:
        state.write(operation, [])
    elif not suffixes.isdisjoint(("U64", "S64")):
        state.write(operation, list(halves(max(0, int(value)) if "U64" in suffixes else int(value))))
    elif "U32" in suffixes:
        state.write(operation, [wrapped(min(max(0, int(value)), _WORD - 1))])
    else:
        state.write(operation, [min(max(-(1 << 31), int(value)), (1 << 31) - 1)])


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("I2F", "I2FP", "UI2F", "UI2FP"), _to_float),
    "FADD": _add,
    "MUFU": _reciprocal,
    **dict.fromkeys(("F2I", "UF2I"), _from_float),
}
"""by the name of the instruction"""
