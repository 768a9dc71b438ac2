"""Lanes: everything that runs in order is one. Host threads, streams (queues), executable graphs."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.rules.names_in_lines import STREAM, name_in_line
from streamsan.timeline.shown_operations import ASKS_STREAM, IN_GRAPH, on_stream
from streamsan.trace import Trace
from streamsan.trace.host_threads import thread_name
from streamsan.trace.store import Slots
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import OperationKind, StreamKind

LEGACY, PER_THREAD = 1, 2
"""handles of the default streams"""


class LaneKind(StrEnum):
    """What runs in order there."""

    HOST = "host"
    STREAM = "stream"
    QUEUE = "queue"
    """an OpenCL queue"""
    GRAPH = "graph"
    """the nodes of an executable graph, in the order in which they were made"""


class Lane(Struct, frozen=True):
    """One lane."""

    kind: LaneKind
    name: str
    """as findings call it: "host thread `main`", "stream `upload`" """
    process: int
    """index of the process in the trace"""
    rank: int = -1
    """of a job of many processes; -1: it has no number"""


class LaneTable(Struct, frozen=True):
    """The lanes of a trace, and where its operations stand."""

    lanes: tuple[Lane, ...]
    of_operation: NDArray[np.uint16]
    """by operation: its lane"""
    issuer: NDArray[np.uint16]
    """by operation: the lane of the host thread that called"""
    asked: NDArray[np.int32]
    """by operation: the lane of the stream that a call of the host names (a wait for it); -1: none"""


MOST_LANES = 60_000


def lanes_of(trace: Trace, slots: Slots) -> LaneTable:
    """Return the lanes of the drawn operations: host threads first, then streams by their first use, then graphs."""
    streams = _StreamKeys(trace, slots)
    count = len(slots)
    lane_of, asked = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    lanes: list[Lane] = []

    def add(kind: LaneKind, name: str, process: int) -> int:
        if len(lanes) < MOST_LANES:
            lanes.append(Lane(kind, name, process, trace.ranks.get(process, -1)))
        return len(lanes) - 1

    in_graph = np.isin(slots["kind"], IN_GRAPH)
    hosted = ~streams.stands & ~in_graph
    issuer = np.zeros(count, np.int64)
    for thread in np.unique(slots["thread"], return_counts=True)[0].tolist():
        process = trace.threads[thread].process if thread < len(trace.threads) else 0
        issuer[slots["thread"] == thread] = add(LaneKind.HOST, thread_name(trace.threads, thread), process)
    lane_of[hosted] = issuer[hosted]
    kind = LaneKind.QUEUE if trace.platform == "opencl" else LaneKind.STREAM
    for group in streams.groups():
        rows = group.rows[streams.stands[group.rows]]
        asking = group.rows[~streams.stands[group.rows]]
        if not len(rows):
            continue
        number = add(kind, group.name, group.process)
        lane_of[rows] = number
        asked[asking] = number
    graphs = np.flatnonzero(in_graph)
    for number_of_graph, rows in enumerate(_groups(slots["stream"][graphs])):
        process = streams.processes[graphs[rows[0]]]
        lane_of[graphs[rows]] = add(LaneKind.GRAPH, f"executable graph {number_of_graph + 1}", int(process))
    return LaneTable(tuple(lanes), lane_of.astype(np.uint16), issuer.astype(np.uint16), asked.astype(np.int32))


class _Group(Struct, frozen=True):
    rows: NDArray[np.int64]
    """operations that name one stream"""
    name: str
    process: int


class _StreamKeys:
    """Tells streams apart: a handle that is made anew is another stream, a default stream is its context's."""

    def __init__(self, trace: Trace, slots: Slots) -> None:
        self._trace = trace
        self._slots = slots
        process_of = np.array([thread.process for thread in trace.threads] or [0], np.int64)
        self.processes: NDArray[np.int64] = process_of[np.minimum(slots["thread"], len(process_of) - 1)]
        self.stands = on_stream(slots)
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._noun = "queue" if trace.platform == "opencl" else "stream"

    def groups(self) -> list[_Group]:
        """Return the streams, by their first operation."""
        slots = self._slots
        made = slots["kind"] == OperationKind.STREAM_CREATE
        handles = np.where(made, slots["object"], slots["stream"])
        named = np.flatnonzero((self.stands | made | np.isin(slots["kind"], ASKS_STREAM)) & (handles != 0))
        found: list[tuple[int, list[_Group]]] = []
        keys = np.empty(len(named), [("process", "<i8"), ("handle", "<u8")])
        keys["process"], keys["handle"] = self.processes[named], handles[named]
        parts = [named[rows] for rows in _groups(keys)]
        # Streams that have no names are numbered as they become known, as findings do.
        parts.sort(key=lambda rows: int(rows[0]))
        for rows in parts:
            handle = int(handles[rows[0]])
            groups = self._default(rows, handle) if handle <= PER_THREAD else self._made(rows, made[rows])
            found.append((int(rows[0]), groups))
        every = [group for _, groups in found for group in groups]
        return sorted(every, key=lambda group: int(group.rows[0]))

    def _made(self, rows: NDArray[np.int64], made: NDArray[np.bool_]) -> list[_Group]:
        """Return the streams that had one handle, one after the other."""
        generation = np.cumsum(made)
        groups = []
        for part in np.split(rows, np.flatnonzero(np.diff(generation)) + 1):
            first = self._slots[int(part[0])]
            is_made = int(first["kind"]) == OperationKind.STREAM_CREATE
            process = int(self.processes[part[0]])
            name = self._name(first, is_made)
            groups.append(_Group(part[1:] if is_made else part, name, process))
        return [group for group in groups if len(group.rows)]

    def _name(self, first: np.void, is_made: bool) -> str:
        site = int(first["site"]) if is_made else 0
        handle = int(first["object"] if is_made else first["stream"])
        detail = int(first["detail"]) if is_made else 0
        number = self._numbers.setdefault((handle, site, detail), len(self._numbers) + 1)
        place = self._trace.site(site)
        label = place.label
        if not label and self._trace.origin == RECORDING and place.line:
            text = self._trace.source_lines.get(place.file, {}).get(place.line, "")
            label = name_in_line(place.file, text, STREAM, inner=bool(place.caller)) if text else ""
        if label and detail != StreamKind.UNKNOWN:
            return f"{self._noun} `{label}`"
        return f"{self._noun} {number}"

    def _default(self, rows: NDArray[np.int64], handle: int) -> list[_Group]:
        """Return the default streams of one handle: of each context, the per-thread one of each thread too."""
        keys = np.empty(len(rows), [("context", "<u8"), ("thread", "<u4")])
        keys["context"] = self._contexts(rows)
        keys["thread"] = self._slots["thread"][rows] if handle == PER_THREAD else 0
        parts = _groups(keys)
        process = int(self.processes[rows[0]])
        contexts = {int(context): number + 1 for number, context in enumerate(dict.fromkeys(keys["context"].tolist()))}
        groups = []
        for part in parts:
            context, thread = int(keys["context"][part[0]]), int(keys["thread"][part[0]])
            name = f"default {self._noun}"
            if handle == PER_THREAD:
                whose = thread_name(self._trace.threads, thread).replace("host thread ", "")
                name = f"per-thread default {self._noun} of {whose}"
            if len(contexts) > 1:
                first = self._slots[int(rows[part[0]])]
                device = self._trace.current_device(int(first["thread"]), int(first["sequence"]))
                name += f", context {contexts[context]}" if device is None else f" of device {device}"
            groups.append(_Group(rows[part], name, process))
        return groups

    def _contexts(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return which context is current at each of some operations."""
        slots = self._slots
        changes = np.flatnonzero(slots["kind"] == OperationKind.CONTEXT_CURRENT)
        # A thread that chose none has the device's own, as the first one that chose.
        first = changes[self.processes[changes] == self.processes[rows[0]]][:1]
        result = np.full(len(rows), int(slots["object"][first[0]]) if len(first) else 0, np.uint64)
        for thread in np.unique(slots["thread"][rows], return_counts=True)[0].tolist():
            own = changes[slots["thread"][changes] == thread]
            if not len(own):
                continue
            mine = np.flatnonzero(slots["thread"][rows] == thread)
            latest = np.searchsorted(own, rows[mine], side="right") - 1
            result[mine] = np.where(latest < 0, result[mine], slots["object"][own[np.maximum(latest, 0)]])
        return result


def _groups(keys: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return where equal keys are, each group in order, the groups by their first member."""
    if not len(keys):
        return []
    names = keys.dtype.names
    columns = [keys] if names is None else [keys[name] for name in reversed(names)]
    order = np.lexsort(columns)
    changes = np.zeros(len(keys) - 1, np.bool_)
    for column in columns:
        changes |= np.diff(column[order]) != 0
    parts = np.split(order, np.flatnonzero(changes) + 1)
    return sorted(parts, key=lambda part: int(part[0]))
