"""Places of a text, as reports count them and as the protocol does.

A report counts lines and characters from 1. The protocol counts both from 0, and characters in the code units of the
encoding that client and server agreed on: UTF-16 where the client knows no other.
"""

from __future__ import annotations

import re

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec

from streamsan.findings.finding import Edit, Location

# Only these end a line, for the protocol and for the reader of sources: `str.splitlines` knows form feeds, too.
_NEWLINE = re.compile(r"\r\n|\r|\n")


class TextPositions:
    """The lines of a text."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.lines = _NEWLINE.split(text)
        self._codec = codec

    def position(self, line: int, column: int) -> Position:
        """Return the position of a line and column, the nearest one where the text has no such place."""
        if line > len(self.lines):
            return self.position(len(self.lines), len(self.lines[-1]) + 1)
        before = self.lines[max(line, 1) - 1][: max(column, 1) - 1]
        return Position(max(line, 1) - 1, self._codec.client_num_units(before))

    def has(self, line: int, column: int) -> bool:
        """Tell whether the text has such a line and column; the last column is behind the line."""
        return 1 <= line <= len(self.lines) and 1 <= column <= len(self.lines[line - 1]) + 1

    def range_of_line(self, line: int) -> Range:
        """Return the words of a line, without the space around them."""
        text = self.lines[line - 1] if 1 <= line <= len(self.lines) else ""
        first = len(text) - len(text.lstrip()) + 1
        return Range(self.position(line, first), self.position(line, max(len(text.rstrip()) + 1, first)))

    def range_of(self, location: Location) -> Range:
        """Return a location's range: to the end of the line where its end is not known, the line without a column."""
        whole = self.range_of_line(location.line)
        if not location.column:
            return whole
        start = self.position(location.line, location.column)
        if location.end_column and location.end_line >= location.line:
            return Range(start, self.position(location.end_line, location.end_column))
        return Range(start, max(start, whole.end))

    def range_of_edit(self, edit: Edit) -> Range | None:
        """Return what an edit replaces; None where the text has no such place."""
        if not (self.has(edit.line, edit.column) and self.has(edit.end_line, edit.end_column)):
            return None
        return Range(self.position(edit.line, edit.column), self.position(edit.end_line, edit.end_column))


def newline_of(text: str) -> str:
    """Return what ends the first line of a text, `\\n` where it has one line only."""
    found = _NEWLINE.search(text)
    return found.group() if found else "\n"


def same_lines(first: str, second: str | None) -> bool:
    """Tell whether two texts have the same lines, whatever ends them: a file that is read has its newlines alike."""
    return second is not None and _NEWLINE.split(first) == _NEWLINE.split(second)
