"""Which slots of a trace are drawn, and where each of them stands: on a host thread, a stream, or in a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamsan.trace import Trace
from streamsan.trace.layout import SLOT
from streamsan.trace.store import Slots, joined, owners
from streamsan.vocabulary import OperationKind

MOST = 4_000_000
"""operations of a trace that are drawn: the columns of more would not fit into a page"""

ON_STREAM = (
    OperationKind.LAUNCH,
    OperationKind.COPY,
    OperationKind.MEMSET,
    OperationKind.HOST_FUNCTION,
    OperationKind.PREFETCH,
    OperationKind.STREAM_MEMORY_OP,
    OperationKind.GRAPH_LAUNCH,
    OperationKind.ALLOC,
    OperationKind.FREE,
    OperationKind.EVENT_RECORD,
    OperationKind.STREAM_WAIT_EVENT,
    OperationKind.QUEUE_MARKER,
)
"""kinds that stand on the stream that their slot names; without one on the host thread"""
ASKS_STREAM = (OperationKind.STREAM_SYNCHRONIZE, OperationKind.STREAM_QUERY, OperationKind.STREAM_DESTROY)
"""kinds of the host that name a stream"""
IN_GRAPH = (OperationKind.GRAPH_NODE,)
"""kinds whose `stream` is the executable graph that they are in"""
TOLD_LATER = (
    OperationKind.GRAPH_EDGE,
    OperationKind.LAUNCH_ACCESSES,
    OperationKind.NODE_ACCESSES,
    OperationKind.DEVICE_TIME,
)
"""kinds that say more of other operations, and are none of their own"""


def shown_slots(trace: Trace) -> tuple[Slots, int, Slots]:
    """Return the slots that are drawn, how many are left out behind them, and all DEVICE_TIMEs.

    The drawn ones are in the order of their issue. Raises TraceError where a slot of a file is damaged.
    """
    parts: list[Slots] = []
    times: list[Slots] = []
    kept = left_out = 0
    for chunk in trace.chunks():
        told = chunk["kind"] == OperationKind.DEVICE_TIME
        if told.any():
            times.append(chunk[told])
        shown = chunk[owners(chunk) & ~np.isin(chunk["kind"], TOLD_LATER)]
        room = MOST - kept
        left_out += max(0, len(shown) - room)
        if room > 0 and len(shown):
            parts.append(shown[:room])
            kept += len(parts[-1])
    none = np.zeros(0, SLOT)
    return (joined(parts) if parts else none), left_out, (joined(times) if times else none)


def on_stream(slots: Slots) -> NDArray[np.bool_]:
    """Return which operations stand on a stream."""
    result: NDArray[np.bool_] = (slots["stream"] != 0) & np.isin(slots["kind"], ON_STREAM)
    return result
