"""The slots of an .sst file in global sequence order: its lanes merged window by window, in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.trace.errors import TraceError
from streamsan.trace.lane import Lane, LaneCursor
from streamsan.trace.layout import SLOT
from streamsan.trace.slot_check import CheckedSlots, TableSizes
from streamsan.trace.slot_fields import CHUNK, FIRST_CONTINUATION_KIND, MOST_CONTINUATIONS
from streamsan.trace.store import Slots, as_words, owners, uncut_parts

MERGE_SLOTS = 1 << 17
"""Slots that the windows of all lanes hold together (8 MiB), as long as each lane has its 256."""


_Part = tuple[Slots, NDArray[np.uint64]]
"""slots, and for each the sequence of its operation"""


class _Window(Struct):
    """What was read of a lane and not given out yet."""

    slots: Slots
    order: NDArray[np.uint64]
    """for each slot the sequence of its operation"""
    at: int = 0

    @classmethod
    def of(cls, cursor: LaneCursor, size: int) -> _Window:
        slots, result = cursor.window(size)
        return cls(slots, _order(slots, result))

    def take(self, horizon: int) -> _Part:
        """Return what has a sequence of at most `horizon`, and forget it."""
        end = self.at + int(np.searchsorted(self.order[self.at :], np.uint64(horizon), side="right"))
        taken = self.slots[self.at : end], self.order[self.at : end]
        self.at = end
        return taken


def _order(slots: Slots, result: CheckedSlots) -> NDArray[np.uint64]:
    if result.starts is None:
        return result.sequences
    return np.repeat(result.sequences, np.diff(result.starts, append=len(slots)))


class FileSlots:
    """A store over the lanes of a file. Every chunk is an array of its own: nobody writes to it again.

    Memory is one window for each lane that has operations at the place reached; lanes of threads that ended, or have
    not begun, hold none. With one lane nothing is sorted.
    """

    def __init__(self, path: str, lanes: Sequence[Lane], tables: TableSizes, promised: int | None) -> None:
        self._path = path
        self._lanes = lanes
        self._tables = tables
        self._promised = promised
        """operations that the end mark counts"""
        self._count: int | None = None
        self._limit: int | None = None
        """operations with this sequence and later ones are left out"""

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield all slots in order. Raises TraceError where they are damaged, or fewer than the end mark says."""
        merged = in_order(self._path, self._cursors(first), size)
        if first:
            yield from self._limited(merged)
            return
        count = 0
        for chunk in self._limited(merged):
            if self._count is None:
                count += int(np.count_nonzero(owners(chunk)))
            yield chunk
        if self._count is None:
            if self._promised is not None and self._promised != count:
                raise TraceError(
                    self._path, f"damaged: the end mark counts {self._promised} operations, the file has {count}"
                )
            self._count = count

    def count(self) -> int:
        """Return the number of operations: what the end mark says, else by counting once."""
        if self._count is None and self._promised is not None:
            return self._promised
        if self._count is None:
            for _ in self.chunks(CHUNK, 0):
                pass
        return self._count or 0

    def cut_at_gap(self, expected: int) -> int | None:
        """Leave out what follows a missing sequence, when all of them from `expected` on were given to some operation.

        A writer with several lanes that is cut off may lose an operation of one lane and keep later ones of another.
        Returns the missing sequence, None when there is none.
        """
        for chunk in merged(self._path, self._cursors(0), CHUNK):
            sequences = chunk["sequence"][owners(chunk)]
            gaps = np.flatnonzero(sequences != np.arange(len(sequences), dtype=np.uint64) + np.uint64(expected))
            if len(gaps):
                self._limit = expected + int(gaps[0])
                return self._limit
            expected += len(sequences)
        return None

    def _limited(self, chunks: Iterator[Slots]) -> Iterator[Slots]:
        if self._limit is None:
            yield from chunks
            return
        for chunk in chunks:
            starts = np.flatnonzero(owners(chunk))
            beyond = int(np.searchsorted(chunk["sequence"][starts], np.uint64(self._limit)))
            if beyond == len(starts):
                yield chunk
                continue
            if beyond:
                yield chunk[: starts[beyond]]
            return

    def _cursors(self, first: int) -> list[LaneCursor]:
        return [LaneCursor(lane, self._tables, first) for lane in self._lanes]


Damaged = Callable[[LaneCursor, TraceError], None]
Read = TypeVar("Read")


def in_order(path: str, cursors: Sequence[LaneCursor], size: int, damaged: Damaged | None = None) -> Iterator[Slots]:
    """Yield what `merged` yields; with one lane, and nobody to tell of damage, nothing is sorted."""
    if len(cursors) == 1 and damaged is None:
        while not cursors[0].done:
            yield cursors[0].window(size)[0]
    else:
        yield from merged(path, cursors, size, damaged)


def merged(path: str, cursors: Sequence[LaneCursor], size: int, damaged: Damaged | None = None) -> Iterator[Slots]:
    """Yield the slots of lanes in the order of their sequences, in arrays of at most max(size, 256).

    Holds a window of each lane that has operations at the place reached. A lane that turns out to be damaged raises
    TraceError, or ends there after `damaged` was told.
    """
    size = max(size, MOST_CONTINUATIONS + 1)
    window_size = min(size, max(2 * (MOST_CONTINUATIONS + 1), MERGE_SLOTS // max(1, len(cursors))))
    lanes = _Lanes(cursors, window_size, damaged)
    # The C library gives freed memory back to the system, which clears each page anew, unless it once saw a larger
    # block freed: without this one, half of a merge's time goes there.
    np.empty(2 * MERGE_SLOTS, SLOT)
    after = 0
    while lanes.upcoming:
        parts, horizon = lanes.up_to_horizon()
        if not parts:
            continue
        slots = _sorted(path, parts, after)
        after = horizon
        yield from uncut_parts(slots, size)


class _Lanes:
    """The lanes of a merge, and what was read of them."""

    def __init__(self, cursors: Sequence[LaneCursor], window_size: int, damaged: Damaged | None) -> None:
        self._cursors = cursors
        self._window_size = window_size
        self._damaged = damaged
        self._windows: dict[int, _Window] = {}
        self.upcoming: list[tuple[int, int]] = []
        """a heap of the lanes that have more operations, each by the sequence of its next one"""
        for lane in range(len(cursors)):
            self._come_up(lane)

    def up_to_horizon(self) -> tuple[list[_Part], int]:
        """Return what the lanes have up to a horizon, and that: all up to it is in the windows of those before it."""
        horizon = (1 << 64) - 1
        active: list[int] = []
        while self.upcoming and self.upcoming[0][0] <= horizon:
            lane = heapq.heappop(self.upcoming)[1]
            if lane not in self._windows:
                window = self._undamaged(lane, lambda cursor: _Window.of(cursor, self._window_size))
                if window is None:
                    continue
                self._windows[lane] = window
            horizon = min(horizon, int(self._windows[lane].order[-1]))
            active.append(lane)
        parts = [self._windows[lane].take(horizon) for lane in active]
        for lane in active:
            self._come_up(lane)
        return [part for part in parts if len(part[0])], horizon

    def _come_up(self, lane: int) -> None:
        """Put a lane that has more operations where its next one is."""
        window = self._windows.get(lane)
        if window is not None and window.at < len(window.slots):
            heapq.heappush(self.upcoming, (int(window.order[window.at]), lane))
            return
        self._windows.pop(lane, None)
        following = None if self._cursors[lane].done else self._undamaged(lane, LaneCursor.peek)
        if following is not None:
            heapq.heappush(self.upcoming, (following, lane))

    def _undamaged(self, lane: int, read: Callable[[LaneCursor], Read]) -> Read | None:
        """Return what is read of a lane; None where it is damaged, and `damaged` was told."""
        try:
            return read(self._cursors[lane])
        except TraceError as error:
            if self._damaged is None:
                raise
            self._damaged(self._cursors[lane], error)
            return None


def _sorted(path: str, parts: list[_Part], after: int) -> Slots:
    """Return the slots of lanes that each are in order, in one order."""
    slots, order = parts[0]
    if len(parts) > 1:
        order = np.concatenate([part[1] for part in parts])
        # A stable sort keeps a slot's continuations behind it, and is fast where long runs are in order already.
        by_sequence = np.argsort(order, kind="stable")
        order = order.take(by_sequence)
        words = np.concatenate([as_words(part[0]) for part in parts]).take(by_sequence, axis=0)
        slots = words.reshape(-1).view(SLOT)
    equal = np.flatnonzero(order[1:] == order[:-1]) + 1  # continuations, else operations that share a number
    if int(order[0]) <= after or (slots["kind"][equal] < FIRST_CONTINUATION_KIND).any():
        raise TraceError(path, f"damaged: two operations of one sequence, after sequence {after}")
    return slots
