"""Allocations on as few rows as there are alive at once, and how much memory is alive when."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray


def rows_of(begin: NDArray[np.uint64], end: NDArray[np.uint64]) -> Iterator[int]:
    """Yield for each bar, sorted by its begin, the lowest row on which no earlier one is alive."""
    free: list[int] = []
    used: list[tuple[int, int]] = []
    rows = 0
    for first, last in zip(begin.tolist(), end.tolist(), strict=True):
        while used and used[0][0] <= first:
            heappush(free, heappop(used)[1])
        if free:
            row = heappop(free)
        else:
            row, rows = rows, rows + 1
        heappush(used, (last, row))
        yield row


def alive(
    begin: NDArray[np.uint64], end: NDArray[np.uint64], size: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the moments at which the bytes that are alive change, and how many are then."""
    moments = np.concatenate([begin, end])
    change = np.concatenate([size.astype(np.int64), -size.astype(np.int64)])
    order = np.argsort(moments, kind="stable")
    moments, total = moments[order], np.cumsum(change[order])
    last = np.diff(moments, append=moments[-1:] + np.uint64(1)) != 0
    return moments[last], total[last]
