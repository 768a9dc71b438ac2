"""Numbers that become floating-point ones, and back: by way of them compilers divide."""

from __future__ import annotations

from typing import Final

from streamsan.machine_code.lane_arithmetic import SIGNED, as_float, float_bits, rounded_up
from streamsan.machine_code.lane_comparison import Cutting
from streamsan.machine_code.lane_state import Effect, State
from streamsan.machine_code.lane_values import fitted, halves, wrapped
from streamsan.machine_code.machine_operations import Operation

_WORD = 1 << 32


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
        state.write(operation, [])
    else:
        state.write(operation, [rounded_up(number) if "RP" in suffixes else float_bits(float(number))])


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
    "MUFU": _reciprocal,
    **dict.fromkeys(("F2I", "UF2I"), _from_float),
}
"""by the name of the instruction"""
