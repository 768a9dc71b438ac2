"""Writes what is at the native frames of a recording into its file, so that it can be checked on any machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import END, MOST_STRINGS, SYMBOL, SegmentType, aligned
from streamsan.trace.header import read_header
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.segments import HEADER_SIZE, Segments, find_segments, packed_commit, packed_segment
from streamsan.trace.side_tables import SideTables, packed_string
from streamsan.trace.stacks import FrameSource
from streamsan.trace.symbols import Address, Frame
from streamsan.trace.writer import TABLE_SEGMENT, packed_symbols

ZEROS_AT_ONCE = 1 << 20


def add_symbols(path: str | os.PathLike[str], source: FrameSource | None = None) -> int:
    """Add the source lines of a recording's native frames to its file; return of how many addresses.

    What the file says already is not asked again. A file whose process is still writing it is left as it is, and so is
    one with no room behind its last segment. `source` is asked, by default the modules on this machine. Raises
    TraceError when the file cannot be read, or cannot be written: then it is what it was.
    """
    file = RandomAccessFile(os.fspath(path))
    start, metadata = read_header(file)
    segments = find_segments(file, start)
    if not segments.ended and (_is_running(metadata) or not _has_room(file, segments)):
        return 0
    tables = SideTables(file, segments.found, metadata)
    missing = [address for address in tables.sites.addresses() if address not in tables.symbols]
    if not missing:
        return 0
    source = source or _modules_of_this_machine(metadata)
    found = {
        (module, offset): frames for module, offset in missing if (frames := source(tables.modules[module], offset))
    }
    if found:
        end = file.read(segments.found[-1].payload, END.itemsize) if segments.ended else None
        _append(file, segments, _packed(tables, found, segments.end, end), retire=segments.ended)
    return len(found)


def _modules_of_this_machine(metadata: Mapping[str, Any]) -> FrameSource:
    # Late: most runs of the command need no reader of debug information.
    from streamsan.trace.symboliser.module_files import Symboliser

    return Symboliser(began(metadata))


def began(metadata: Mapping[str, Any]) -> float | None:
    """Return when a recording began, in seconds since 1970; None when its metadata does not say."""
    origin = metadata.get("clock_origin")
    return origin / 1e9 if isinstance(origin, int) and origin > 0 else None


def _is_running(metadata: Mapping[str, Any]) -> bool:
    """Tell whether the process of a file that has no end mark may still be writing it."""
    process = metadata.get("process")
    if not isinstance(process, int) or not 0 < process < 1 << 31:
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


def _packed(tables: SideTables, found: Mapping[Address, Sequence[Frame]], at: int, end: bytes | None) -> list[bytes]:
    """Return the segments to write from byte `at` on: strings, symbols, and the end mark where there was one."""
    ids = tables.strings.ids()
    rows = [(address, frame) for address, frames in found.items() for frame in frames]
    payloads: list[tuple[SegmentType, int, bytes]] = []
    added = bytearray()
    first = count = len(tables.strings)
    for text in (text for _, frame in rows for text in (frame.file, frame.function)):
        if text in ids or count == MOST_STRINGS:
            continue
        if len(added) > TABLE_SEGMENT:
            payloads.append((SegmentType.STRINGS, first, bytes(added)))
            added, first = bytearray(), count
        ids[text] = count
        count += 1
        added += packed_string(text)
    if added:
        payloads.append((SegmentType.STRINGS, first, bytes(added)))
    texts = [ids.get(text, 0) for _, frame in rows for text in (frame.file, frame.function)]
    records = packed_symbols(rows, texts)
    step = TABLE_SEGMENT // SYMBOL.itemsize
    first = tables.symbols.count
    for begin in range(0, len(records), step):
        payloads.append((SegmentType.SYMBOLS, first + begin, records[begin : begin + step].tobytes()))
    if end is not None:
        payloads.append((SegmentType.END, 0, end))
    segments: list[bytes] = []
    for kind, number, payload in payloads:
        capacity = aligned(len(payload))
        header = packed_segment(kind, lane=0, offset=at, capacity=capacity, first=number)
        segments.append(header[:-8] + packed_commit(len(payload)) + payload.ljust(capacity, b"\0"))
        at += HEADER_SIZE + capacity
    return segments


def _append(file: RandomAccessFile, segments: Segments, added: Sequence[bytes], *, retire: bool) -> None:
    """Write segments behind the last one. What makes readers see them is written last, in one write."""
    content = b"".join(added)
    try:
        # No link, and no pipe that has taken its place meanwhile.
        descriptor = os.open(file.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise TraceError(file.path, f"cannot be written: {error.strerror}") from None
    try:
        try:
            if retire:
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


def _write(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count
