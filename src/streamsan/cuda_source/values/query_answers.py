"""What a decided condition says of the queries that it rests on: each has found its work done, or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from streamsan.cuda_source.polls import MOST_TOGETHER
from streamsan.cuda_source.values.cells import Term
from streamsan.cuda_source.values.terms import fold
from streamsan.model.statuses import NOT_READY, SUCCESS
from streamsan.model.values import Symbol


def implied(question: Any, answer: bool, asked: Sequence[Symbol]) -> dict[Symbol, bool]:
    """Return which queries must have found their work done, or not done, for a condition to have this answer.

    Whatever else it rests on may be anything. What may be either is left out; so are all where none can be.
    """
    possible = [statuses for statuses, found in _answers(question, asked) if found in (None, answer)]
    columns = zip(asked, zip(*possible, strict=True), strict=False)
    return {symbol: column[0] == SUCCESS for symbol, column in columns if len(set(column)) == 1}


def in_any_case(question: Any, asked: Sequence[Symbol]) -> bool | None:
    """Return what a condition is whatever the queries say; None where it rests on them, or on more."""
    found = {answer for _, answer in _answers(question, asked)}
    return found.pop() if len(found) == 1 else None


def if_all_are_done(question: Any, asked: Iterable[Symbol]) -> bool | None:
    """Return a condition's answer where all work is done that it asks for; None where it rests on more."""
    return _truth(_value(question, dict.fromkeys(asked, SUCCESS)))


def _answers(question: Any, asked: Sequence[Symbol]) -> Iterator[tuple[tuple[int, ...], bool | None]]:
    """Yield what the queries may say, together, each time with what the condition is; None: it rests on more."""
    if len(asked) <= MOST_TOGETHER:
        for statuses in product((SUCCESS, NOT_READY), repeat=len(asked)):
            yield statuses, _truth(_value(question, dict(zip(asked, statuses, strict=True))))


def _truth(value: int | float | None) -> bool | None:
    return None if value is None else bool(value)


def _value(value: Any, statuses: dict[Symbol, int]) -> int | float | None:
    """Compute what rests on queries; None where it rests on more."""
    if isinstance(value, int | float):
        return value
    if isinstance(value, Symbol):
        return statuses.get(value)
    if not isinstance(value, Term):
        return None
    operands = [_value(operand, statuses) for operand in value.operands]
    first = operands[0]
    if value.operator == "!":
        return None if first is None else int(not first)
    if value.operator == "?:":
        return None if first is None else operands[1 if first else 2]
    if value.operator in ("&&", "||"):
        decisive = value.operator == "||"
        if any(_truth(operand) is decisive for operand in operands):
            return int(decisive)
    if len(operands) != 2 or first is None or operands[1] is None:
        return None
    return fold(value.operator, first, operands[1])
