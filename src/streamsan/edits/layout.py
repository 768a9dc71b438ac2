"""Code put before and behind statements, in the layout of what stands there; statements taken out and moved."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic, TypeVar

from streamsan.cuda_syntax.tree import Span
from streamsan.edits.code_place import CodePlace, Node
from streamsan.edits.source_text import SourceText
from streamsan.findings.finding import Edit

P = TypeVar("P", bound=CodePlace)


class NoPlaceError(Exception):
    """Code cannot be put there. `str()` is the reason in a clause, "" where it says nothing."""


class Layout(ABC, Generic[P]):
    """Makes edits in files of one language. All raise NoPlaceError where the text is not laid out as they need it."""

    SEPARATOR: ClassVar[str]
    """what stands between statements of one line"""
    REST: ClassVar[re.Pattern[str]]
    """what may follow a statement that is alone in its line"""

    def __init__(self, files: Mapping[str, SourceText]) -> None:
        self._files = files

    @abstractmethod
    def span(self, statement: Node) -> Span:
        """Return the span of a whole statement: from its first character on, with its semicolon."""

    @abstractmethod
    def inline(self, code: Sequence[str]) -> str:
        """Return lines of code in one line."""

    def lines(self, file: str) -> list[str]:
        """Return the lines of a file."""
        source = self._files.get(file)
        if source is None:
            raise NoPlaceError("the file is not at hand")
        return source.lines

    def text(self, span: Span) -> str:
        """Return the text of a span, its lines joined by newlines."""
        return "\n".join(self.lines_of(span))

    def lines_of(self, span: Span) -> list[str]:
        """Return the lines of a span, cut at its ends."""
        lines = self.lines(span.file)
        if not 1 <= span.line <= span.end_line <= len(lines):
            raise NoPlaceError("outside the file")
        lines = lines[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return lines

    def indentation(self, span: Span) -> str:
        """Return the blanks at the start of a span's first line."""
        line = self.lines(span.file)[span.line - 1]
        return line[: len(line) - len(line.lstrip())]

    def around(self, span: Span) -> tuple[str, str]:
        """Return what stands before a span in its first line, and behind it in its last one."""
        lines = self.lines(span.file)
        return lines[span.line - 1][: span.column - 1], lines[span.end_line - 1][span.end_column - 1 :]

    def is_alone(self, span: Span) -> bool:
        """Tell whether nothing else stands in a span's lines, but for a comment."""
        before, behind = self.around(span)
        return not before.strip() and bool(self.REST.match(behind))

    def replaced(self, span: Span, text: str) -> Edit:
        """Return the edit that puts text in the place of a span."""
        return Edit(*span, text)

    def before(self, place: P, code: Sequence[str]) -> list[Edit]:
        """Return the edits that put lines of code just before what is done at a place."""
        return self._before(place.statement, code)

    def behind(self, place: P, code: Sequence[str]) -> list[Edit]:
        """Return the edits that put lines of code just behind what is done at a place."""
        return [self._behind(place.statement, code)]

    def removed(self, place: P, statements: Sequence[Node]) -> list[Edit]:
        """Return the edits that take neighbouring statements out, with their lines where nothing else is in them."""
        return [self._cut(self._joined(statements))]

    def moved(self, statements: Sequence[Node], target: Node, first: Sequence[str] = ()) -> list[Edit]:
        """Return the edits that move neighbouring statements behind another one, of their block or of one around it.

        `first` are lines of code that come before them.
        """
        span, behind = self._joined(statements), self.span(target)
        if span.file != behind.file:
            raise NoPlaceError("it would be moved into another file")
        old, new = self.around(span)[0], self.around(behind)[0]
        if not self.is_alone(behind):
            put = self._behind(target, [*first, *self.text(span).split("\n")])
        else:
            if self.is_alone(span):
                moved = self.lines(span.file)[span.line - 1 : span.end_line]
                # What keeps its depth keeps its lines: those of a long string have their own indentation.
                moved = moved if old == new else [new + line.removeprefix(old) for line in moved]
            elif span.line == span.end_line:
                moved = [new + self.text(span)]
            else:
                raise NoPlaceError(f"other code stands in line {span.line}")
            put = self._in_lines_behind(behind, laid_out(first, new) + laid_out(moved))
        if "\ufffd" in put.text:
            raise NoPlaceError("the statement is not UTF-8 text")
        return [self._cut(span), put]

    # -- parts ----------------------------------------------------------------------------------

    def _before(self, statement: Node, code: Sequence[str]) -> list[Edit]:
        span = self.span(statement)
        indent, _ = self.around(span)
        if indent.strip():
            return [inserted(span.file, span.line, span.column, self.inline(code) + self.SEPARATOR)]
        return [inserted(span.file, span.line, 1, laid_out(code, indent))]

    def _behind(self, statement: Node, code: Sequence[str]) -> Edit:
        span = self.span(statement)
        if not self.is_alone(span):
            return inserted(span.file, span.end_line, span.end_column, self.SEPARATOR + self.inline(code))
        return self._in_lines_behind(span, laid_out(code, self.around(span)[0]))

    def _in_lines_behind(self, span: Span, text: str) -> Edit:
        lines = self.lines(span.file)
        if span.end_line < len(lines):
            return inserted(span.file, span.end_line + 1, 1, text)
        return inserted(span.file, span.end_line, len(lines[-1]) + 1, "\n" + text.removesuffix("\n"))

    def _cut(self, span: Span) -> Edit:
        lines = self.lines(span.file)
        if not self.is_alone(span):
            return self._cut_from_line(span)
        if span.end_line < len(lines):
            return Edit(span.file, span.line, 1, span.end_line + 1, 1, "")
        return Edit(span.file, span.line - 1, len(lines[span.line - 2]) + 1, span.end_line, len(lines[-1]) + 1, "")

    def _cut_from_line(self, span: Span) -> Edit:
        rest = self.around(span)[1]
        end = span.end_column + len(rest) - len(rest.lstrip(" \t")) if rest.strip() else span.end_column
        return self.replaced(span._replace(end_column=end), "")

    def _joined(self, statements: Sequence[Node]) -> Span:
        first, last = self.span(statements[0]), self.span(statements[-1])
        return first._replace(end_line=last.end_line, end_column=last.end_column)


def inserted(file: str, line: int, column: int, text: str) -> Edit:
    """Return the edit that puts text in at a place."""
    return Edit(file, line, column, line, column, text)


def laid_out(code: Sequence[str], indent: str = "") -> str:
    """Return lines of code, each with an indentation and its end."""
    return "".join(f"{indent}{line}\n" for line in code)
