"""Reads .sst files. The input is untrusted: every place, length and id is checked before it is used."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from streamsan.trace.check import TableSizes
from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import DENSE_FROM, END, MOST_LANES, SegmentType
from streamsan.trace.header import read_header
from streamsan.trace.lane import Lane
from streamsan.trace.merge import FileSlots
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.segments import Segment, Segments, find_segments
from streamsan.trace.side_tables import SideTables
from streamsan.trace.trace import Trace


def read(path: str | os.PathLike[str]) -> Trace:
    """Open a trace file. The side tables are read now, the operations when `chunks()` asks for them.

    Raises TraceError when it is no readable trace; `Trace.chunks` raises it for damaged slots. A file whose writer was
    cut off gives what was committed, `complete` False and one line in `problems`.
    """
    file = RandomAccessFile(os.fspath(path))
    start, metadata = read_header(file)
    segments = find_segments(file, start)
    tables = SideTables(file, segments.found, metadata)
    lanes = _lanes(file, segments)
    platform, origin = _word(file.path, tables.metadata, "platform"), _word(file.path, tables.metadata, "origin")
    slots = FileSlots(
        file.path,
        lanes,
        TableSizes(len(tables.threads), len(tables.apis), len(tables.sites)),
        _promised(file, segments.found[-1], sum(lane.slots for lane in lanes)) if segments.ended else None,
    )
    problems: list[str] = []
    if not segments.ended:
        problems.append(_cut_off(segments, slots, tables.metadata))
    elif segments.trailing:
        problems.append(f"{segments.trailing} bytes after the end mark were left out")
    return Trace(
        file.path,
        slots,
        threads=tables.threads,
        apis=tables.apis,
        sites=tables.sites,
        platform=platform,
        origin=origin,
        complete=segments.ended,
        problems=problems,
        metadata=tables.metadata,
    )


def _word(path: str, metadata: dict[str, Any], key: str) -> str:
    value = metadata.pop(key, None)
    if not isinstance(value, str) or not value.isidentifier() or len(value) > 64:
        raise TraceError(path, f"damaged: its metadata names no {key}")
    return value


def _lanes(file: RandomAccessFile, segments: Segments) -> list[Lane]:
    """Return the lanes that have whole operations."""
    lanes: dict[int, Lane] = {}
    for segment in segments.found:
        if segment.type == SegmentType.OPERATIONS:
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


def _cut_off(segments: Segments, slots: FileSlots, metadata: dict[str, Any]) -> str:
    """Bring a cut-off file to a prefix of what was done, and return the line that says so."""
    line = f"the writer was cut off: {segments.reason}; what was committed before is here"
    dense_from = metadata.get(DENSE_FROM)
    # With the promise even one lane is no proof: the others may be what was cut off.
    if isinstance(dense_from, int) and 0 < dense_from < 1 << 63:
        missing = slots.cut_at_gap(dense_from)
        if missing is not None:
            line += f", up to operation {missing}, which is missing"
    return line
