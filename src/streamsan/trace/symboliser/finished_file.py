"""A trace whose writer has ended, to which tables are added that are worked out afterwards."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import END, MOST_STRINGS, SegmentType, aligned
from streamsan.trace.header import read_header
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.segments import HEADER_SIZE, Segments, find_segments, packed_commit, packed_segment
from streamsan.trace.side_tables import SideTables, packed_string
from streamsan.trace.writer import TABLE_SEGMENT

ZEROS_AT_ONCE = 1 << 20


class FinishedFile:
    """Reads the side tables of a file and appends to them. Raises TraceError when it cannot be read or written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = RandomAccessFile(os.fspath(path))
        start, self.metadata = read_header(self._file)
        self._segments = find_segments(self._file, start)
        self.tables = SideTables(self._file, self._segments.found, self.metadata)
        self._string_ids: dict[str, int] | None = None
        self._new_strings: list[str] = []

    @property
    def takes_more(self) -> bool:
        """Whether nobody writes the file any more, and there is room behind its last segment."""
        ended = self._segments.ended
        return ended or not (_is_running(self.metadata) or not _has_room(self._file, self._segments))

    def string_ids(self, texts: Sequence[str]) -> list[int]:
        """Return the ids of strings, 0 for those that have no place; new ones are written with the next `append`."""
        if self._string_ids is None:
            self._string_ids = self.tables.strings.ids()
        first = len(self.tables.strings)
        for text in texts:
            if text not in self._string_ids and first + len(self._new_strings) < MOST_STRINGS:
                self._string_ids[text] = first + len(self._new_strings)
                self._new_strings.append(text)
        return [self._string_ids.get(text, 0) for text in texts]

    def append(self, kind: SegmentType, first: int, records: NDArray[np.void]) -> None:
        """Write the new strings, then records of a table whose next id is `first`. To be called once.

        A file that cannot be written is what it was.
        """
        payloads = self._strings()
        step = TABLE_SEGMENT // records.itemsize
        for begin in range(0, len(records), step):
            payloads.append((kind, first + begin, records[begin : begin + step].tobytes()))
        if self._segments.ended:
            payloads.append((SegmentType.END, 0, self._file.read(self._segments.found[-1].payload, END.itemsize)))
        self._write(_packed(payloads, self._segments.end))

    def _strings(self) -> list[tuple[SegmentType, int, bytes]]:
        payloads: list[tuple[SegmentType, int, bytes]] = []
        added = bytearray()
        first = len(self.tables.strings)
        for number, text in enumerate(self._new_strings, first):
            if len(added) > TABLE_SEGMENT:
                payloads.append((SegmentType.STRINGS, first, bytes(added)))
                added, first = bytearray(), number
            added += packed_string(text)
        if added:
            payloads.append((SegmentType.STRINGS, first, bytes(added)))
        return payloads

    def _write(self, content: bytes) -> None:
        """Write segments behind the last one. What makes readers see them is written last, in one write."""
        file, segments = self._file, self._segments
        try:
            # No link, and no pipe that has taken its place meanwhile.
            descriptor = os.open(file.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise TraceError(file.path, f"cannot be written: {error.strerror}") from None
        try:
            try:
                if segments.ended:
                    # The old end mark hides what is behind it, until it is one no more.
                    _write(descriptor, content, segments.end)
                    os.ftruncate(descriptor, segments.end + len(content))  # nobody reads what was behind the end mark
                    space = int(SegmentType.SPACE).to_bytes(8, "little")  # its type, no flags, no lane
                    _write(descriptor, space, segments.found[-1].payload - HEADER_SIZE + 8)
                else:
                    # A header of zeros ends the chain of segments, until it is one.
                    _write(descriptor, content[HEADER_SIZE:], segments.end + HEADER_SIZE)
                    _write(descriptor, content[:HEADER_SIZE], segments.end)
            except OSError as error:
                os.ftruncate(descriptor, file.size)
                raise TraceError(file.path, f"cannot be written: {error.strerror}") from None
        finally:
            os.close(descriptor)


def _is_running(metadata: Mapping[str, Any]) -> bool:
    """Tell whether the process of a file that has no end mark may still be writing it."""
    process = metadata.get("process")
    # A process that reads its own recording reads a copy of it (streamsan.sections).
    if not isinstance(process, int) or not 0 < process < 1 << 31 or process == os.getpid():
        return False
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The state stands behind the name, which may hold brackets. One that nobody waited for writes no more.
            return file.read().rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])
    except OSError:
        return False


def _has_room(file: RandomAccessFile, segments: Segments) -> bool:
    """Tell whether behind the last segment there is nothing, or space that was reserved and never used."""
    if segments.found and segments.found[-1].cut:
        return False
    at = segments.end
    while at < file.size:
        size = min(ZEROS_AT_ONCE, file.size - at)
        if any(file.read(at, size)):
            return False
        at += size
    return True


def _packed(payloads: Sequence[tuple[SegmentType, int, bytes]], at: int) -> bytes:
    """Return whole segments, as they are from byte `at` on."""
    content = bytearray()
    for kind, number, payload in payloads:
        capacity = aligned(len(payload))
        header = packed_segment(kind, lane=0, offset=at + len(content), capacity=capacity, first=number)
        content += header[:-8] + packed_commit(len(payload)) + payload.ljust(capacity, b"\0")
    return bytes(content)


def _write(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count
