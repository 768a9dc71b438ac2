"""Where a trace's slots lie: the face that memory and files share, and the one for memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.layout import SLOT
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND, MOST_CONTINUATIONS

Slots = NDArray[np.void]
"""A one-dimensional array of dtype SLOT."""

SLOT_WORDS = 8
"""of 8 bytes each, see `as_words`"""
OBJECT_WORD, ADDRESS_WORD, SIZE_WORD, PLACE_WORD, LAST_WORD = 3, 4, 5, 6, 7
"""where fields lie in a slot's words: PLACE has site (32 bits), api and thread (16 each), LAST all from `status` on"""


class SlotStore(Protocol):
    """Slots in global sequence order."""

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield all slots in order, in arrays of at most max(size, 256), no slot cut from its continuations.

        The store may leave out leading operations whose sequence is less than `first`; it need not.
        """

    def count(self) -> int:
        """Return the number of operations (slots that are not continuations)."""


def slots_of(packed: bytes) -> Slots:
    """Return packed slots as an array."""
    return np.frombuffer(packed, SLOT)


def packed_of(slots: Slots) -> NDArray[np.uint8]:
    """Return slots as bytes."""
    return np.ascontiguousarray(slots).view(np.uint8)


def owners(slots: Slots) -> NDArray[np.bool_]:
    """Return which slots are operations, not continuations."""
    result: NDArray[np.bool_] = slots["kind"] < FIRST_CONTINUATION_KIND
    return result


def durations(slots: Slots) -> NDArray[np.uint64]:
    """Return how long calls took, in ns (`slot_fields.decode_duration` for all at once); 0: not known."""
    encoded = slots["duration"].astype(np.uint64)
    result: NDArray[np.uint64] = (encoded & np.uint64(2047)) << (encoded >> np.uint64(11))
    return result


def distinct(values: NDArray[Any]) -> list[int]:
    """Return the numbers of an array, each once, sorted."""
    # Without counts NumPy loads its masked arrays, which takes longer than to check most sources.
    numbers: list[int] = np.unique(values, return_counts=True)[0].tolist()
    return numbers


def as_words(slots: Slots) -> NDArray[np.uint64]:
    """Return contiguous slots as rows of eight words. NumPy moves these at memory speed, structures 15 times slower."""
    return slots.view(np.uint64).reshape(-1, SLOT_WORDS)


def joined(parts: Sequence[Slots]) -> Slots:
    """Return arrays of slots, one behind the other, as one."""
    # Of structures NumPy compares all fields of each array with those before it, which takes longer than to copy them.
    words = np.concatenate([as_words(np.ascontiguousarray(part)) for part in parts])
    return words.reshape(-1).view(SLOT)


def uncut_parts(slots: Slots, size: int) -> Iterator[Slots]:
    """Yield an array that starts with an operation in views of at most max(size, 256) slots.

    No slot is cut from its continuations.
    """
    size = max(size, MOST_CONTINUATIONS + 1)
    start = 0
    while start < len(slots):
        end = _uncut_end(slots, start + size)
        yield slots[start:end]
        start = end


def _uncut_end(slots: Slots, end: int) -> int:
    """Return the largest place <= `end` where an array that starts with an operation can be cut without harm."""
    if end >= len(slots):
        return len(slots)
    low = max(0, end - MOST_CONTINUATIONS)
    starts = np.flatnonzero(slots["kind"][low : end + 1] < FIRST_CONTINUATION_KIND)
    return low + int(starts[-1]) if len(starts) else low


class MemorySlots:
    """A store over one array that is in sequence order already."""

    def __init__(self, slots: np.ndarray[Any, Any]) -> None:
        if slots.dtype != SLOT or slots.ndim != 1:
            raise ValueError(f"slots must be a one-dimensional array of dtype SLOT, not {slots.dtype} of {slots.ndim}")
        self.slots: Slots = slots

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield views of the array."""
        return uncut_parts(self.slots, size)

    def count(self) -> int:
        """Return the number of operations."""
        return int(np.count_nonzero(owners(self.slots)))
