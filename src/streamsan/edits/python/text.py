"""The bytes of a Python module, edited at lines and columns: what an edit does not touch keeps its bytes."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable

from streamsan.findings.finding import Edit

_LINE_END = re.compile(r"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LARGEST = 4 << 20
"""bytes of a module that is edited"""


class TextError(Exception):
    """A module that cannot be edited, or an edit that cannot be made. `str()` is the reason in one line."""


class PythonText:
    """A module's text under the lines and columns of its tree. Lines and columns count from 1, in characters."""

    def __init__(self, data: bytes) -> None:
        """Raises TextError for what is not Python, or does not come back the same when it is written."""
        if len(data) > LARGEST:
            raise TextError("the file is too large to edit")
        self._mark = _BYTE_ORDER_MARK if data.startswith(_BYTE_ORDER_MARK) else b""
        self._bytes = data[len(self._mark) :]
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            self._encoding = "utf-8" if encoding == "utf-8-sig" else encoding
            self.text = self._bytes.decode(self._encoding)
            if self.text.encode(self._encoding) != self._bytes:
                raise TextError("its encoding does not give the same bytes back")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(_LINE_END.sub("\n", self.text))
        except (SyntaxError, UnicodeError, LookupError, ValueError, RecursionError, MemoryError) as error:
            raise TextError("its text cannot be read as Python") from error
        ends = list(_LINE_END.finditer(self.text))
        self._starts = [0, *(match.end() for match in ends)]
        self._stops = [*(match.start() for match in ends), len(self.text)]
        self._ending = ends[0][0] if ends else "\n"
        self.lines = [self.text[start:stop] for start, stop in zip(self._starts, self._stops, strict=True)]
        """the text of each line, without its end"""

    def column(self, line: int, offset: int) -> int:
        """Return the column of a place that the tree gives as bytes of UTF-8."""
        text = self.lines[line - 1]
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode("utf-8", "replace")) + 1

    def span(self, node: ast.AST) -> tuple[int, int, int, int]:
        """Return line, column, end line, end column of a node that has a place."""
        line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        begin, stop = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        return line, self.column(line, begin), end, self.column(end, stop)

    def of(self, node: ast.AST) -> str:
        """Return the text of a node, its lines joined by newlines."""
        line, column, end, stop = self.span(node)
        return self.slice(line, column, end, stop)

    def slice(self, line: int, column: int, end: int, stop: int) -> str:
        """Return the text of a range."""
        if line == end:
            return self.lines[line - 1][column - 1 : stop - 1]
        return "\n".join(
            [self.lines[line - 1][column - 1 :], *self.lines[line : end - 1], self.lines[end - 1][: stop - 1]]
        )

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return the bytes with edits made, those at one place in their order. Raises TextError where they overlap."""
        parts: list[str] = []
        last = 0
        placed = [(self._offset(e.line, e.column), self._offset(e.end_line, e.end_column), e) for e in edits]
        for begin, end, edit in sorted(placed, key=lambda each: (each[0], each[1])):
            if begin < last or end < begin:
                raise TextError(f"edits overlap at line {edit.line}")
            parts += [self.text[last:begin], edit.text.replace("\n", self._ending)]
            last = end
        text = "".join([*parts, self.text[last:]])
        try:
            return self._mark + text.encode(self._encoding)
        except UnicodeError as error:
            raise TextError("the edit has characters that the file's encoding lacks") from error

    def _offset(self, line: int, column: int) -> int:
        if line == len(self.lines) + 1 and column == 1:
            return len(self.text)
        if not 1 <= line <= len(self.lines) or not 1 <= column <= len(self.lines[line - 1]) + 1:
            raise TextError(f"no place {line}:{column}")
        return self._starts[line - 1] + column - 1
