"""Edges between lanes that the slots themselves tell: who waits for what. Each lane's own order needs none.

These are the waits that a program writes down. What else orders operations (the rules of the default stream, frees that
wait, ...) the engine knows; a scene asks it (`scenes`).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.timeline.lanes import LaneTable
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind


class EdgeReason(IntEnum):
    """Why an operation comes after one of another lane."""

    EVENT = 0
    """a stream waits for an event"""
    EVENT_HOST = 1
    """the host waits for an event, or sees that it is complete"""
    STREAM_HOST = 2
    """the host waits for a stream, or sees that it is complete"""
    CONTEXT_HOST = 3
    """the host waits for all streams"""
    HANDED_ON = 4
    """a host thread goes on after another one (a join, a lock, a flag)"""


REASON_WORDS = {
    EdgeReason.EVENT: "waits for the event",
    EdgeReason.EVENT_HOST: "the host waits for the event",
    EdgeReason.STREAM_HOST: "the host waits for the stream",
    EdgeReason.CONTEXT_HOST: "the host waits for all work",
    EdgeReason.HANDED_ON: "goes on after the other thread",
}


class Edges(Struct, frozen=True):
    """Edges, sorted by where they lead to; operations by their index."""

    source: NDArray[np.uint32]
    target: NDArray[np.uint32]
    reason: NDArray[np.uint8]
    """EdgeReason"""


_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def edges_of(slots: Slots, processes: NDArray[np.int64], table: LaneTable) -> Edges:
    """Return the edges of a trace's drawn operations. Failed waits order nothing."""
    kinds = slots["kind"]
    worked = (slots["status"] == 0) | (slots["status"] == STATUS_UNKNOWN)
    asked_well = slots["status"] == 0  # a query that says "not ready" orders nothing

    def where(kind: OperationKind, condition: NDArray[np.bool_] = worked) -> NDArray[np.int64]:
        return np.flatnonzero((kinds == kind) & condition)

    records = where(OperationKind.EVENT_RECORD)
    events = (slots["object"], processes)
    found: list[tuple[EdgeReason, _Pairs]] = [
        (EdgeReason.EVENT, _latest(records, where(OperationKind.STREAM_WAIT_EVENT), events)),
        (EdgeReason.EVENT_HOST, _latest(records, where(OperationKind.EVENT_SYNCHRONIZE), events)),
        (EdgeReason.EVENT_HOST, _latest(records, where(OperationKind.EVENT_QUERY, asked_well), events)),
        (
            EdgeReason.HANDED_ON,
            _latest(where(OperationKind.HOST_RELEASE), where(OperationKind.HOST_ACQUIRE), (slots["object"],)),
        ),
    ]
    waits = np.concatenate([where(OperationKind.STREAM_SYNCHRONIZE), where(OperationKind.STREAM_QUERY, asked_well)])
    found += [(EdgeReason.STREAM_HOST, pairs) for pairs in _ends_of_streams(waits, table)]
    whole = where(OperationKind.CONTEXT_SYNCHRONIZE)
    found += [(EdgeReason.CONTEXT_HOST, pairs) for pairs in _ends_of_all(whole, processes, table)]
    source = np.concatenate([pairs[0] for _, pairs in found])
    target = np.concatenate([pairs[1] for _, pairs in found])
    reason = np.concatenate([np.full(len(pairs[0]), int(each), np.uint8) for each, pairs in found])
    between = table.of_operation[source] != table.of_operation[target]
    order = np.flatnonzero(between)[np.lexsort((source[between], target[between]))]
    return Edges(source[order].astype(np.uint32), target[order].astype(np.uint32), reason[order])


def _latest(sources: NDArray[np.int64], targets: NDArray[np.int64], keys: tuple[NDArray[np.integer], ...]) -> _Pairs:
    """Return each target with the latest source before it that has the same keys; without one it is left out."""
    rows = np.concatenate([sources, targets])
    is_target = np.arange(len(rows)) >= len(sources)
    order = np.lexsort((rows, *(key[rows] for key in keys)))
    rows, is_target = rows[order], is_target[order]
    starts = np.ones(len(rows), np.bool_)
    for key in keys:
        starts[1:] &= np.diff(key[rows]) == 0
    if len(rows):
        starts = ~starts
        starts[0] = True
    group = np.maximum.accumulate(np.where(starts, np.arange(len(rows)), 0))
    latest = np.maximum.accumulate(np.where(is_target, -1, np.arange(len(rows))))
    fits = is_target & (latest >= group)
    return rows[latest[fits]], rows[fits]


def _ends_of_streams(waits: NDArray[np.int64], table: LaneTable) -> list[_Pairs]:
    """Return for waits for one stream the last operation of it before each."""
    found = []
    for lane in set(table.asked[waits].tolist()) - {-1}:
        own = np.sort(waits[table.asked[waits] == lane])
        found.append(_last_before(np.flatnonzero(table.of_operation == lane), own))
    return found


def _ends_of_all(waits: NDArray[np.int64], processes: NDArray[np.int64], table: LaneTable) -> list[_Pairs]:
    """Return for waits for everything the last operation of each stream that has had any since the wait before."""
    found: list[_Pairs] = []
    if not len(waits):
        return found
    order = np.argsort(table.of_operation, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(table.of_operation[order])) + 1)
    for rows in parts:
        if table.lanes[int(table.of_operation[rows[0]])].kind.value not in ("stream", "queue"):
            continue
        own = waits[processes[waits] == processes[rows[0]]]
        sources, targets = _last_before(rows, own)
        fresh = np.ones(len(sources), np.bool_)
        fresh[1:] = np.diff(sources) != 0
        found.append((sources[fresh], targets[fresh]))
    return found


def _last_before(rows: NDArray[np.int64], waits: NDArray[np.int64]) -> _Pairs:
    at = np.searchsorted(rows, waits) - 1
    return rows[at[at >= 0]], waits[at >= 0]
