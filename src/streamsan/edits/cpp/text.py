"""The bytes of a source file, edited at lines and columns: whatever an edit does not touch keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from streamsan.cuda_syntax.source_code import decode
from streamsan.findings.finding import Edit

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Range:
    """[line:column, end_line:end_column) of a file, counting from 1."""

    line: int
    column: int
    end_line: int
    end_column: int


class EditError(Exception):
    """Edits that cannot be made: they overlap, or lie outside the text."""


class SourceBytes:
    """A file's bytes under the lines and columns that the syntax tree uses."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        begin = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
        ends = list(_LINE_END.finditer(data))
        self._starts = [begin, *(match.end() for match in ends)]
        self._stops = [*(match.start() for match in ends), len(data)]
        self._endings = [match[0] for match in ends]
        self.lines = decode(data)[0].split("\n")
        """the text of each line, without its end"""

    def offset(self, line: int, column: int) -> int:
        """Return the offset of the byte at a line and column. Raises EditError where there is none."""
        if not 1 <= line <= len(self._starts):
            raise EditError(f"no line {line}")
        start, stop = self._starts[line - 1], self._stops[line - 1]
        raw = self.data[start:stop]
        if not 1 <= column <= len(self.lines[line - 1]) + 1:
            raise EditError(f"no column {column} in line {line}")
        if raw.isascii():
            return start + column - 1
        # Bytes that are no UTF-8 count as characters, too: the place is where so many have been read.
        low = column - 1
        while low <= len(raw):
            before = raw[:low].decode("utf-8", errors="replace")
            if len(before) == column - 1 and _is_cut(raw, low):
                return start + low
            low += 1
        raise EditError(f"no column {column} in line {line}")

    def ending(self, line: int) -> bytes:
        """Return how a line ends; the last one as the one before it."""
        if not self._endings:
            return b"\n"
        return self._endings[min(line, len(self._endings)) - 1]

    def slice(self, part: Range) -> str:
        """Return the text of a range, its lines joined by newlines."""
        if part.line == part.end_line:
            return self.lines[part.line - 1][part.column - 1 : part.end_column - 1]
        middle = self.lines[part.line : part.end_line - 1]
        first, last = self.lines[part.line - 1][part.column - 1 :], self.lines[part.end_line - 1][: part.end_column - 1]
        return "\n".join([first, *middle, last])

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return the bytes with edits made; several at one place are made in their order.

        Raises EditError where they overlap.
        """
        parts: list[bytes] = []
        last = 0
        placed = [
            (self.offset(edit.line, edit.column), self.offset(edit.end_line, edit.end_column), edit) for edit in edits
        ]
        for begin, end, edit in sorted(placed, key=lambda each: (each[0], each[1])):
            if begin < last or end < begin:
                raise EditError(f"edits overlap at line {edit.line}")
            # What could not be decoded never reaches an edit's text: it is refused where the edit is made.
            text = edit.text.encode("utf-8").replace(b"\n", self.ending(edit.line))
            parts += [self.data[last:begin], text]
            last = end
        return b"".join([*parts, self.data[last:]])


def _is_cut(raw: bytes, offset: int) -> bool:
    """Tell whether a character may begin at an offset: it does not continue one of UTF-8."""
    return offset >= len(raw) or raw[offset] & 0xC0 != 0x80


def at(line: int, column: int) -> Range:
    """Return the empty range at a place."""
    return Range(line, column, line, column)
