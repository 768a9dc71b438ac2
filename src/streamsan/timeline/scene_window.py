"""Which operations a scene has: those that the finding names, and what lies around and between them on their lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.timeline.drawn_edges import EdgeReason
from streamsan.timeline.timeline import Timeline
from streamsan.vocabulary import MemoryKind
from streamsan.vocabulary import OperationKind as K

MOST_DRAWN = 26
"""operations of a scene: more do not fit on a screen"""
AROUND = 2
"""operations before and behind those that the finding turns on, on each of their lanes"""
FAR_AROUND = 400
"""operations of the trace that are looked at for them, each way"""

MOST_FURTHER_LANES = 2
"""lanes that only have the other end of a wait"""

_DULL = frozenset(
    kind.name.lower()
    for kind in (
        K.THREAD_START,
        K.MAIN_BEGIN,
        K.MAIN_END,
        K.PROCESS_EXIT,
        K.CALL,
        K.NOT_UNDERSTOOD,
        K.MALFORMED_CALL,
        K.HOST_RELEASE,
        K.HOST_ACQUIRE,
        K.HOST_CLOCK,
        K.CONTEXT_CREATE,
        K.CONTEXT_CURRENT,
        K.STREAM_CREATE,
        K.STREAM_DESTROY,
        K.STREAM_QUERY,
        K.EVENT_CREATE,
        K.EVENT_DESTROY,
        K.EVENT_QUERY,
        K.EVENT_ELAPSED,
        K.HANDLE_USE,
        K.HANDLE_CREATE,
        K.HANDLE_DESTROY,
        K.POINTER_LOST,
        K.ALLOC_ATTRIBUTE,
        K.BLOCK_STREAM,
        K.CAPTURE_BEGIN,
        K.CAPTURE_END,
        K.GRAPH_INSTANTIATE,
        K.GRAPH_UPDATE,
        K.GRAPH_NODE,
        K.GRAPH_NODE_UPDATE,
        K.GRAPH_CLONE,
        K.GRAPH_TRIM,
    )
)
"""kinds that are drawn only where the finding names them"""
_HOST_MEMORY = (MemoryKind.HOST_HEAP, MemoryKind.HOST_STACK, MemoryKind.HOST_STATIC, MemoryKind.DEVICE_SYMBOL)


class Window(Struct, frozen=True):
    """The operations of a scene by their index in the timeline, ascending."""

    operations: tuple[int, ...]


def window_of(timeline: Timeline, named: Sequence[int], centre: Sequence[int], worth: NDArray[np.bool_]) -> Window:
    """Return the window around the operations that a finding names (indices in the timeline, at least one).

    `centre`: those of them that it turns on, whose neighbours are drawn as well where they are `worth_drawing`.
    """
    named = sorted(set(named))
    first, last = named[0], named[-1]
    lanes = sorted({int(timeline.lane[each]) for each in named} | {int(timeline.issuer[each]) for each in named})
    low, high = max(0, first - FAR_AROUND), min(timeline.operations, last + FAR_AROUND + 1)
    chosen = set(named)
    between = _waits_between(timeline, named, set(lanes))
    for operation in between:
        if len(chosen) < MOST_DRAWN:
            chosen.add(operation)
    shown = low + np.flatnonzero(worth[low:high])
    # What is nearest comes first, in turns, until the picture is full.
    near_lanes = sorted({int(timeline.lane[each]) for each in centre} | {int(timeline.issuer[each]) for each in centre})
    for distance in range(AROUND):
        for lane in near_lanes:
            rows = shown[timeline.lane[shown] == lane]
            for each in centre:
                for near in _neighbours(rows, each, distance):
                    if len(chosen) < MOST_DRAWN and first - FAR_AROUND <= near:
                        chosen.add(near)
    return Window(tuple(sorted(chosen)))


def worth_drawing(timeline: Timeline) -> NDArray[np.bool_]:
    """Return by operation whether it is drawn around a finding: what worked, and matters to memory or order."""
    kinds = np.array([call.kind not in _DULL for call in timeline.calls], np.bool_)
    worth: NDArray[np.bool_] = kinds[timeline.call] & (timeline.status <= 0)
    hosts = np.isin(timeline.memory.kind, _HOST_MEMORY)
    ends = timeline.memory.end[hosts]
    worth[timeline.memory.begin[hosts]] = False
    worth[ends[ends >= 0]] = False
    return worth


def _neighbours(rows: NDArray[np.int64], operation: int, distance: int) -> list[int]:
    at, behind = np.searchsorted(rows, [operation, operation + 1])
    found = []
    if at - 1 - distance >= 0:
        found.append(int(rows[at - 1 - distance]))
    if behind + distance < len(rows):
        found.append(int(rows[behind + distance]))
    return found


def _waits_between(timeline: Timeline, named: Sequence[int], lanes: set[int]) -> list[int]:
    """Return both ends of the waits of these lanes, among and shortly before the operations, the latest first.

    A wait for an event has its record with it, wherever that is, for few further lanes.
    """
    edges = timeline.edges
    begin = int(np.searchsorted(edges.target, max(0, named[0] - FAR_AROUND)))
    end = int(np.searchsorted(edges.target, named[-1] + 1))
    found: list[int] = []
    others: set[int] = set()
    for number in range(end - 1, begin - 1, -1):
        source, target = int(edges.source[number]), int(edges.target[number])
        lane = int(timeline.lane[source])
        if int(timeline.lane[target]) not in lanes or source < named[0] - FAR_AROUND:
            continue
        asked = int(edges.reason[number]) in (EdgeReason.EVENT, EdgeReason.EVENT_HOST) and target >= named[0]
        if lane not in lanes | others:
            if not (asked or target in named) or len(others) >= MOST_FURTHER_LANES:
                continue
            others.add(lane)
        found += [source, target]
        if len(found) >= MOST_DRAWN // 2:
            break
    return found
