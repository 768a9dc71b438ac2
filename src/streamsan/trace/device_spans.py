"""From when until when the device did the work of operations, by the DEVICE_TIMEs of a trace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.store import Slots


def device_spans(
    sequences: NDArray[np.uint64], told: Slots
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the operations whose work is told of, as indices into `sequences`, and when it began and ended, in ns.

    `sequences` ascend; `told` are DEVICE_TIMEs in any order. The work of an operation that has several lasts from the
    first begin to the last end.
    """
    if not len(told) or not len(sequences):
        return np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    told = told[np.argsort(told["object"], kind="stable")]
    numbers, at = np.unique(told["object"], return_index=True, return_counts=True)[:2]
    begun = np.minimum.reduceat(told["time"], at)
    ended = np.maximum.reduceat(told["time"] + told["size"], at)
    rows = np.minimum(np.searchsorted(sequences, numbers), len(sequences) - 1)
    known = sequences[rows] == numbers
    return rows[known], begun[known], ended[known]
