"""Tables for DuckDB, pandas or Spark: a folder with a Parquet file for each. docs/exports.md lists the columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streamsan.exports.exported_run import ExportedRun
from streamsan.findings.finding import Finding
from streamsan.timeline.drawn_edges import REASON_WORDS
from streamsan.timeline.memory_bars import NOT_FREED
from streamsan.timeline.timeline import Timeline
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.vocabulary import MemoryKind

PLACE, SUFFIX = "folder", ".parquet"

Columns = dict[str, pa.Array]


def export(runs: Sequence[ExportedRun], place: str) -> None:
    """Write the tables of all runs into a folder, which is made. Raises OSError."""
    os.makedirs(place, exist_ok=True)
    for name, columns_of in TABLES.items():
        path = os.path.join(place, f"{name}.parquet")
        writer = None
        try:
            for run in runs:
                columns = columns_of(run)
                rows = len(next(iter(columns.values())))
                table = pa.table({"trace": _same(run.timeline.title, rows), **columns})
                writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


def _traces(run: ExportedRun) -> Columns:
    timeline = run.timeline
    return {
        "platform": _words([timeline.platform]),
        "origin": _words([timeline.origin]),
        "operations": pa.array([timeline.operations], pa.uint64()),
        "left_out": pa.array([timeline.left_out], pa.uint64()),
        "began_ns": pa.array([timeline.began or None], pa.uint64()),
        "notes": _words(["; ".join(timeline.notes)]),
    }


def _lanes(run: ExportedRun) -> Columns:
    lanes = run.timeline.lanes
    return {
        "lane": pa.array(range(len(lanes)), pa.uint16()),
        "kind": _words([lane.kind.value for lane in lanes]),
        "name": _words([lane.name for lane in lanes]),
        "process": pa.array([lane.process for lane in lanes], pa.uint32()),
        "rank": pa.array([None if lane.rank < 0 else lane.rank for lane in lanes], pa.uint32()),
    }


def _operations(run: ExportedRun) -> Columns:
    timeline = run.timeline
    lanes, calls = timeline.lanes, timeline.calls
    untimed = np.full(timeline.operations, not timeline.timed)
    lines = _lines(timeline)
    return {
        "sequence": pa.array(timeline.sequence),
        "lane": pa.array(timeline.lane),
        "lane_name": _of(timeline.lane, [lane.name for lane in lanes]),
        "issued_by": _of(timeline.issuer, [lane.name for lane in lanes]),
        "kind": _of(timeline.call, [call.kind for call in calls]),
        "name": _of(timeline.call, [call.name for call in calls]),
        "api": _of(timeline.call, [call.api for call in calls]),
        "file": _of(timeline.call, [call.file for call in calls]),
        "line": pa.array(lines, mask=lines == 0),
        "function": _of(timeline.call, [call.function for call in calls]),
        "time_ns": pa.array(timeline.time, mask=untimed),
        "duration_ns": pa.array(timeline.duration, mask=timeline.duration == 0),
        "ran_at_ns": pa.array(timeline.ran_at, mask=timeline.ran_for == 0),
        "ran_for_ns": pa.array(timeline.ran_for, mask=timeline.ran_for == 0),
        "status": pa.array(timeline.status, mask=timeline.status == STATUS_UNKNOWN),
    }


def _memory(run: ExportedRun) -> Columns:
    timeline, bars = run.timeline, run.timeline.memory
    open_ended = bars.end == NOT_FREED
    ends = np.where(open_ended, 0, bars.end)
    untimed = np.full(len(bars.begin), not timeline.timed)
    lines = _lines(timeline)[bars.begin]
    calls = timeline.calls
    return {
        "allocated": pa.array(timeline.sequence[bars.begin]),
        "freed": pa.array(timeline.sequence[ends], mask=open_ended),
        "allocated_ns": pa.array(timeline.time[bars.begin], mask=untimed),
        "freed_ns": pa.array(timeline.time[ends], mask=untimed | open_ended),
        "size": pa.array(bars.size, mask=bars.size == 0),
        "kind": _words([MemoryKind(kind).name.lower() for kind in bars.kind.tolist()]),
        "pool": _of(bars.pool, bars.pools),
        "address": pa.array(bars.address),
        "file": _of(timeline.call[bars.begin], [call.file for call in calls]),
        "line": pa.array(lines, mask=lines == 0),
    }


def _edges(run: ExportedRun) -> Columns:
    timeline, edges = run.timeline, run.timeline.edges
    reasons = [REASON_WORDS[each] for each in sorted(REASON_WORDS)]
    return {
        "before": pa.array(timeline.sequence[edges.source]),
        "after": pa.array(timeline.sequence[edges.target]),
        "reason": _of(edges.reason, reasons),
    }


def _waits(run: ExportedRun) -> Columns:
    timeline = run.timeline
    calls = [timeline.calls[wait.call] for wait in timeline.waits]
    return {
        "file": _words([call.file for call in calls]),
        "line": pa.array([call.line or None for call in calls], pa.uint32()),
        "api": _words([call.api for call in calls]),
        "count": pa.array([wait.count for wait in timeline.waits], pa.uint64()),
        "duration_ns": pa.array([wait.nanoseconds or None for wait in timeline.waits], pa.uint64()),
        "adds_order": pa.array([wait.adds_order for wait in timeline.waits], pa.bool_()),
    }


def _findings(run: ExportedRun) -> Columns:
    found: Sequence[Finding] = run.findings
    return {
        "code": _words([each.code for each in found]),
        "severity": _words([each.severity.value for each in found]),
        "confidence": _words([each.confidence.value for each in found]),
        "file": _words([each.location.file for each in found]),
        "line": pa.array([each.location.line or None for each in found], pa.uint32()),
        "function": _words([each.location.function for each in found]),
        "message": _words([each.message for each in found]),
        "fix": _words([each.fix.summary if each.fix is not None else "" for each in found]),
    }


TABLES: dict[str, Callable[[ExportedRun], Columns]] = {
    "traces": _traces,
    "lanes": _lanes,
    "operations": _operations,
    "memory": _memory,
    "edges": _edges,
    "waits": _waits,
    "findings": _findings,
}
"""the tables by name; each has the column `trace` before its own"""


def _lines(timeline: Timeline) -> NDArray[np.uint32]:
    """Return by operation its line, 0 where it is not known."""
    lines = np.array([max(0, call.line) for call in timeline.calls] or [0], np.uint32)
    result: NDArray[np.uint32] = lines[timeline.call]
    return result


def _of(numbers: NDArray[np.integer], words: Iterable[str]) -> pa.Array:
    """Return a column of words by their numbers, without a copy of any word."""
    given = list(words)
    # Of equal words Parquet wants one entry.
    place = {word: number for number, word in enumerate(dict.fromkeys(given))}
    translated = np.array([place[word] for word in given] or [0], np.int32)
    return pa.DictionaryArray.from_arrays(translated[numbers], pa.array(place, pa.string()))


def _words(words: Sequence[str]) -> pa.Array:
    return pa.array(words, pa.string()).dictionary_encode()


def _same(word: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array([word], pa.string()))
