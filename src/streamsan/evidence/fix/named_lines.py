"""Which line a fix's words name: the program's names hold where two operations meet, which may be their callers'."""

from __future__ import annotations

from streamsan.order.facts import Operation
from streamsan.rules.case import Case


def line_beside(case: Case, operation: Operation, other: Operation | None) -> int:
    """Return the line of an operation, or of the call that leads to it from the function that `other` is called in.

    The operation's own where one call leads to both: functions that were inlined are not in a recorded stack, and
    nothing can go between the two there. 0 where the line is not known.
    """
    own, others = _chain(case, operation), _chain(case, other)
    if not own:
        return 0
    meet = _line_in(own, others)
    return own[0][0] if not meet or meet == _line_in(others, own) else meet


def _line_in(chain: list[tuple[int, str]], others: list[tuple[int, str]]) -> int:
    """Return the innermost line of a chain of calls in a function of another one, 0 where they share none."""
    around = {function for _, function in others}
    return next((line for line, function in chain if function in around), 0)


def is_called_there(case: Case, operation: Operation, other: Operation | None) -> bool:
    """Tell whether that line is of a call that leads to the operation, not of the operation itself."""
    return line_beside(case, operation, other) != case.line(operation)


def before(case: Case, operation: Operation, other: Operation | None, otherwise: str) -> str:
    """Return "before line 41", or before what where the line is not known."""
    line = line_beside(case, operation, other)
    return f"before line {line}" if line else f"before {otherwise}"


def behind(case: Case, operation: Operation, other: Operation | None) -> str:
    """Return "after line 39", or after what where the line is not known."""
    line = line_beside(case, operation, other)
    return f"after line {line}" if line else f"after {case.does(operation)}"


def _chain(case: Case, operation: Operation | None) -> list[tuple[int, str]]:
    """Return line and function of a call and of those it is nested in, as far as known, the innermost first."""
    found = []
    number = operation.site if operation is not None else 0
    while number:
        site = case.names.site(number)
        if site.line:
            found.append((site.line, f"{site.file}:{site.function}"))
        number = site.caller
    return found
