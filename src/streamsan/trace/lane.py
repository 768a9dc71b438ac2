"""One lane of an .sst file: the slots that one writer wrote, over all of its segments."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from streamsan.trace.errors import TraceError
from streamsan.trace.layout import SLOT
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.slot_check import CheckedSlots, DamagedSlots, TableSizes, checked
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND, MOST_CONTINUATIONS
from streamsan.trace.store import Slots
from streamsan.trace.translation import Translation
from streamsan.vocabulary import SlotFlag

SLOT_SIZE = SLOT.itemsize


class Lane:
    """The committed slots of one lane, in the order of the file."""

    def __init__(self, file: RandomAccessFile, number: int) -> None:
        self.file = file
        self.number = number
        self._payloads: list[int] = []
        self._starts: list[int] = []
        """slots of the lane before each segment"""
        self.slots = 0
        self.last_segment_slots = 0

    def add(self, payload: int, size: int) -> None:
        """Add a segment's committed bytes; half a slot is none."""
        count = size // SLOT_SIZE
        if count:
            self._payloads.append(payload)
            self._starts.append(self.slots)
            self.slots += count
            self.last_segment_slots = count

    def read(self, start: int, count: int, room: int = 0) -> Slots:
        """Return `count` slots from the lane's slot `start`, in a new array with `room` slots free before them."""
        array = np.empty(room + count, SLOT)
        done = room
        segment = bisect_right(self._starts, start) - 1
        while done < len(array):
            within = start - self._starts[segment]
            end = self._starts[segment + 1] if segment + 1 < len(self._starts) else self.slots
            take = min(len(array) - done, end - start)
            self.file.read_into(self._payloads[segment] + within * SLOT_SIZE, array[done : done + take])
            done, start, segment = done + take, start + take, segment + 1
        return array

    def drop_unfinished(self) -> None:
        """Forget a last operation whose continuation slots are missing."""
        count = min(self.last_segment_slots, MOST_CONTINUATIONS + 1)
        if not count:
            return
        tail = self.read(self.slots - count, count)
        starts = np.flatnonzero(tail["kind"] < FIRST_CONTINUATION_KIND)
        if not len(starts):
            return  # reading it says what is wrong
        begin = int(starts[-1])
        if count - begin - 1 < int(tail["more"][begin]):
            self.slots -= count - begin

    def awaits_return(self) -> bool:
        """Tell whether a call among the lane's latest operations has not returned."""
        count = min(self.slots, MOST_CONTINUATIONS + 1)
        tail = self.read(self.slots - count, count) if count else np.empty(0, SLOT)
        calls = tail[tail["kind"] < FIRST_CONTINUATION_KIND]
        return bool(np.any(calls["flags"] & int(SlotFlag.ENTER)))

    def sequence_at(self, start: int) -> int:
        """Return the sequence of the operation that begins at the lane's slot `start`."""
        return int(self.read(start, 1)["sequence"][0])

    def start_before(self, sequence: int) -> int:
        """Return a segment's beginning before which every operation has a smaller sequence than this."""
        # A segment begins with an operation, and the lane's sequences increase.
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            if self._starts[middle] < self.slots and self.sequence_at(self._starts[middle]) <= sequence:
                low = middle
            else:
                high = middle
        return self._starts[low] if self._starts else 0


class LaneCursor:
    """Reads a lane window by window, checks every slot, and never cuts an operation."""

    def __init__(self, lane: Lane, tables: TableSizes, first: int = 0, translation: Translation | None = None) -> None:
        self.lane = lane
        self._tables = tables
        self._translation = translation
        self._next = lane.start_before(first) if first else 0
        self._after = 0
        self._carried: Slots = np.empty(0, SLOT)

    @property
    def done(self) -> bool:
        """Whether every slot was given out."""
        return self._next >= self.lane.slots and not len(self._carried)

    def peek(self) -> int:
        """Return the sequence of the next operation."""
        return int(self._carried["sequence"][0]) if len(self._carried) else self.lane.sequence_at(self._next)

    def window(self, size: int) -> tuple[Slots, CheckedSlots]:
        """Return the next operations, `size` slots at most (at least 256), and what the check learned of them."""
        room = len(self._carried)
        count = min(max(size, MOST_CONTINUATIONS + 1) - room, self.lane.slots - self._next)
        slots = self.lane.read(self._next, count, room)
        slots[:room] = self._carried
        self._next += count
        try:
            result = checked(slots, self._after, self._tables)
            if result.missing:
                if self._next >= self.lane.slots:
                    raise DamagedSlots("an operation without its continuation slots")
                begin = len(slots) - 1 if result.starts is None else int(result.starts[-1])
                self._carried = slots[begin:].copy()
                starts = None if result.starts is None else result.starts[:-1]
                slots, result = slots[:begin], CheckedSlots(starts, result.sequences[:-1], 0)
            else:
                self._carried = np.empty(0, SLOT)
        except DamagedSlots as error:
            raise TraceError(
                self.lane.file.path, f"damaged: {error}, in lane {self.lane.number} after sequence {self._after}"
            ) from None
        self._after = int(result.sequences[-1])
        if self._translation is not None:
            self._translation.apply(slots, result.starts)
        return slots, result
