"""The slots of an .sst file in global sequence order: its lanes merged window by window, in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.check import CheckedSlots, TableSizes
from streamsan.trace.errors import TraceError
from streamsan.trace.lane import Lane, LaneCursor
from streamsan.trace.layout import SLOT
from streamsan.trace.store import CHUNK, MOST_CONTINUATIONS, Slots, as_words, owners, uncut_end

MERGE_SLOTS = 1 << 17
"""Slots that the windows of all lanes hold together (8 MiB), as long as each lane has its 256."""


@dataclass(slots=True)
class _Window:
    """What was read of a lane and not given out yet."""

    cursor: LaneCursor
    slots: Slots
    order: NDArray[np.uint64]
    """for each slot the sequence of its operation"""
    at: int = 0

    @classmethod
    def of(cls, cursor: LaneCursor, size: int) -> _Window:
        slots, result = cursor.window(size)
        return cls(cursor, slots, _order(slots, result))

    def take(self, horizon: int) -> tuple[Slots, NDArray[np.uint64]]:
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
        merged = self._one_lane(size, first) if len(self._lanes) == 1 else self._merged(size, first)
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
        for chunk in self._merged(CHUNK, 0):
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

    def _one_lane(self, size: int, first: int) -> Iterator[Slots]:
        cursor = LaneCursor(self._lanes[0], self._tables, first)
        while not cursor.done:
            yield cursor.window(size)[0]

    def _merged(self, size: int, first: int) -> Iterator[Slots]:
        size = max(size, MOST_CONTINUATIONS + 1)
        window_size = min(size, max(2 * (MOST_CONTINUATIONS + 1), MERGE_SLOTS // max(1, len(self._lanes))))
        cursors = [LaneCursor(lane, self._tables, first) for lane in self._lanes]
        windows: dict[int, _Window] = {}
        upcoming = [(cursor.peek(), lane) for lane, cursor in enumerate(cursors)]
        heapq.heapify(upcoming)
        after = 0
        while upcoming:
            # All operations up to the horizon are in the windows of the lanes that begin before it.
            horizon = (1 << 64) - 1
            active: list[int] = []
            while upcoming and upcoming[0][0] <= horizon:
                lane = heapq.heappop(upcoming)[1]
                if lane not in windows:
                    windows[lane] = _Window.of(cursors[lane], window_size)
                horizon = min(horizon, int(windows[lane].order[-1]))
                active.append(lane)
            parts = [windows[lane].take(horizon) for lane in active]
            for lane in active:
                window = windows[lane]
                if window.at < len(window.slots):
                    heapq.heappush(upcoming, (int(window.order[window.at]), lane))
                    continue
                del windows[lane]
                if not cursors[lane].done:
                    heapq.heappush(upcoming, (cursors[lane].peek(), lane))
            slots = self._sorted([part for part in parts if len(part[0])], after)
            after = horizon
            start = 0
            while start < len(slots):
                end = uncut_end(slots, start + size)
                yield slots[start:end]
                start = end

    def _sorted(self, parts: list[tuple[Slots, NDArray[np.uint64]]], after: int) -> Slots:
        if len(parts) == 1:
            slots = parts[0][0]
        else:
            order = np.concatenate([part[1] for part in parts])
            # A stable sort keeps a slot's continuations behind it.
            by_sequence = np.argsort(order, kind="stable")
            words = np.concatenate([as_words(part[0]) for part in parts]).take(by_sequence, axis=0)
            slots = words.reshape(-1).view(SLOT)
        sequences = slots["sequence"][owners(slots)]
        if int(sequences[0]) <= after or not (sequences[1:] > sequences[:-1]).all():
            raise TraceError(self._path, f"damaged: two operations of one sequence, after sequence {after}")
        return slots
