"""The timeline of one trace: columns with a number for each operation, and the tables that the numbers stand for."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from streamsan.timeline.calls_drawn import Call, calls_of
from streamsan.timeline.drawn_edges import Edges, edges_of
from streamsan.timeline.lanes import Lane, lanes_of
from streamsan.timeline.memory_bars import MemoryBars, bars_of
from streamsan.timeline.shown_operations import shown_slots
from streamsan.timeline.wait_sites import WaitSite, wait_sites
from streamsan.trace import Trace
from streamsan.trace.device_spans import device_spans
from streamsan.trace.store import Slots, durations


class Timeline(Struct, frozen=True):
    """A run as it is drawn. Operations are numbered from 0 in the order of their issue.

    An operation's place is its number. Where the trace knows times (`timed`), it is also [time, time + duration).
    """

    title: str
    """the trace's file, or the source it came from"""
    platform: str
    origin: str
    lanes: tuple[Lane, ...]
    calls: tuple[Call, ...]
    sequence: NDArray[np.uint64]
    """by operation: its number in the trace, ascending"""
    lane: NDArray[np.uint16]
    """by operation: where it stands, index in `lanes`"""
    issuer: NDArray[np.uint16]
    """by operation: the host thread that called, index in `lanes`"""
    call: NDArray[np.uint32]
    """by operation: what it is, index in `calls`"""
    time: NDArray[np.uint64]
    """by operation: when its call was entered, ns since the first; all 0 where the trace has no times"""
    duration: NDArray[np.uint64]
    """by operation: how long the call took, ns; 0: not known"""
    ran_at: NDArray[np.uint64]
    """by operation: when the device began its work, ns since the first call"""
    ran_for: NDArray[np.uint64]
    """by operation: how long that took, ns; 0: not known"""
    status: NDArray[np.int16]
    """by operation: what the call returned; 0: success, -32768: not known"""
    memory: MemoryBars
    edges: Edges
    waits: tuple[WaitSite, ...]
    """waits by call site"""
    left_out: int = 0
    """operations behind the last one that is drawn"""
    notes: tuple[str, ...] = field(default=())
    """what the picture does not show, one line each"""
    began: int = 0
    """when time 0 was, ns since the Unix epoch; 0: not known"""

    @property
    def operations(self) -> int:
        """How many operations there are."""
        return len(self.sequence)

    @property
    def knows_device(self) -> bool:
        """Whether it is known when the device did some of the work."""
        return bool(self.ran_for.any())

    @property
    def timed(self) -> bool:
        """Whether operations have times."""
        return bool(self.time.any())

    def index_of(self, sequence: int) -> int:
        """Return the index of an operation by its number in the trace; -1: it is not drawn."""
        at = int(np.searchsorted(self.sequence, np.uint64(sequence)))
        return at if at < len(self.sequence) and int(self.sequence[at]) == sequence else -1


def timeline_of(trace: Trace, needed_waits: Collection[tuple[int, int]] | None = None) -> Timeline:
    """Read a trace and return its timeline. Linear in its operations, about 60 bytes of memory for each.

    `needed_waits`: site and API of each wait that brought something (`Analysis.needed_waits`); None: nobody knows.
    Raises TraceError where a slot of a file is damaged.
    """
    slots, left_out, told = shown_slots(trace)
    table = lanes_of(trace, slots)
    calls, call = calls_of(trace, slots)
    process_of = np.array([thread.process for thread in trace.threads] or [0], np.int64)
    processes: NDArray[np.int64] = process_of[np.minimum(slots["thread"], len(process_of) - 1)]
    duration = durations(slots)
    time = _times(slots)
    ran_at, ran_for = _ran(slots, told)
    memory = bars_of(slots, processes, calls, call)
    notes = []
    if left_out:
        notes.append(f"the {left_out:,} operations behind these are not drawn")
    if not trace.complete:
        notes.append("the trace was cut off: what came after it is not known")
    return Timeline(
        title=trace.path,
        platform=trace.platform,
        origin=trace.origin,
        lanes=table.lanes,
        calls=calls,
        sequence=slots["sequence"].copy(),
        lane=table.of_operation,
        issuer=table.issuer,
        call=call,
        time=time,
        duration=duration,
        ran_at=ran_at,
        ran_for=ran_for,
        status=slots["status"].copy(),
        memory=memory,
        edges=edges_of(slots, processes, table),
        waits=wait_sites(slots, calls, call, duration, needed_waits),
        left_out=left_out,
        notes=tuple(notes),
        began=_began(trace, slots),
    )


def _began(trace: Trace, slots: Slots) -> int:
    """Return the first known moment, ns since the Unix epoch; 0 where the trace does not know."""
    first = _first(slots)
    return trace.clock + first if trace.clock > 0 and first else 0


def _ran(slots: Slots, told: Slots) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return by operation when the device began its work, after the first known moment, and how long it took."""
    ran_at, ran_for = np.zeros(len(slots), np.uint64), np.zeros(len(slots), np.uint64)
    rows, begun, ended = device_spans(slots["sequence"], told)
    first = np.uint64(_first(slots))
    sound = (begun >= first) & (ended > begun)
    ran_at[rows[sound]] = begun[sound] - first
    ran_for[rows[sound]] = ended[sound] - begun[sound]
    return ran_at, ran_for


def _first(slots: Slots) -> int:
    """Return the first known moment by the trace's clock; 0 where it has none."""
    known = slots["time"][slots["time"] != 0]
    return int(known.min()) if len(known) else 0


def _times(slots: Slots) -> NDArray[np.uint64]:
    """Return when calls were entered, from the first known moment on.

    An operation is numbered when its call returns, or when it is entered: times are not sorted. One without a time
    (nothing but bookkeeping of a recorder) has that of the one before it.
    """
    times = slots["time"]
    known = times != 0
    if not known.any():
        return np.zeros(len(times), np.uint64)
    latest = np.maximum.accumulate(np.where(known, np.arange(len(times)), 0))
    filled = np.where(known[latest], times[latest], times[known][0])
    result: NDArray[np.uint64] = filled - times[known].min()
    return result
