"""Checks slots before anybody relies on what they say. All checks are over arrays: a few passes, no loop."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND
from streamsan.trace.store import LAST_WORD, PLACE_WORD, SLOT_WORDS, Slots, as_words


class TableSizes(Struct, frozen=True):
    """How many entries the side tables have."""

    threads: int
    apis: int
    sites: int


class DamagedSlots(Exception):  # noqa: N818 - becomes a TraceError where the file's name is known
    """Slots that no writer writes; the text says why."""


class CheckedSlots(Struct, frozen=True):
    """Slots of one lane that were checked."""

    starts: NDArray[np.intp] | None
    """where operations begin; None: every slot is one"""
    sequences: NDArray[np.uint64]
    """of each operation"""
    missing: int
    """continuation slots that the last operation still lacks"""


def checked(slots: Slots, after: int, tables: TableSizes) -> CheckedSlots:
    """Check consecutive slots of one lane (at least one), the first of which must begin an operation.

    `after` is the lane's last sequence before them. Raises DamagedSlots.
    """
    words = as_words(slots)
    # The last word of a slot: status (16 bits), kind, detail, flags, more, duration (16 bits).
    last = np.ascontiguousarray(words[:, LAST_WORD])
    kinds = (last >> np.uint64(16)).astype(np.uint8)
    more = (last >> np.uint64(40)).astype(np.uint8)
    count = len(slots)
    starts: NDArray[np.intp] | None = None
    if kinds.max() >= FIRST_CONTINUATION_KIND:
        starts = np.flatnonzero(kinds < FIRST_CONTINUATION_KIND)
        if len(starts) == 0 or starts[0] != 0:
            raise DamagedSlots("a continuation slot without its operation")
        more = more.take(starts)
        follow = starts[1:] - starts[:-1] - 1
        follow_last = count - int(starts[-1]) - 1
        if not np.array_equal(follow, more[:-1]) or follow_last > int(more[-1]):
            raise DamagedSlots("an operation with other continuation slots than it says")
        missing = int(more[-1]) - follow_last
        # Of the operations' slots two words are looked at: only these are gathered.
        flat = words.reshape(-1)
        first_words = starts * SLOT_WORDS
        sequences, places = flat.take(first_words), flat.take(first_words + PLACE_WORD)
    else:
        if more[:-1].any():
            raise DamagedSlots("an operation without its continuation slots")
        missing = int(more[-1])
        sequences, places = np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, PLACE_WORD])
    if not kinds.all():
        raise DamagedSlots("a slot of no kind")
    if int(sequences[0]) <= after or not (sequences[1:] > sequences[:-1]).all():
        raise DamagedSlots("sequences that do not increase")
    for what, size, most in (
        ("thread", tables.threads, int(places.max()) >> 48),
        ("API", tables.apis, int((places >> np.uint64(32)).astype(np.uint16).max())),
        ("site", tables.sites, int(places.astype(np.uint32).max())),
    ):
        if most >= size:
            raise DamagedSlots(f"{what} {most} out of range (the table has {size})")
    return CheckedSlots(starts, sequences, missing)
