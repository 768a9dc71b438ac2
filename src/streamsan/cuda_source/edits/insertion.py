"""Code put before and behind statements, in the layout of what stands there; statements taken out and moved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from streamsan.cuda_source.edits.spots import Spot
from streamsan.cuda_source.edits.text import SourceBytes
from streamsan.cuda_source.syntax.tree import Block, Span, Statement, Variable
from streamsan.findings import Edit

_COMMENT_ONLY = re.compile(r"\s*(//.*|/\*[^*]*\*/\s*(//.*)?)?\Z")
_COMMENTS = re.compile(r"\s*(/\*([^*]|\*(?!/))*\*/\s*)*\Z")
_DIRECTIVE = re.compile(r"\s*(#|%:)")
DEFAULT_UNIT = "    "


class NoPlaceError(Exception):
    """Code cannot be put there: it is in a macro, or the text is not laid out in a way that is understood."""


class Layout:
    """Makes edits in files of which the bytes are known."""

    def __init__(self, files: Mapping[str, SourceBytes]) -> None:
        self._files = files

    def text(self, span: Span) -> str:
        """Return the text of a span on one line. Raises NoPlaceError where it is not known."""
        lines = self._lines(span.file)
        if not 1 <= span.line <= span.end_line <= len(lines):
            raise NoPlaceError("outside the file")
        if span.line == span.end_line:
            return lines[span.line - 1][span.column - 1 : span.end_column - 1]
        first, last = lines[span.line - 1][span.column - 1 :], lines[span.end_line - 1][: span.end_column - 1]
        every = [first, *lines[span.line : span.end_line - 1], last]
        if any("//" in line for line in every):
            raise NoPlaceError("a comment inside an expression")
        return " ".join(line.strip() for line in every)

    def before(self, spot: Spot, code: Sequence[str]) -> list[Edit]:
        """Return the edits that put lines of code just before a spot's statement, or before its closing brace."""
        if spot.statement is None:
            return self._before_brace(spot, code)
        span = self._whole(spot.statement)
        if spot.block is None:
            return self._in_braces(spot, span, code, [])
        begin = self._lines(span.file)[span.line - 1][: span.column - 1]
        if not _COMMENTS.match(begin):
            return [_insert(span.file, span.line, span.column, _inline(code) + " ")]
        indent = begin[: len(begin) - len(begin.lstrip())]
        return [_insert(span.file, span.line, 1, _laid_out(code, indent))]

    def behind(self, spot: Spot, code: Sequence[str]) -> list[Edit]:
        """Return the edits that put lines of code just behind a spot's statement."""
        if spot.statement is None:
            raise NoPlaceError("nothing stands there")
        span = self._whole(spot.statement)
        if spot.block is None:
            return self._in_braces(spot, span, [], code)
        return [self._behind(span, code)]

    def _behind(self, span: Span, code: Sequence[str]) -> Edit:
        lines = self._lines(span.file)
        rest = lines[span.end_line - 1][span.end_column - 1 :]
        first = lines[span.line - 1][: span.column - 1]
        if first.strip() or not _COMMENT_ONLY.match(rest) or span.end_line == len(lines):
            return _insert(span.file, span.end_line, span.end_column, " " + _inline(code))
        return _insert(span.file, span.end_line + 1, 1, _laid_out(code, first))

    def removed(self, spot: Spot) -> list[Edit]:
        """Return the edits that take a spot's statement out, with its lines where nothing else stands in them."""
        if spot.statement is None or isinstance(spot.statement, Variable):
            raise NoPlaceError("a declaration stays")
        span = self._whole(spot.statement)
        if spot.block is None:
            return [Edit(span.file, span.line, span.column, span.end_line, span.end_column, ";")]
        return [self._cut(span)]

    def moved(self, spot: Spot, statement: Statement) -> list[Edit]:
        """Return the edits that move a spot's statement behind another one of the same block."""
        if spot.statement is None or spot.block is None or isinstance(spot.statement, Variable):
            raise NoPlaceError("only whole statements are moved")
        span, target = self._whole(spot.statement), self._whole(statement)
        lines = self._lines(span.file)
        first = lines[span.line - 1][: span.column - 1]
        rest = lines[span.end_line - 1][span.end_column - 1 :]
        body = lines[span.line - 1 : span.end_line]
        if first.strip() or not _COMMENT_ONLY.match(rest):
            if span.line != span.end_line:
                raise NoPlaceError("other code in the statement's lines")
            body = [lines[span.line - 1][span.column - 1 : span.end_column - 1]]
        else:
            body = [line.removeprefix(first) if number == 0 else line for number, line in enumerate(body)]
        behind = lines[target.end_line - 1][target.end_column - 1 :]
        at_start = lines[target.line - 1][: target.column - 1]
        inline = bool(at_start.strip()) or not _COMMENT_ONLY.match(behind) or target.end_line == len(lines)
        if inline:
            text = " ".join(line.strip() for line in body)
            if "//" in text:
                text = self.text(span)
            put = _insert(target.file, target.end_line, target.end_column, " " + text)
        else:
            put = _insert(target.file, target.end_line + 1, 1, at_start + "\n".join(body) + "\n")
        if "\ufffd" in put.text:
            raise NoPlaceError("the statement is not UTF-8 text")
        return [self._cut(span), put]

    def replaced(self, span: Span, text: str) -> Edit:
        """Return the edit that puts text in the place of a span."""
        self._lines(span.file)
        self._refuse_directives(span)
        return Edit(span.file, span.line, span.column, span.end_line, span.end_column, text)

    def unit(self, file: str) -> str:
        """Return by what a file indents."""
        widths: list[int] = []
        last = 0
        for line in self._lines(file):
            blank = line[: len(line) - len(line.lstrip())]
            if "\t" in blank:
                return "\t"
            if line.strip() and len(blank) > last:
                widths.append(len(blank) - last)
            last = len(blank) if line.strip() else last
        return " " * max(set(widths), key=widths.count) if widths else DEFAULT_UNIT

    # -- parts ----------------------------------------------------------------------------------

    def _lines(self, file: str) -> list[str]:
        source = self._files.get(file)
        if source is None:
            raise NoPlaceError("the file is not at hand")
        return source.lines

    def _whole(self, statement: Statement) -> Span:
        """Return the span of a statement from its first character on, with its semicolon."""
        span = statement.span
        lines = self._lines(span.file)
        if isinstance(statement, Variable):
            before = lines[span.line - 1][: span.column - 1]
            begin = max(before.rfind(each) for each in ";{}") + 1
            start = begin + len(before[begin:]) - len(before[begin:].lstrip())
            tail = lines[span.end_line - 1][span.end_column - 1 :]
            semicolon = tail.find(";")
            ended = lines[span.end_line - 1][span.end_column - 2 : span.end_column - 1] == ";"
            end = span.end_column if ended or semicolon < 0 else span.end_column + semicolon + 1
            span = Span(span.file, span.line, start + 1, span.end_line, end)
        self._refuse_directives(span)
        return span

    def _refuse_directives(self, span: Span) -> None:
        lines = self._lines(span.file)
        if not 1 <= span.line <= span.end_line <= len(lines):
            raise NoPlaceError("outside the file")
        if any(_DIRECTIVE.match(line) for line in lines[span.line - 1 : span.end_line]):
            raise NoPlaceError("a directive of the preprocessor stands there")
        if span.line > 1 and lines[span.line - 2].rstrip().endswith("\\"):
            raise NoPlaceError("inside a macro")

    def _cut(self, span: Span) -> Edit:
        lines = self._lines(span.file)
        first = lines[span.line - 1][: span.column - 1]
        rest = lines[span.end_line - 1][span.end_column - 1 :]
        if not first.strip() and _COMMENT_ONLY.match(rest) and span.end_line < len(lines):
            return Edit(span.file, span.line, 1, span.end_line + 1, 1, "")
        end = span.end_column + len(rest) - len(rest.lstrip(" \t")) if rest.strip() else span.end_column
        return Edit(span.file, span.line, span.column, span.end_line, end, "")

    def _before_brace(self, spot: Spot, code: Sequence[str]) -> list[Edit]:
        span = spot.span
        self._refuse_directives(span)
        indent = self._lines(span.file)[span.line - 1][: span.column - 1]
        if indent.strip():
            return [_insert(span.file, span.line, span.column, _inline(code) + " ")]
        return [_insert(span.file, span.line, 1, _laid_out(code, indent + self.unit(span.file)))]

    def _in_braces(self, spot: Spot, span: Span, before: Sequence[str], behind: Sequence[str]) -> list[Edit]:
        """Give a body without braces its braces."""
        lines = self._lines(span.file)
        indent = lines[span.line - 1][: span.column - 1]
        rest = lines[span.end_line - 1][span.end_column - 1 :]
        assert isinstance(spot.parent, Statement)
        assert not isinstance(spot.parent, Block)
        outer_line = lines[spot.parent.span.line - 1]
        outer = outer_line[: len(outer_line) - len(outer_line.lstrip())]
        if indent.strip() or not _COMMENT_ONLY.match(rest) or span.end_line == len(lines):
            opening = "{ " + (_inline(before) + " " if before else "")
            closing = (" " + _inline(behind) if behind else "") + " }"
            return [
                _insert(span.file, span.line, span.column, opening),
                _insert(span.file, span.end_line, span.end_column, closing),
            ]
        return [
            _insert(span.file, span.line, 1, f"{outer}{{\n" + (_laid_out(before, indent) if before else "")),
            _insert(span.file, span.end_line + 1, 1, (_laid_out(behind, indent) if behind else "") + f"{outer}}}\n"),
        ]


def _insert(file: str, line: int, column: int, text: str) -> Edit:
    return Edit(file, line, column, line, column, text)


def _laid_out(code: Sequence[str], indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in code)


def _inline(code: Sequence[str]) -> str:
    return " ".join(line.strip() for line in code)
