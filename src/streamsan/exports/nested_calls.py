"""Calls of host threads as slices: on each thread they lie behind each other, or in each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_TOO_LONG = 10
"""a duration may be this many halvings of itself too long: traces round durations up (`slot_fields.decode_duration`)"""


def nested_calls(
    thread: NDArray[np.uint16], begin: NDArray[np.uint64], duration: NDArray[np.uint64]
) -> Iterator[tuple[int, bool, int]]:
    """Yield for each call, by its index, that it begins (True) and that it ends (False), and when.

    The begins are in the order of time, and so is all of one thread. A call that reaches into the next one by no more
    than its rounding ends where that begins. One that reaches further surrounds it, and ends no earlier.
    """
    open_calls: dict[int, list[tuple[int, int, int]]] = {}
    order = np.lexsort((-duration.astype(np.int64), begin))
    rows = zip(*(column[order].tolist() for column in (thread, begin, duration)), strict=True)
    for index, (own, first, length) in zip(order.tolist(), rows, strict=True):
        around = open_calls.setdefault(own, [])
        while around and around[-1][2] <= first:
            before, last, _ = around.pop()
            yield before, False, min(last, first)
        last = min(first + length, around[-1][1]) if around else first + length
        around.append((index, last, last - (length >> _TOO_LONG)))
        yield index, True, first
    for around in open_calls.values():
        for index, last, _ in reversed(around):
            yield index, False, last
