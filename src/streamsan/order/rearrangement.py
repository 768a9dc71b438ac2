"""Traces with operations taken out, put in or moved, to ask the engine what would change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND
from streamsan.trace.store import Slots, joined


def operation_starts(slots: Slots) -> NDArray[np.bool_]:
    """Return which slots begin an operation; the others continue the one before them."""
    starts: NDArray[np.bool_] = slots["kind"] < FIRST_CONTINUATION_KIND
    return starts


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
