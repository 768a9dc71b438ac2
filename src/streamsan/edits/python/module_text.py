"""The text of a Python module, with its tree."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings

from streamsan.cuda_syntax.tree import Span
from streamsan.edits.source_text import BYTE_ORDER_MARK, EditError, SourceText

_LINE_END = re.compile(r"\r\n|\r|\n")
LARGEST = 4 << 20
"""bytes of a module that is edited"""


class PythonText(SourceText):
    """A module's text under the lines and columns of its tree."""

    def __init__(self, name: str, data: bytes) -> None:
        """Raises EditError for what is not Python, or does not come back the same when it is written."""
        if len(data) > LARGEST:
            raise EditError("the file is too large to edit")
        raw = data.removeprefix(BYTE_ORDER_MARK)
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            encoding = "utf-8" if encoding == "utf-8-sig" else encoding
            text = raw.decode(encoding)
            if text.encode(encoding) != raw:
                raise EditError("its encoding does not give the same bytes back")
            text = _LINE_END.sub("\n", text)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text)
        except (SyntaxError, UnicodeError, LookupError, ValueError, RecursionError, MemoryError) as error:
            raise EditError("its text cannot be read as Python") from error
        super().__init__(data, text, encoding)
        self.name = name

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node that has one."""
        line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        begin, stop = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        return Span(self.name, line, self._column(line, begin), end, self._column(end, stop))

    def of(self, node: ast.AST) -> str:
        """Return the text of a node, its lines joined by newlines."""
        return self.slice(*self.span(node)[1:])

    def _column(self, line: int, offset: int) -> int:
        """Return the column of a place that the tree gives as bytes of UTF-8."""
        text = self.lines[line - 1]
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode("utf-8", "replace")) + 1
