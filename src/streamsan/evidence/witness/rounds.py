"""How many rounds of a loop lie between two operations of it."""

from __future__ import annotations

from streamsan.evidence.witness.known_order import Order
from streamsan.order.facts import Operation
from streamsan.rules.case import Case

MOST_BETWEEN = 20_000
"""operations between the two that are looked at"""
_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def rounds_later(order: Order, case: Case, first: Operation, second: Operation) -> str:
    """Return how much later in a loop the second operation is: ", three rounds later"; "" where that is not known."""
    here, there = case.names.site(first.site), case.names.site(second.site)
    distance = second.sequence - first.sequence
    if not 0 < distance <= MOST_BETWEEN or not here.line or not there.line or first.site == second.site:
        return ""
    if (here.file, here.function, here.caller) != (there.file, there.function, there.caller):
        return ""
    of_first, of_second = (order.count_between(each, first.sequence, second.sequence) for each in (first, second))
    if of_first is None or of_second is None:
        return ""
    # What stands before the first in the text and comes after it: the loop has begun again.
    begun_again = (there.line, there.column) < (here.line, here.column)
    if of_first != of_second:
        return ", in a later round" if begun_again else ""
    rounds = of_first + begun_again
    if rounds < 2:
        return ", the next time round" if rounds else ""
    return f", {_NUMBERS[rounds] if rounds < len(_NUMBERS) else f'{rounds:,}'} rounds later"
