"""Waits by call site: how often, how long, and whether any of them ordered something that was not ordered before."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.timeline.calls_drawn import Call
from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind

WAITS = (
    OperationKind.STREAM_WAIT_EVENT,
    OperationKind.EVENT_SYNCHRONIZE,
    OperationKind.STREAM_SYNCHRONIZE,
    OperationKind.CONTEXT_SYNCHRONIZE,
)


class WaitSite(Struct, frozen=True):
    """One place in the program that waits."""

    call: int
    """index in the timeline's calls"""
    count: int
    first: int
    """its first operation"""
    nanoseconds: int
    """how long the host waited there in all; 0: not known, or it is a stream that waits"""
    adds_order: bool | None
    """False: whatever was awaited was before the waiter already, each time; None: nobody knows"""


def wait_sites(
    slots: Slots,
    calls: tuple[Call, ...],
    call: NDArray[np.uint32],
    duration: NDArray[np.uint64],
    needed: Collection[tuple[int, int]] | None,
) -> tuple[WaitSite, ...]:
    """Return the places that wait, the longest waits first, then by the program's text."""
    rows = np.flatnonzero(np.isin(slots["kind"], WAITS))
    numbers, first, inverse, counts = np.unique(call[rows], return_index=True, return_inverse=True, return_counts=True)
    times = np.bincount(inverse, duration[rows].astype(np.float64), minlength=len(numbers)).astype(np.int64)
    found = []
    for number, at, count, time in zip(numbers.tolist(), first.tolist(), counts.tolist(), times.tolist(), strict=True):
        slot = slots[int(rows[at])]
        adds = None if needed is None else (int(slot["site"]), int(slot["api"])) in needed
        found.append(WaitSite(number, count, int(rows[at]), time, adds))
    return tuple(sorted(found, key=lambda each: (-each.nanoseconds, calls[each.call].file, calls[each.call].line)))
