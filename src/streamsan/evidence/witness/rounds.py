"""How many rounds of a loop lie between two operations of it."""

from __future__ import annotations

import numpy as np

from streamsan.order.facts import Operation
from streamsan.order.rearrangement import operation_starts
from streamsan.rules.case import Case
from streamsan.trace import Trace, TraceError

MOST_BETWEEN = 20_000
"""operations between the two that are looked at"""
_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def rounds_later(trace: Trace, case: Case, first: Operation, second: Operation) -> str:
    """Return how much later in a loop the second operation is: ", three rounds later"; "" where that is not known."""
    here, there = case.names.site(first.site), case.names.site(second.site)
    distance = second.sequence - first.sequence
    if not 0 < distance <= MOST_BETWEEN or not here.line or not there.line or first.site == second.site:
        return ""
    if (here.file, here.function, here.caller) != (there.file, there.function, there.caller):
        return ""
    try:
        of_first, of_second = _between(trace, first, second)
    except TraceError:
        return ""
    # What stands before the first in the text and comes after it: the loop has begun again.
    begun_again = (there.line, there.column) < (here.line, here.column)
    if of_first != of_second:
        return ", in a later round" if begun_again else ""
    rounds = of_first + begun_again
    if rounds < 2:
        return ", the next time round" if rounds else ""
    return f", {_NUMBERS[rounds] if rounds < len(_NUMBERS) else f'{rounds:,}'} rounds later"


def _between(trace: Trace, first: Operation, second: Operation) -> tuple[int, int]:
    """Return how often the calls of two operations are made between them."""
    counts = [0, 0]
    for slots in trace.chunks(first=first.sequence):
        sequence = slots["sequence"]
        inside = operation_starts(slots) & (sequence > np.uint64(first.sequence))
        inside &= sequence < np.uint64(second.sequence)
        for which, operation in enumerate((first, second)):
            same = inside & (slots["site"] == operation.site) & (slots["kind"] == operation.kind)
            counts[which] += int(same.sum())
        if len(sequence) and sequence[-1] >= second.sequence:
            break
    return counts[0], counts[1]
