"""The bytes of a file, edited at lines and columns: whatever an edit does not touch keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from streamsan.cuda_syntax.file_content import decode
from streamsan.findings.finding import Edit

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")


class EditError(Exception):
    """A text that cannot be edited, or an edit that cannot be made. `str()` is the reason in one line."""


class SourceText:
    """A file's bytes under lines and columns, which count characters from 1."""

    def __init__(self, data: bytes, text: str | None = None, encoding: str = "utf-8") -> None:
        """`text`: what the bytes say, its lines ended by newlines; without it what the reader of C++ makes of them."""
        self.data = data
        self._encoding = encoding
        begin = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        ends = list(_LINE_END.finditer(data))
        self._starts = [begin, *(match.end() for match in ends)]
        self._stops = [*(match.start() for match in ends), len(data)]
        self._endings = [match[0] for match in ends] or [b"\n"]
        self.lines = (decode(data)[0] if text is None else text).split("\n")
        """the text of each line, without its end"""

    def offset(self, line: int, column: int) -> int:
        """Return the offset of the byte at a line and column. Raises EditError where there is none."""
        if line == len(self.lines) + 1 and column == 1:
            return len(self.data)
        if not 1 <= line <= len(self.lines) or not 1 <= column <= len(self.lines[line - 1]) + 1:
            raise EditError(f"no place {line}:{column}")
        start = self._starts[line - 1]
        raw = self.data[start : self._stops[line - 1]]
        before = self.lines[line - 1][: column - 1].encode(self._encoding, "replace")
        if raw.startswith(before):
            return start + len(before)
        # Bytes that are no UTF-8 count as characters, too: the place is where so many have been read.
        for low in range(column - 1, len(raw) + 1):
            is_cut = low < len(raw) and raw[low] & 0xC0 == 0x80
            if not is_cut and len(raw[:low].decode(errors="replace")) == column - 1:
                return start + low
        raise EditError(f"no place {line}:{column}")

    def ending(self, line: int) -> bytes:
        """Return how a line ends; the last one as the one before it."""
        return self._endings[min(line, len(self._endings)) - 1]

    def slice(self, line: int, column: int, end: int, stop: int) -> str:
        """Return the text of a range, its lines joined by newlines."""
        lines = self.lines[line - 1 : end]
        lines[-1] = lines[-1][: stop - 1]
        lines[0] = lines[0][column - 1 :]
        return "\n".join(lines)

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return the bytes with edits made; several at one place are made in their order.

        Raises EditError where they overlap, or have characters that the file's encoding lacks.
        """
        parts: list[bytes] = []
        last = 0
        placed = [(self.offset(e.line, e.column), self.offset(e.end_line, e.end_column), e) for e in edits]
        for begin, end, edit in sorted(placed, key=lambda each: each[:2]):
            if begin < last or end < begin:
                raise EditError(f"edits overlap at line {edit.line}")
            try:
                # What could not be decoded never reaches an edit's text: it is refused where the edit is made.
                text = edit.text.encode(self._encoding).replace(b"\n", self.ending(edit.line))
            except UnicodeError as error:
                raise EditError("the edit has characters that the file's encoding lacks") from error
            parts += [self.data[last:begin], text]
            last = end
        return b"".join([*parts, self.data[last:]])
