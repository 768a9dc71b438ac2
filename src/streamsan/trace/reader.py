"""Reads .sst files. The input is untrusted: every place, length and id is checked before it is used."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from msgspec import Struct

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import DENSE_FROM, END, MOST_LANES, SegmentFlag, SegmentType
from streamsan.trace.header import read_header
from streamsan.trace.lane import Lane
from streamsan.trace.merge import FileSlots
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.ranks import ranks_by_process
from streamsan.trace.segments import Segment, Segments, find_segments
from streamsan.trace.side_tables import SideTables
from streamsan.trace.slot_check import TableSizes
from streamsan.trace.trace import BEGINS_LATE, PARTIAL, Trace
from streamsan.vocabulary.rank_words import ranks_in_words

LONGEST_REASON = 200
BEGINS_AT = "begins_at"
"""member of a trace's metadata: number of the first operation that does not restate one of a part that is lost"""


class OpenFile(Struct):
    """A trace file whose side tables were read and checked, and whose slots were not."""

    file: RandomAccessFile
    platform: str
    origin: str
    segments: Segments
    tables: SideTables
    lanes: list[Lane]
    promised: int | None
    """operations that the end mark counts; None without one, or where not all slots are read"""
    problems: list[str]
    """what limits the trace, one line each; without what a missing end mark means"""

    @property
    def sizes(self) -> TableSizes:
        """The sizes of the tables that slots refer to."""
        return TableSizes(len(self.tables.threads), len(self.tables.apis), len(self.tables.sites))

    @property
    def first_sequence(self) -> int:
        """The sequence of the first operation, 0 when there is none."""
        return min((lane.sequence_at(0) for lane in self.lanes), default=0)


def read(path: str | os.PathLike[str]) -> Trace:
    """Open a trace file. The side tables are read now, the operations when `chunks()` asks for them.

    Raises TraceError when it is no readable trace; `Trace.chunks` raises it for damaged slots. A file whose writer was
    cut off gives what was committed, `complete` False and one line in `problems`.
    """
    return trace_of(open_file(path))


def trace_of(opened: OpenFile) -> Trace:
    """Return the trace of one opened file."""
    tables, segments = opened.tables, opened.segments
    slots = FileSlots(opened.file.path, opened.lanes, opened.sizes, opened.promised)
    problems = list(opened.problems)
    if not segments.ended:
        problems.append(_of_rank(tables.metadata) + _bring_to_prefix(segments, slots, tables.metadata))
    return Trace(
        opened.file.path,
        slots,
        threads=tables.threads,
        apis=tables.apis,
        sites=tables.sites,
        platform=opened.platform,
        origin=opened.origin,
        complete=segments.ended,
        problems=problems,
        metadata=tables.metadata,
        modules=tables.modules,
        symbols=tables.symbols,
        source_lines=tables.source_lines,
        launch_shapes=tables.launch_shapes,
    )


def open_file(path: str | os.PathLike[str], *, snapshot: bool = True) -> OpenFile:
    """Open a trace file and read its side tables. Raises TraceError.

    Without `snapshot`, operations that restate what an older part of the recording has are passed over.
    """
    file = RandomAccessFile(os.fspath(path))
    start, metadata = read_header(file)
    segments = find_segments(file, start)
    tables = SideTables(file, segments.found, metadata)
    lanes = _lanes(file, segments)
    platform, origin = _word(file.path, tables.metadata, "platform"), _word(file.path, tables.metadata, "origin")
    promised = None
    if segments.ended:
        promised = _promised(file, segments.found[-1], sum(lane.slots for lane in lanes))
    restated = any(map(_is_snapshot, segments.found))
    if restated and not snapshot:
        lanes, promised = _lanes(file, segments, snapshot=False), None
    problems: list[str] = []
    tables.metadata.pop(BEGINS_AT, None)  # what the segments say counts, not what a file claims
    if restated and snapshot:
        begin = min((lane.sequence_at(0) for lane in _lanes(file, segments, snapshot=False)), default=0)
        tables.metadata[BEGINS_AT] = begin
        where = f" at operation {begin}" if begin else ""
        problems.append(f"{BEGINS_LATE}{where}: of what was before, only what was alive then is known")
    stopped = tables.metadata.get("stopped")
    if isinstance(stopped, str) and stopped:
        problems.append(f"recording stopped before the program did: {' '.join(stopped.split())[:LONGEST_REASON]}")
    if segments.trailing:
        problems.append(f"{segments.trailing} bytes after the end mark were left out")
    return OpenFile(file, platform, origin, segments, tables, lanes, promised, problems)


def _word(path: str, metadata: dict[str, Any], key: str) -> str:
    value = metadata.pop(key, None)
    if not isinstance(value, str) or not value.isidentifier() or len(value) > 64:
        raise TraceError(path, f"damaged: its metadata names no {key}")
    return value


def _is_snapshot(segment: Segment) -> bool:
    return segment.type == SegmentType.OPERATIONS and bool(segment.flags & SegmentFlag.SNAPSHOT) and segment.size > 0


def _lanes(file: RandomAccessFile, segments: Segments, *, snapshot: bool = True) -> list[Lane]:
    """Return the lanes that have whole operations."""
    lanes: dict[int, Lane] = {}
    for segment in segments.found:
        if segment.type == SegmentType.OPERATIONS and (snapshot or not _is_snapshot(segment)):
            if segment.lane not in lanes and len(lanes) == MOST_LANES:
                raise TraceError(file.path, f"damaged: more than {MOST_LANES} lanes")
            lanes.setdefault(segment.lane, Lane(file, segment.lane)).add(segment.payload, segment.size)
    if not segments.ended:
        for lane in lanes.values():
            lane.drop_unfinished()
    return [lane for lane in lanes.values() if lane.slots]


def _promised(file: RandomAccessFile, end: Segment, slots: int) -> int:
    """Return how many operations the end mark counts in a file of so many slots."""
    if end.size < END.itemsize:
        raise TraceError(file.path, f"damaged: an end mark of {end.size} bytes")
    mark = np.frombuffer(file.read(end.payload, END.itemsize), END)[0]
    if int(mark["slots"]) != slots or int(mark["operations"]) > slots:
        raise TraceError(file.path, f"damaged: the end mark counts {mark['slots']} slots, the file has {slots}")
    return int(mark["operations"])


def _of_rank(metadata: dict[str, Any]) -> str:
    """Return how a line on a file begins that is one rank's of several."""
    words = ranks_in_words(sorted(ranks_by_process(metadata).values()))
    return f"{words}: " if words else ""


def cut_off(reason: str) -> str:
    """Return the line that says that a file has no end mark."""
    return f"{PARTIAL}: the writer was cut off: {reason}; what was committed before is here"


def _bring_to_prefix(segments: Segments, slots: FileSlots, metadata: dict[str, Any]) -> str:
    """Bring a cut-off file to a prefix of what was done, and return the line that says so."""
    line = cut_off(segments.reason)
    dense_from = metadata.get(DENSE_FROM)
    # With the promise even one lane is no proof: the others may be what was cut off.
    if isinstance(dense_from, int) and 0 < dense_from < 1 << 63:
        missing = slots.cut_at_gap(dense_from)
        if missing is not None:
            line += f", up to operation {missing}, which is missing"
    return line
