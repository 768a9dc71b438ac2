"""When the device did the work of operations, as far as a recording says (`streamsan run --times`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.store import Slots


def device_times(
    sequences: NDArray[np.uint64], told: Slots, first: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return by operation when the device began its work, ns after `first`, and how long it took; 0, 0: not known.

    `told`: DEVICE_TIMEs in any order. The work of an operation that has several lasts from the first begin to the last
    end.
    """
    begun, took = np.zeros(len(sequences), np.uint64), np.zeros(len(sequences), np.uint64)
    told = told[np.argsort(told["object"], kind="stable")]
    if not len(told) or not len(sequences):
        return begun, took
    numbers, at = np.unique(told["object"], return_index=True, return_counts=True)[:2]
    starts = np.minimum.reduceat(told["time"], at)
    ends = np.maximum.reduceat(told["time"] + told["size"], at)
    rows = np.minimum(np.searchsorted(sequences, numbers), len(sequences) - 1)
    known = (sequences[rows] == numbers) & (starts >= np.uint64(first)) & (ends > starts)
    begun[rows[known]] = starts[known] - np.uint64(first)
    took[rows[known]] = ends[known] - starts[known]
    return begun, took
