"""Numbers and addresses as far as they are known of the first thread, and arithmetic on them."""

from __future__ import annotations

import operator as functions
from collections.abc import Callable
from enum import Enum
from typing import Final

from msgspec import Struct


class Sign(Enum):
    """What may be known of a number whose value is not."""

    POSITIVE = "a number above 0"


class At(Struct, frozen=True):
    """The address of the first element behind a parameter."""

    parameter: str


Value = int | Sign | At | None
"""None: nothing is known"""
POSITIVE: Final = Sign.POSITIVE
_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": functions.lt,
    "<=": functions.le,
    ">": functions.gt,
    ">=": functions.ge,
    "==": functions.eq,
    "!=": functions.ne,
}
COMPARISONS: Final = frozenset(_COMPARISONS)
_ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "+": functions.add,
    "-": functions.sub,
    "*": functions.mul,
    "&": functions.and_,
    "|": functions.or_,
    "^": functions.xor,
}
_DIVISIONS: Final[dict[str, Callable[[int, int], int]]] = {"/": functions.floordiv, "%": functions.mod}
_SHIFTS: Final[dict[str, Callable[[int, int], int]]] = {"<<": functions.lshift, ">>": functions.rshift}


def compared(operator: str, left: int, right: int) -> bool:
    """Decide a comparison."""
    return _COMPARISONS[operator](left, right)


def calculated(operator: str, left: Value, right: Value) -> Value:
    """Return the value of an operation that is no comparison."""
    if operator == ",":
        return right
    if operator in ("+", "-") and right == 0:
        return left
    if operator == "+" and left == 0:
        return right
    if isinstance(left, int) and isinstance(right, int):
        return _folded(operator, left, right)
    if operator in ("+", "*") and _is_above_zero(left) and _is_above_zero(right):
        return POSITIVE
    if (operator in ("*", "&") and right == 0) or (operator in ("*", "&", "/", "%", "<<", ">>") and left == 0):
        return 0
    return None


def _is_above_zero(value: Value) -> bool:
    return value is POSITIVE or (isinstance(value, int) and value > 0)


def _folded(operator: str, left: int, right: int) -> int | None:
    if operator in _ARITHMETIC:
        result = _ARITHMETIC[operator](left, right)
        return result if abs(result) < 1 << 63 else None
    if operator in _DIVISIONS and right > 0 and left >= 0:
        return _DIVISIONS[operator](left, right)
    if operator in _SHIFTS and 0 <= right < 64:
        return _SHIFTS[operator](left, right)
    return None
