"""Traces with operations taken out or put in, to ask the engine what would change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND
from streamsan.trace.store import Slots, joined


def operation_starts(slots: Slots) -> NDArray[np.bool_]:
    """Return which slots begin an operation; the others continue the one before them."""
    starts: NDArray[np.bool_] = slots["kind"] < FIRST_CONTINUATION_KIND
    return starts


def without(chunks: Iterable[Slots], sequences: Collection[int]) -> Iterator[Slots]:
    """Yield the slots without the operations of these sequence numbers, and without their continuations."""
    removed = np.fromiter(sequences, np.uint64, len(sequences))
    for slots in chunks:
        if not len(slots):
            continue
        starts = operation_starts(slots)
        # A continuation goes with the operation it continues; one that continues nothing stays as it is.
        owner = np.cumsum(starts) - 1
        gone = np.isin(slots["sequence"][starts], removed)
        keep = np.ones(len(slots), np.bool_)
        keep[owner >= 0] = ~gone[owner[owner >= 0]]
        yield slots[keep]


def inserted(chunks: Iterable[Slots], before: Mapping[int, Slots]) -> Iterator[Slots]:
    """Yield the slots with others put in: `before[n]` (whole operations) comes just before the operation of sequence n.

    The inserted operations keep the sequence numbers that they have; the engine takes operations in the order given.
    """
    for slots in chunks:
        places = np.flatnonzero(
            operation_starts(slots) & np.isin(slots["sequence"], np.fromiter(before, np.uint64, len(before)))
        )
        parts: list[Slots] = []
        last = 0
        for place in places.tolist():
            parts += [slots[last:place], before[int(slots["sequence"][place])]]
            last = place
        yield joined([*parts, slots[last:]]) if parts else slots


def rearranged(
    slots: Slots,
    before: Mapping[int, Sequence[Slots]],
    behind: Mapping[int, Sequence[Slots]],
    removed: Collection[int],
    moved: Mapping[int, int],
) -> Slots:
    """Return the slots with operations put in before and behind others, taken out, and moved behind others.

    Operations are named by the rows at which they begin in `slots`; each goes with its continuations. What is put
    behind an operation comes before what is moved there. The engine takes operations in the order given.
    """
    starts = operation_starts(slots)
    gone = set(removed) | set(moved)
    followers: dict[int, list[int]] = {}
    for row, target in sorted(moved.items()):
        followers.setdefault(target, []).append(row)
    rows = np.flatnonzero(starts)
    ends = dict(zip(rows.tolist(), [*rows[1:].tolist(), len(slots)], strict=True))
    touched = sorted({*before, *behind, *gone, *followers})
    parts: list[Slots] = []
    last = 0
    for row in touched:
        end = ends[row]
        parts += [slots[last:row], *before.get(row, ())]
        if row not in gone:
            parts.append(slots[row:end])
        parts += behind.get(row, ())
        parts += [slots[follower : ends[follower]] for follower in followers.get(row, ())]
        last = end
    return joined([*parts, slots[last:]])
