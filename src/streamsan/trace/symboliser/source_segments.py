"""Writes the lines that call sites name into a trace, so that a report elsewhere quotes them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from streamsan.trace.file_layout import MOST_SOURCE_LINE, MOST_SOURCE_LINES, SegmentType
from streamsan.trace.own_code import is_own_source
from streamsan.trace.side_tables import SideTables
from streamsan.trace.source_line_records import packed_source_lines
from streamsan.trace.source_lines import LONGEST_LINE
from streamsan.trace.symboliser.finished_file import FinishedFile

AROUND = 2
"""lines stored before and behind one that a call site names: a suppression stands there"""
MOST_LINES = 1 << 14
"""lines that are stored in one file"""
LARGEST_FILE = 8 << 20
SUFFIXES = frozenset(
    {".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".py", ".pyw", ".pyx"}
)
"""of files that are sources; nothing of another file is ever stored"""
assert MOST_LINES <= MOST_SOURCE_LINES

LineSource = Callable[[str], list[str] | None]


class SourceFiles:
    """The lines of source files on this machine; each is read once."""

    def __init__(self, unchanged_since: float) -> None:
        """`unchanged_since`: seconds since 1970. A file that was written later is not what was compiled or loaded."""
        self._since = unchanged_since
        self._files: dict[str, list[str] | None] = {}

    def __call__(self, file: str) -> list[str] | None:
        """Return the lines of a file, None when it is no source, not there, or was changed."""
        if file not in self._files:
            self._files[file] = None
            with suppress(OSError, ValueError):
                self._files[file] = self._read(file)
        return self._files[file]

    def _read(self, file: str) -> list[str] | None:
        # A link may lead to what is no source, whatever its own name says.
        if {Path(file).suffix.lower(), Path(os.path.realpath(file)).suffix.lower()} - SUFFIXES:
            return None
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mtime > self._since or status.st_size > LARGEST_FILE:
                return None
            data = stream.read(LARGEST_FILE)
        if b"\0" in data:
            return None
        return data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def add_source_lines(path: str | os.PathLike[str], source: LineSource) -> int:
    """Add the lines that a trace's call sites name, and those around them, to its file; return how many.

    Only the program's own sources, as `source` has them. A file that has lines already is left as it is, and so is one
    that its process is still writing. Raises TraceError when the file cannot be read, or cannot be written: then it is
    what it was.
    """
    file = FinishedFile(path)
    if file.tables.source_line_count or not file.takes_more:
        return 0
    rows = list(_lines(file.tables, source))
    if rows:
        ids = file.string_ids([text for name, _, words in rows for text in (name, words)])
        numbers = [number for _, number, _ in rows]
        records = packed_source_lines(zip(ids[::2], numbers, ids[1::2], strict=True))
        file.append(SegmentType.SOURCE_LINES, 0, records)
    return len(rows)


def _lines(tables: SideTables, source: LineSource) -> Iterator[tuple[str, int, str]]:
    """Yield file, number and text of the lines to store, at most MOST_LINES."""
    wanted: dict[str, set[int]] = {}
    for file, line in _places(tables):
        wanted.setdefault(file, set()).update(range(max(1, line - AROUND), line + AROUND + 1))
    left = MOST_LINES
    for file, numbers in wanted.items():
        lines = source(file)
        if lines is None:
            continue
        for number in sorted(numbers):
            if number > min(len(lines), MOST_SOURCE_LINE):
                break
            if not left:
                return
            left -= 1
            yield file, number, lines[number - 1][:LONGEST_LINE]


def _places(tables: SideTables) -> dict[tuple[str, int], None]:
    """Return file and line of the call sites and of the native frames that lie in the program's own sources."""
    places: dict[tuple[str, int], None] = {}
    for file, line in tables.sites.lines():
        if is_own_source(file):
            places[file, line] = None
    for frames in tables.symbols.values():
        for frame in frames:
            if frame.line and is_own_source(frame.file):
                places[frame.file, frame.line] = None
    return places
