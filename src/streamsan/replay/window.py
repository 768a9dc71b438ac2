"""Long traces: the work long before the operations that matter is left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamsan.evidence.witness.known_order import prefix
from streamsan.order.rearrangement import operation_starts
from streamsan.trace import Trace
from streamsan.trace.store import MemorySlots, Slots
from streamsan.vocabulary import OperationKind

MAKES = (
    OperationKind.CONTEXT_CREATE,
    OperationKind.CONTEXT_CURRENT,
    OperationKind.CONTEXT_DESTROY,
    OperationKind.DEVICE_RESET,
    OperationKind.STREAM_CREATE,
    OperationKind.STREAM_DESTROY,
    OperationKind.EVENT_CREATE,
    OperationKind.EVENT_DESTROY,
    OperationKind.ALLOC,
    OperationKind.FREE,
    OperationKind.GRAPH_INSTANTIATE,
    OperationKind.GRAPH_UPDATE,
    OperationKind.GRAPH_NODE_UPDATE,
    OperationKind.GRAPH_NODE,
    OperationKind.GRAPH_EDGE,
)


def start_of_window(trace: Trace, last: int, most: int) -> int:
    """Return the number from which on at most `most` operations lead to `last`; 0: from the first."""
    excess = sum(int(operation_starts(slots).sum()) for slots in prefix(trace, last)) - most
    if excess <= 0:
        return 0
    for slots in prefix(trace, last):
        numbers = slots["sequence"][operation_starts(slots)]
        if excess <= len(numbers):
            return int(numbers[excess - 1]) + 1
        excess -= len(numbers)
    return 0


def shortened(trace: Trace, begins_at: int, last: int) -> Trace:
    """Return a trace up to `last`, of which all before `begins_at` only makes what is there."""
    early: list[Slots] = []
    late: list[Slots] = []
    for slots in prefix(trace, last):
        starts = operation_starts(slots)
        is_late = _with_continuations(starts, slots["sequence"] >= np.uint64(begins_at))
        made = _with_continuations(starts, np.isin(slots["kind"], MAKES) | _sets_user_event(slots)) & ~is_late
        early.append(slots[made])
        late.append(slots[is_late])
    makers = np.concatenate(early)
    parts = [makers[_still_there(makers)], *late]
    return Trace(
        trace.path, MemorySlots(np.concatenate(parts)), threads=trace.threads, apis=trace.apis, origin=trace.origin
    )


def _sets_user_event(slots: Slots) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = (slots["kind"] == OperationKind.EVENT_RECORD) & (slots["stream"] == 0)
    return result


def _with_continuations(starts: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a choice of slots in which a continuation goes with its operation."""
    owner = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))
    result: NDArray[np.bool_] = chosen[owner]
    return result


def _still_there(slots: Slots) -> NDArray[np.bool_]:
    """Return which slots matter still: not the allocation whose address was given out again, nor the frees before."""
    starts = operation_starts(slots)
    rows = np.arange(len(slots))
    allocations = np.flatnonzero(starts & (slots["kind"] == OperationKind.ALLOC))
    keep = np.ones(len(slots), np.bool_)
    if len(allocations):
        addresses, latest = np.unique(slots["address"][allocations][::-1], return_index=True)
        latest_row = allocations[::-1][latest]
        of_memory = starts & np.isin(slots["kind"], (OperationKind.ALLOC, OperationKind.FREE))
        at = np.minimum(np.searchsorted(addresses, slots["address"]), len(addresses) - 1)
        known = of_memory & (addresses[at] == slots["address"])
        keep = ~(known & (rows < latest_row[at]))
    return _with_continuations(starts, keep)
