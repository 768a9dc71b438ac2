"""Arithmetic over numbers and unknowns: the same computation over the same unknowns gives the same term."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from streamsan.cuda_source.values.cells import Term
from streamsan.model.values import Symbol

LARGEST_TERM = 48
"""Nodes of a term; beyond this the value is a fresh unknown."""
LARGEST_INTEGER = 1 << 256
COMMUTATIVE = {"+", "*", "&", "|", "^", "==", "&&", "||"}


def term_size(value: Any) -> int:
    """Return the number of nodes of a term."""
    if isinstance(value, Term):
        return 1 + sum(term_size(operand) for operand in value.operands)
    return 1


def _key(value: Any) -> tuple[int, str]:
    if isinstance(value, Symbol):
        return (1, f"{value.number:09d}")
    if isinstance(value, Term):
        return (2, repr(value))
    return (0, repr(value))


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_INTEGER: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "<=": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
}


def fold(operator: str, left: int | float, right: int | float) -> int | float | None:
    """Compute a C operator on two numbers; None where the result is undefined or senseless."""
    if operator in _COMPARE:
        return int(_COMPARE[operator](left, right))
    if operator == "&&":
        return int(bool(left) and bool(right))
    if operator == "||":
        return int(bool(left) or bool(right))
    if isinstance(left, int) and isinstance(right, int):
        if operator in ("/", "%") and right == 0:
            return None
        if operator in ("<<", ">>") and not 0 <= right < 256:
            return None
        compute = _INTEGER.get(operator)
        result = compute(left, right) if compute else None
        return result if result is not None and abs(result) < LARGEST_INTEGER else None
    try:
        a, b = float(left), float(right)
        if operator == "+":
            return a + b
        if operator == "-":
            return a - b
        if operator == "*":
            return a * b
        if operator == "/":
            return a / b if b else math.inf
    except OverflowError:
        return None
    return None


def _scalar(value: Any) -> bool:
    return isinstance(value, int | float | Symbol | Term)


def combine(operator: str, left: Any, right: Any) -> Any:
    """Return the value of `left operator right`; None when nobody can compute it, or it grew too large."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return fold(operator, left, right)
    if not (_scalar(left) and _scalar(right)):
        return None
    if operator == "!=":
        return negate(combine("==", left, right))
    if operator == ">":
        return combine("<", right, left)
    if operator == ">=":
        return negate(combine("<", left, right))
    if operator == "<=":
        return negate(combine("<", right, left))
    simple = _simplify(operator, left, right)
    if simple is not None:
        return simple
    if operator in COMMUTATIVE and _key(left) > _key(right):
        left, right = right, left
    if term_size(left) + term_size(right) >= LARGEST_TERM:
        return None
    return Term(operator, (left, right))


def _simplify(operator: str, left: Any, right: Any) -> Any:
    if left == right:
        if operator == "==":
            return 1
        if operator in ("-", "^", "<", "%"):
            return 0
        if operator in ("&", "|"):
            return left
        if operator == "/":
            return 1
    if isinstance(right, int):
        if right == 0 and operator in ("+", "-", "|", "^", "<<", ">>"):
            return left
        if right == 0 and operator in ("*", "&"):
            return 0
        if right == 1 and operator in ("*", "/"):
            return left
        if right == 1 and operator == "%":
            return 0
        if operator == "-":
            return combine("+", left, -right)
        if operator == "+" and isinstance(left, Term) and left.operator == "+" and isinstance(left.operands[0], int):
            return combine("+", left.operands[1], left.operands[0] + right)
        if operator == "==" and right == 0 and isinstance(left, Term) and left.operator in ("!", "==", "<"):
            return negate(left)
    if isinstance(left, int):
        if left == 0 and operator in ("+", "|", "^"):
            return right
        if left == 0 and operator in ("*", "&", "/", "%", "<<", ">>"):
            return 0
        if left == 1 and operator == "*":
            return right
        if operator in ("+", "=="):
            return _simplify(operator, right, left)
    return None


def negate(value: Any) -> Any:
    """Return the logical not of a value; None stays None."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return int(not value)
    if isinstance(value, Term) and value.operator == "!":
        inner = value.operands[0]
        if isinstance(inner, Term) and inner.operator in ("==", "<", "!", "&&", "||"):
            return inner
        return combine("!=", inner, 0) if not isinstance(inner, Symbol) else Term("!", (Term("!", (inner,)),))
    if isinstance(value, Symbol | Term):
        return Term("!", (value,))
    return None


def condition(value: Any) -> tuple[Any, bool]:
    """Strip the nots from a condition: what is decided, and whether the condition is true when that is true."""
    positive = True
    while True:
        if isinstance(value, Term) and value.operator == "!":
            value, positive = value.operands[0], not positive
        elif isinstance(value, Term) and value.operator == "==" and value.operands[0] == 0:
            # x == 0 and !x are one question
            value, positive = value.operands[1], not positive
        else:
            return value, positive


def substitute(value: Any, known: dict[Any, Any]) -> Any:
    """Return a value with every known symbol or term replaced, computed as far as it goes."""
    if isinstance(value, Symbol | Term) and value in known:
        return known[value]
    if isinstance(value, Term):
        operands = [substitute(operand, known) for operand in value.operands]
        if all(new is old for new, old in zip(operands, value.operands, strict=True)):
            return value
        if value.operator == "!":
            return negate(operands[0])
        if value.operator == "?:" and isinstance(operands[0], int | float):
            return operands[1 if operands[0] else 2]
        if len(operands) == 2:
            return combine(value.operator, operands[0], operands[1])
    return value


def symbols_of(value: Any) -> list[Symbol]:
    """Return the symbols that a value depends on."""
    if isinstance(value, Symbol):
        return [value]
    if isinstance(value, Term):
        return [symbol for operand in value.operands for symbol in symbols_of(operand)]
    return []
