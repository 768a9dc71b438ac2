"""The times of a recorded run, and how long the run would have taken had its trace been another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.order._engine import Engine
from streamsan.order.engine import begins_at
from streamsan.trace import Trace
from streamsan.trace.device_spans import device_spans
from streamsan.trace.store import Slots, durations, owners
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import OperationKind

BEFORE, CALL, LAUNCH, GAP = 0, 1, 2, 3
"""columns of `OwnTimes`: before a call; of itself; from it to the begin of its work; from its turn to its begin"""
PARTS = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_EDGE)
"""what has no time of its own: it came with the operation before it"""
DEFAULT_LAUNCH, DEFAULT_GAP, DEFAULT_WAIT = 5_000, 1_500, 3_000
"""ns, where a trace shows none: about what an H200 with driver 580 takes"""
LATEST = 1 << 53
"""ns: no run takes so long (104 days); what says later is damaged"""
PATIENCE = (25, 50, 75)
"""percentiles: how long a launch and a gap take that were not seen; the middle one is the prediction"""


WORK = (OperationKind.LAUNCH, OperationKind.COPY, OperationKind.MEMSET, OperationKind.GRAPH_LAUNCH)
RECORDING_TAKES, OF_WORK = 400, 2_500
"""ns that a recording with times adds to each call, and to one whose work on the device is timed, on an H200
(`bench/priced_waits.py`, `bench/recorded_costs.py`): they are left out of both runs"""
RUNS_DIFFER = 20
"""Two runs of one program differ by about one part in so many."""


class Saving(Struct, frozen=True):
    """By how much a run would have been shorter."""

    nanoseconds: int
    spread: int
    """how far off that may be: by launches and gaps that were not seen, by how far the run itself is not matched, and
    as runs differ"""


class MeasuredRun:
    """A trace with times, and what each operation took itself."""

    def __init__(self, trace: Trace) -> None:
        self.trace = EditableTrace(trace)
        slots = self.trace.slots
        device = _device_times(slots)
        rows = np.flatnonzero(owners(slots) & (slots["kind"] != OperationKind.DEVICE_TIME))
        order = np.argsort(slots["sequence"][rows], kind="stable")
        self.rows: NDArray[np.int64] = rows[order]
        """by operation: its row in the trace's slots"""
        own = slots[self.rows]
        self._sequences = np.ascontiguousarray(own["sequence"])
        self._threads = np.ascontiguousarray(own["thread"])
        self._times = _times(own, device)
        fills, engines = _device_parts(self._sequences, device)
        self._fills, self._engines = fills, engines
        self._own = np.zeros((len(self.rows), 4), np.int64)
        self._own[:, (LAUNCH, GAP)] = -1
        self._unbound = np.zeros(len(self.rows), np.uint8)
        self._predicted = np.full((len(self.rows), 4), -1, np.int64)
        self._run(slots, self._own, predicts=False, wait=0)
        self._launches = _percentiles(self._own[:, LAUNCH], DEFAULT_LAUNCH)
        self._gaps = _percentiles(self._own[:, GAP], DEFAULT_GAP)
        waits = np.isin(own["kind"], (OperationKind.STREAM_SYNCHRONIZE, OperationKind.CONTEXT_SYNCHRONIZE))
        self._wait = int(np.median(self._own[waits, CALL])) if waits.any() else DEFAULT_WAIT
        self._mismatch = abs(self._predict(slots, (), 0, PATIENCE.index(50)) - self.recorded)
        takes = np.where(np.isin(own["kind"], WORK), OF_WORK, np.where(own["api"] != 0, RECORDING_TAKES, 0))
        self._leave_out(takes)
        self._launches = _percentiles(self._own[:, LAUNCH], DEFAULT_LAUNCH)
        self._unchanged = self._predict(slots, (), 0, PATIENCE.index(50))

    def _leave_out(self, takes: NDArray[np.int64]) -> None:
        """Leave out what recording added to each call: it is part of what comes before the same thread's next one."""
        for thread in np.unique(self._threads, return_counts=True)[0]:
            rows = np.flatnonzero(self._threads == thread)
            self._own[rows[1:], BEFORE] = np.maximum(self._own[rows[1:], BEFORE] - takes[rows[:-1]], 0)
        # Half of it comes before the work is handed over.
        launch = self._own[:, LAUNCH]
        launch[launch >= 0] = np.maximum(launch[launch >= 0] - OF_WORK // 2, 0)

    @property
    def recorded(self) -> int:
        """How long the run took, ns, from its first call to the end of its last call or work."""
        return _length(self._times)

    def waited(self, rows: Sequence[int]) -> int:
        """Return how long the calls at these rows of the trace took in all, ns."""
        at = self._of_rows(rows)
        return int((self._times[at, 1] - self._times[at, 0]).sum())

    def saving(self, slots: Slots, cheap: Sequence[int] = (), cost: int = 0) -> Saving:
        """Return how much shorter the run would have been with these slots; below 0: longer.

        The calls at the rows `cheap` take `cost` ns at most.
        """
        takes = [self._predict(slots, cheap, cost, which) for which in range(len(PATIENCE))]
        likely = self._unchanged - takes[1]
        unsure = max(abs(takes[1] - takes[0]), abs(takes[2] - takes[1]))
        return Saving(likely, unsure + self._mismatch + abs(likely) // RUNS_DIFFER)

    def _of_rows(self, rows: Sequence[int]) -> NDArray[np.int64]:
        sequences = self.trace.slots["sequence"][np.asarray(rows, np.int64)]
        found: NDArray[np.int64] = np.searchsorted(self._sequences, sequences)
        return found

    def _predict(self, slots: Slots, cheap: Sequence[int], cost: int, which: int) -> int:
        own = self._own.copy()
        own[own[:, LAUNCH] < 0, LAUNCH] = self._launches[which]
        own[own[:, GAP] < 0, GAP] = self._gaps[which]
        if len(cheap):
            at = self._of_rows(cheap)
            own[at, CALL] = np.minimum(own[at, CALL], cost)
        self._predicted.fill(-1)
        self._run(slots, own, predicts=True, wait=self._wait)
        return _length(self._predicted)

    def _run(self, slots: Slots, own: NDArray[np.int64], *, predicts: bool, wait: int) -> None:
        trace = self.trace.trace
        engine = Engine(
            [thread.process for thread in trace.threads], False, [], [], trace.origin == RECORDING, begins_at(trace)
        )
        engine.retime(
            predicts,
            self._sequences,
            self._threads,
            self._times,
            own,
            self._unbound,
            self._fills,
            self._engines,
            self._predicted,
            wait,
        )
        engine.feed(np.ascontiguousarray(slots).view(np.uint8))
        engine.finish()


def _length(times: NDArray[np.int64]) -> int:
    """Return the time from the first call to the end of the last call or work."""
    known = times[times[:, 0] >= 0]
    return int(known[:, (1, 3)].max() - known[:, 0].min()) if len(known) else 0


def _device_times(slots: Slots) -> Slots:
    """Return the DEVICE_TIMEs of a trace that can be."""
    told: Slots = slots[slots["kind"] == OperationKind.DEVICE_TIME]
    return told[(told["time"] < LATEST) & (told["size"] < LATEST)]


def _times(slots: Slots, device: Slots) -> NDArray[np.int64]:
    """Return when each call was entered and left, and its work begun and ended; -1 where that is not known."""
    times = np.full((len(slots), 4), -1, np.int64)
    entered = slots["time"].astype(np.int64)
    unknown = (slots["time"] == 0) | (slots["time"] >= LATEST) | np.isin(slots["kind"], PARTS)
    times[:, 0] = np.where(unknown, -1, entered)
    times[:, 1] = np.where(unknown, -1, entered + durations(slots).astype(np.int64))
    for thread in np.unique(slots["thread"], return_counts=True)[0]:
        rows = np.flatnonzero(slots["thread"] == thread)
        _fill(times, rows)
    worked, begun, ended = device_spans(slots["sequence"], device)
    times[worked, 2], times[worked, 3] = begun.astype(np.int64), ended.astype(np.int64)
    return times


def _fill(times: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Give the calls of one thread whose times are not known that of the call before them."""
    entered = times[rows, 0]
    latest = np.maximum.accumulate(np.where(entered >= 0, np.arange(len(rows)), -1))
    missing = (entered < 0) & (latest >= 0)
    times[rows[missing], 0] = times[rows[missing], 1] = times[rows[latest[missing]], 1]
    first = np.flatnonzero(entered >= 0)
    ahead = rows[: int(first[0])] if len(first) else rows
    times[ahead, 0] = times[ahead, 1] = times[rows[int(first[0])], 0] if len(first) else 0


def _device_parts(sequences: NDArray[np.uint64], device: Slots) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return how much of the device each operation's work can fill, and which engine does it."""
    fills, engines = np.zeros(len(sequences), np.uint16), np.zeros(len(sequences), np.uint8)
    if len(device):
        at = np.minimum(np.searchsorted(sequences, device["object"]), max(0, len(sequences) - 1))
        known = sequences[at] == device["object"]
        fills[at[known]] = np.minimum(device["address"][known], 1000)
        engines[at[known]] = device["detail"][known]
    return fills, engines


def _percentiles(values: NDArray[np.int64], default: int) -> list[int]:
    seen = values[values >= 0]
    if not len(seen):
        return [default] * len(PATIENCE)
    return [int(value) for value in np.percentile(seen, PATIENCE)]
