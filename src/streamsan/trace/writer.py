"""Writes .sst files: whole traces, or slots as they come."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import (
    API,
    COMMIT_OFFSET,
    DENSE_FROM,
    END,
    MOST_LANES,
    MOST_SOURCE_LINE,
    MOST_SOURCE_LINES,
    SEGMENT_SLOTS,
    SITE,
    SYMBOL,
    THREAD,
    SegmentFlag,
    SegmentType,
    aligned,
)
from streamsan.trace.header import packed_header
from streamsan.trace.launch_shapes import LaunchShape, packed_launch_shape
from streamsan.trace.layout import SLOT
from streamsan.trace.modules import Module, packed_module
from streamsan.trace.private_file import make_private_file
from streamsan.trace.segments import HEADER_SIZE, packed_commit, packed_segment
from streamsan.trace.side_tables import packed_string
from streamsan.trace.site import Site
from streamsan.trace.slot_check import DamagedSlots, TableSizes, checked
from streamsan.trace.source_line_records import packed_source_lines
from streamsan.trace.source_lines import SourceLines
from streamsan.trace.store import Slots, uncut_parts
from streamsan.trace.symbols import Address, Frame
from streamsan.trace.table_limits import MOST_LAUNCH_SHAPES, MOST_MODULES
from streamsan.trace.trace import Thread, Trace
from streamsan.vocabulary.version import VERSION

HEADER_APIS = 4096
"""API names that go into the header; further ones go into segments."""
TABLE_SEGMENT = 1 << 20
"""Payload bytes after which a side table goes on in a new segment."""

SHAPES_OF_SEGMENT = 1 << 12
"""Launch shapes after which their table goes on in a new segment."""


class TraceWriter:
    """Writes a trace as it comes. What was given is committed, and survives a kill, when the call returns.

    The file appears under its name with its header complete, replacing one that was there; `close` (or leaving the
    `with` block without an exception) writes the end mark. Without it readers say that the writer was cut off.
    Guards against a killed process, not against a machine that loses power: nothing waits for the disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        platform: str = "cuda",
        origin: str = "synthetic",
        apis: Sequence[str] = ("",),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin a file. `apis` are the API names known from the start, index 0 being "". Raises TraceError."""
        self.path = os.fspath(path)
        if not apis or apis[0] or len(apis) > MOST_LANES:
            raise ValueError('the table of API names begins with "" and has at most 65536 names')
        self._api_count = len(apis[:HEADER_APIS])
        self._thread_count = 0
        self._string_ids: dict[str, int] = {"": 0}
        self._site_count = self._module_count = self._shape_count = 1
        self._symbol_count = self._source_line_count = 0
        self._lane_ends: dict[int, int] = {}
        self._operations = self._slots = 0
        self._descriptor = -1
        header = packed_header(
            {
                "tool": f"streamsan {VERSION}",
                **(metadata or {}),
                "platform": platform,
                "origin": origin,
                "apis": list(apis[:HEADER_APIS]),
            }
        )
        self._begin(header)
        self._end = len(header)
        self.add_apis(apis[HEADER_APIS:])

    def add_threads(self, threads: Iterable[Thread]) -> None:
        """Add host threads after those already there."""
        threads = list(threads)
        names = self._strings([thread.name for thread in threads])
        records = np.zeros(len(threads), THREAD)
        for record, thread, name in zip(records, threads, names, strict=True):
            record["process"], record["name"] = thread.process, name
        if self._thread_count + len(threads) > MOST_LANES:
            raise ValueError(f"a trace has at most {MOST_LANES} threads")
        self._table(SegmentType.THREADS, records, self._thread_count)
        self._thread_count += len(threads)

    def add_apis(self, names: Iterable[str]) -> None:
        """Add API names after those already there."""
        ids = self._strings(list(names))
        if self._api_count + len(ids) > MOST_LANES:
            raise ValueError(f"a trace has at most {MOST_LANES} API names")
        self._table(SegmentType.APIS, np.array([(number,) for number in ids], API), self._api_count)
        self._api_count += len(ids)

    def add_modules(self, modules: Iterable[Module]) -> None:
        """Add modules; the first one ever added has id 1."""
        modules = list(modules)
        if self._module_count + len(modules) > MOST_MODULES:
            raise ValueError(f"a trace has at most {MOST_MODULES} modules")
        if modules:
            payload = b"".join(map(packed_module, modules))
            self._segment(SegmentType.MODULES, payload, first=self._module_count)
            self._module_count += len(modules)

    def add_symbols(self, symbols: Mapping[Address, Sequence[Frame]]) -> None:
        """Add what is at addresses of modules that were added before; frames innermost first."""
        rows = [(address, frame) for address, frames in symbols.items() for frame in frames]
        if any(not 0 < module < self._module_count for (module, _), _ in rows):
            raise ValueError("symbols of a module that was not added")
        texts = [text for _, frame in rows for text in (frame.file, frame.function)]
        records = packed_symbols(rows, self._strings(texts))
        self._table(SegmentType.SYMBOLS, records, self._symbol_count)
        self._symbol_count += len(records)

    def add_source_lines(self, lines: SourceLines) -> None:
        """Add lines of sources; files are named as sites name them."""
        rows = [(file, line, text) for file, numbered in lines.items() for line, text in numbered.items()]
        if self._source_line_count + len(rows) > MOST_SOURCE_LINES:
            raise ValueError(f"a trace has at most {MOST_SOURCE_LINES} source lines")
        if not all(1 <= line <= MOST_SOURCE_LINE for _, line, _ in rows):
            raise ValueError(f"source lines are numbered from 1 to {MOST_SOURCE_LINE}")
        ids = self._strings([name for file, _, text in rows for name in (file, text)])
        numbers = [line for _, line, _ in rows]
        records = packed_source_lines(zip(ids[::2], numbers, ids[1::2], strict=True))
        self._table(SegmentType.SOURCE_LINES, records, self._source_line_count)
        self._source_line_count += len(records)

    def add_launch_shapes(self, shapes: Iterable[LaunchShape]) -> None:
        """Add what kernels were launched with; the first one ever added has id 1."""
        shapes = list(shapes)
        if self._shape_count + len(shapes) > MOST_LAUNCH_SHAPES + 1:
            raise ValueError(f"a trace has at most {MOST_LAUNCH_SHAPES} launch shapes")
        ids = self._strings([text for shape in shapes for text in (shape.symbol, " ".join(shape.code))])
        records = [packed_launch_shape(*each) for each in zip(shapes, ids[::2], ids[1::2], strict=True)]
        for start in range(0, len(records), SHAPES_OF_SEGMENT):
            part = records[start : start + SHAPES_OF_SEGMENT]
            self._segment(SegmentType.LAUNCH_SHAPES, b"".join(part), first=self._shape_count)
            self._shape_count += len(part)

    def add_sites(self, sites: Iterable[Site]) -> None:
        """Add call sites; the first one ever added has id 1. Callers and modules must have been added before."""
        sites = list(sites)
        texts = [text for site in sites for text in (site.file, site.function, site.text, site.label)]
        ids = np.array(self._strings(texts), np.uint32).reshape(-1, 4)
        records = np.zeros(len(sites), SITE)
        for index, site in enumerate(sites):
            if not 0 <= site.caller < self._site_count + index:
                raise ValueError(f"the caller of a site must be an id given before: {site.caller}")
            if not 0 <= site.module < self._module_count:
                raise ValueError(f"the module of a site must be an id given before: {site.module}")
            numbers = (site.line, site.column, site.end_line, site.end_column, site.caller, site.module)
            fields = (number if 0 <= number < 1 << 32 else 0 for number in numbers)
            records[index] = (*ids[index], *fields, site.offset if 0 <= site.offset < 1 << 64 else 0, b"")
        self._table(SegmentType.SITES, records, self._site_count)
        self._site_count += len(sites)

    def append_slots(self, slots: Slots, lane: int = 0, *, snapshot: bool = False) -> None:
        """Append whole operations (dtype SLOT, with their continuation slots) to a lane and commit them.

        Sequences must increase within the lane; threads, APIs and sites must have been added before. `snapshot`: they
        restate what was alive when this file was begun. Raises ValueError when the slots are none that a reader takes.
        """
        if slots.dtype != SLOT or slots.ndim != 1:
            raise ValueError(f"slots must be a one-dimensional array of dtype SLOT, not {slots.dtype} of {slots.ndim}")
        if not 0 <= lane < 1 << 32 or (lane not in self._lane_ends and len(self._lane_ends) == MOST_LANES):
            raise ValueError(f"not a lane: {lane}")
        tables = TableSizes(self._thread_count, self._api_count, self._site_count)
        for part in map(np.ascontiguousarray, uncut_parts(slots, SEGMENT_SLOTS)):
            try:
                result = checked(part, self._lane_ends.get(lane, 0), tables)
            except DamagedSlots as error:
                raise ValueError(str(error)) from None
            if result.missing:
                raise ValueError("an operation without its continuation slots")
            flags = SegmentFlag.SNAPSHOT if snapshot else 0
            first = int(result.sequences[0])
            self._segment(SegmentType.OPERATIONS, part.tobytes(), first=first, lane=lane, flags=flags)
            self._lane_ends[lane] = int(result.sequences[-1])
            self._operations += len(result.sequences)
            self._slots += len(part)

    def close(self) -> None:
        """Write the end mark and close the file."""
        if self._descriptor < 0:
            return
        end = np.zeros(1, END)
        end["operations"], end["slots"] = self._operations, self._slots
        self._segment(SegmentType.END, end.tobytes())
        self.abandon()

    def abandon(self) -> None:
        """Close the file as it is, without an end mark."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _begin(self, header: bytes) -> None:
        """Make the file under another name and move it to its own, so that nobody sees half a header."""
        temporary = _another_name(self.path)
        try:
            self._descriptor = make_private_file(temporary)
            self._write(header, 0)
            os.replace(temporary, self.path)
        except OSError as error:
            if self._descriptor >= 0:
                os.unlink(temporary)
            self.abandon()
            raise TraceError(self.path, f"cannot be written: {error.strerror}") from None

    def _write(self, data: bytes, offset: int) -> None:
        view = memoryview(data)
        while view:
            count = os.pwrite(self._descriptor, view, offset)
            view, offset = view[count:], offset + count

    def _segment(self, kind: SegmentType, payload: bytes, *, first: int = 0, lane: int = 0, flags: int = 0) -> None:
        """Append a segment: its header, its payload, and only then the commit mark."""
        if self._descriptor < 0:
            raise ValueError("the trace is closed")
        capacity = aligned(len(payload))
        header = packed_segment(kind, lane=lane, offset=self._end, capacity=capacity, first=first, flags=flags)
        try:
            self._write(header, self._end)
            self._write(payload.ljust(capacity, b"\0"), self._end + HEADER_SIZE)
            self._write(packed_commit(len(payload)), self._end + COMMIT_OFFSET)
        except OSError as error:
            raise TraceError(self.path, f"cannot be written: {error.strerror}") from None
        self._end += HEADER_SIZE + capacity

    def _table(self, kind: SegmentType, records: np.ndarray[Any, Any], first: int) -> None:
        step = TABLE_SEGMENT // records.itemsize
        for start in range(0, len(records), step):
            self._segment(kind, records[start : start + step].tobytes(), first=first + start)

    def _strings(self, texts: Sequence[str]) -> list[int]:
        """Return the ids of strings; those that are new are written first."""
        first = len(self._string_ids)
        payload = bytearray()
        for text in texts:
            if text not in self._string_ids:
                if len(payload) > TABLE_SEGMENT:
                    self._segment(SegmentType.STRINGS, bytes(payload), first=first)
                    payload, first = bytearray(), len(self._string_ids)
                self._string_ids[text] = len(self._string_ids)
                payload += packed_string(text)
        if payload:
            self._segment(SegmentType.STRINGS, bytes(payload), first=first)
        return [self._string_ids[text] for text in texts]


def packed_symbols(rows: Sequence[tuple[Address, Frame]], texts: Sequence[int]) -> NDArray[np.void]:
    """Return SYMBOL records; `texts` are the string ids of each row's file and function, in turn."""
    records = np.zeros(len(rows), SYMBOL)
    for index, ((module, offset), frame) in enumerate(rows):
        line, column = (number if 0 <= number < 1 << 32 else 0 for number in (frame.line, frame.column))
        records[index] = (module, texts[2 * index], texts[2 * index + 1], line, offset, column, 0)
    return records


def _another_name(path: str) -> str:
    """Return a name beside `path` that nobody else uses. Raises TraceError when `path` is no place for a file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise TraceError(path, "cannot be written: not a regular file")
    except OSError:
        pass  # it is not there yet; where its folder is not either, opening says so
    return f"{path}.{os.urandom(4).hex()}.partial"


def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a whole trace to a file, in one lane; it appears under its name when complete. Raises TraceError."""
    path = os.fspath(path)
    temporary = _another_name(path)
    metadata = {"source": trace.path, **trace.metadata}
    # One lane in global order is a prefix wherever it is cut; the promise is for files with several.
    metadata.pop(DENSE_FROM, None)
    try:
        with TraceWriter(
            temporary, platform=trace.platform, origin=trace.origin, apis=trace.apis, metadata=metadata
        ) as writer:
            writer.add_threads(trace.threads)
            writer.add_modules(trace.modules[1:])
            writer.add_sites(trace.sites[1:])
            writer.add_symbols(trace.symbols)
            writer.add_source_lines(trace.source_lines)
            writer.add_launch_shapes(trace.launch_shapes[1:])
            for chunk in trace.chunks():
                writer.append_slots(chunk)
            if not trace.complete:
                writer.abandon()  # no end mark: the copy is no more complete than the trace
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, TraceError) and error.path == temporary:
            raise TraceError(path, error.reason) from None
        if isinstance(error, OSError):
            raise TraceError(path, f"cannot be written: {error.strerror}") from None
        raise
