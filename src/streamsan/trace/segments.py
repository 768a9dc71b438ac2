"""Finds the segments of an .sst file and how much of each was committed."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import (
    ALIGNMENT,
    COMMIT_GUARD,
    MOST_SEGMENTS,
    SEGMENT_HEADER,
    SEGMENT_MAGIC,
    SegmentType,
)
from streamsan.trace.random_access import RandomAccessFile

HEADER_SIZE = SEGMENT_HEADER.itemsize


class Segment(Struct, frozen=True):
    """The committed part of one segment."""

    type: int
    lane: int
    first: int
    payload: int
    """where in the file the payload begins"""
    size: int
    """its committed bytes that the file really has"""
    cut: bool
    """the file ends before the committed bytes do"""
    flags: int = 0


class Segments(Struct):
    """All segments of a file, and what is wrong with their chain."""

    found: list[Segment] = field(default_factory=list)
    ended: bool = False
    """an end mark was there: the writer closed the file"""
    trailing: int = 0
    """bytes after the end mark"""
    reason: str = ""
    """why the chain stopped, where there is no end mark"""
    end: int = 0
    """where the chain stopped: behind the last segment's capacity, whether or not the file goes so far"""


def packed_segment(type_: SegmentType, *, lane: int, offset: int, capacity: int, first: int, flags: int = 0) -> bytes:
    """Return the header of a new segment, with nothing committed."""
    header = np.zeros(1, SEGMENT_HEADER)
    header["magic"] = SEGMENT_MAGIC
    header["type"] = type_
    header["flags"] = flags
    header["lane"] = lane
    header["offset"] = offset
    header["capacity"] = capacity
    header["first"] = first
    return header.tobytes()


def packed_commit(size: int) -> bytes:
    """Return the commit mark for `size` bytes: one aligned word, so that no reader sees half of it."""
    return (COMMIT_GUARD << 48 | size).to_bytes(8, "little")


def find_segments(file: RandomAccessFile, start: int) -> Segments:
    """Walk the chain of segment headers from `start` to the end mark, or to where the writer was cut off.

    A chain that ends early is a cut-off writer. Headers that contradict themselves are damage: TraceError.
    """
    segments = Segments()
    offset = start
    while True:
        segments.end = offset
        left = file.size - offset
        if left < HEADER_SIZE:
            segments.reason = f"the file ends at byte {file.size} without an end mark"
            return segments
        raw = file.read(offset, HEADER_SIZE)
        if not any(raw):
            # Space that a recorder reserved and never used.
            segments.reason = f"nothing was written from byte {offset} on"
            return segments
        if len(segments.found) == MOST_SEGMENTS:
            raise TraceError(file.path, f"damaged: more than {MOST_SEGMENTS} segments")
        segment, capacity = segment_at(file, raw, offset)
        segments.found.append(segment)
        offset += HEADER_SIZE + capacity
        if segment.type == SegmentType.END and not segment.cut and segment.size:
            segments.ended = True
            segments.end = offset
            segments.trailing = max(0, file.size - offset)
            return segments
        if segment.cut:
            segments.reason = f"the file ends at byte {file.size} inside a segment"
            return segments


def segment_at(file: RandomAccessFile, raw: bytes, offset: int) -> tuple[Segment, int]:
    """Return the segment whose header is at `offset`, and its capacity."""
    header = np.frombuffer(raw, SEGMENT_HEADER)[0]
    if raw[:8] != SEGMENT_MAGIC:
        raise TraceError(file.path, f"damaged: no segment begins at byte {offset}")
    if int(header["offset"]) != offset:
        raise TraceError(
            file.path, f"damaged: segments overlap: the one at byte {offset} says it is at byte {header['offset']}"
        )
    capacity, commit = int(header["capacity"]), int(header["commit"])
    if capacity % ALIGNMENT or capacity >> 48:
        raise TraceError(file.path, f"damaged: the segment at byte {offset} has a capacity of {capacity} bytes")
    committed = commit & (1 << 48) - 1
    if commit and commit >> 48 != COMMIT_GUARD:
        raise TraceError(file.path, f"damaged: the segment at byte {offset} has no valid commit mark")
    if committed > capacity:
        raise TraceError(
            file.path, f"damaged: the segment at byte {offset} says it holds {committed} bytes of {capacity}"
        )
    payload = offset + HEADER_SIZE
    size = min(committed, file.size - payload)
    segment = Segment(
        type=int(header["type"]),
        lane=int(header["lane"]),
        first=int(header["first"]),
        payload=payload,
        size=size,
        cut=size < committed,
        flags=int(header["flags"]),
    )
    return segment, capacity
