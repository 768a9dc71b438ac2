"""Sets of bytes, as ranges in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ranges = NDArray[np.int64]


class ByteSet:
    """Bytes of memory by address. It does not change."""

    def __init__(self, ranges: Sequence[tuple[int, int]] | Ranges = ()) -> None:
        """`ranges`: from (inclusive) and to (exclusive), in any order."""
        self._ranges = _settled(np.asarray(ranges, np.int64).reshape(-1, 2))

    @staticmethod
    def of_rows(begin: int, width: int, pitch: int, rows: int, slice_pitch: int, slices: int) -> ByteSet:
        """Rows of `width` bytes."""
        places = begin + np.add.outer(np.arange(slices) * slice_pitch, np.arange(rows) * pitch).ravel()
        return ByteSet(np.stack((places, places + width), 1))

    @staticmethod
    def union(sets: Iterable[ByteSet]) -> ByteSet:
        """What is in any of them."""
        return ByteSet(np.concatenate([np.empty((0, 2), np.int64), *(each._ranges for each in sets)]))

    def __bool__(self) -> bool:
        return bool(len(self._ranges))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteSet) and np.array_equal(self._ranges, other._ranges)

    def __hash__(self) -> int:
        return hash(self._ranges.tobytes())

    def __or__(self, other: ByteSet) -> ByteSet:
        return ByteSet.union((self, other))

    def __sub__(self, other: ByteSet) -> ByteSet:
        """What is here and not there."""
        if not len(self._ranges) or not len(other._ranges):
            return self
        gaps_begin = np.concatenate(([np.iinfo(np.int64).min], other._ranges[:, 1]))
        gaps_end = np.concatenate((other._ranges[:, 0], [np.iinfo(np.int64).max]))
        begins, ends = self._ranges[:, 0], self._ranges[:, 1]
        first = np.searchsorted(gaps_end, begins, "right")
        behind = np.searchsorted(gaps_begin, ends, "left")
        count = np.maximum(behind - first, 0)
        which = np.repeat(np.arange(len(begins)), count)
        gap = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        low, high = np.maximum(begins[which], gaps_begin[gap]), np.minimum(ends[which], gaps_end[gap])
        return ByteSet(np.stack((low, high), 1)[low < high])

    @property
    def begin(self) -> int:
        """The first byte; 0 of an empty set."""
        return int(self._ranges[0, 0]) if self else 0

    @property
    def end(self) -> int:
        """One behind the last byte; 0 of an empty set."""
        return int(self._ranges[-1, 1]) if self else 0

    def within(self, begin: int, end: int) -> ByteSet:
        """What of it lies from `begin` (inclusive) to `end` (exclusive)."""
        ranges = np.clip(self._ranges, begin, end)
        return ByteSet(ranges[ranges[:, 0] < ranges[:, 1]])

    def told(self, origin: int) -> str:
        """Its first ranges, counted from `origin`."""
        parts = [f"{begin - origin} to {end - origin}" for begin, end in self._ranges[:2].tolist()]
        more = len(self._ranges) - len(parts)
        return f"bytes {', '.join(parts)}" + (f" and {more} more ranges" if more else "")


def _settled(ranges: Ranges) -> Ranges:
    """In order, without empty ones, those that meet made one."""
    ranges = ranges[ranges[:, 0] < ranges[:, 1]]
    if len(ranges) < 2:
        return ranges
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    reached = np.maximum.accumulate(ranges[:, 1])
    first = np.concatenate(([True], ranges[1:, 0] > reached[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.stack((ranges[first, 0], reached[last]), 1)
