"""Code put before and behind statements of C++, in the layout of what stands there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from streamsan.cuda_syntax.tree import Assign, Block, Call, If, Span, Statement, Variable
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.layout import Layout, NoPlaceError, inserted, laid_out
from streamsan.findings.finding import Edit

_COMMENTS = re.compile(r"\s*(/\*([^*]|\*(?!/))*\*/\s*)*\Z")
_DIRECTIVE = re.compile(r"\s*(#|%:)")
DEFAULT_UNIT = "    "
LONGEST_LINE = 110
"""Several statements that would make a line longer get lines of their own."""


class CppLayout(Layout[CppPlace]):
    """Makes edits in files of C++: bodies without braces get them, and what is in a macro stays as it is."""

    SEPARATOR = " "
    REST = re.compile(r"\s*(//.*|/\*[^*]*\*/\s*(//.*)?)?\Z")

    def span(self, statement: Statement) -> Span:
        """Return the span of a statement from its first character on, with its semicolon."""
        span = statement.span
        lines = self.lines(span.file)
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

    def inline(self, code: Sequence[str]) -> str:
        return " ".join(line.strip() for line in code)

    def lines_of(self, span: Span) -> list[str]:
        self._refuse_directives(span)
        return super().lines_of(span)

    def text(self, span: Span) -> str:
        """Return the text of a span on one line."""
        lines = super().lines_of(span)
        if len(lines) > 1 and any("//" in line for line in lines):
            raise NoPlaceError("a comment inside an expression")
        return " ".join(line.strip() for line in lines)

    def replaced(self, span: Span, text: str) -> Edit:
        self._refuse_directives(span)
        return super().replaced(span, text)

    def before(self, place: CppPlace, code: Sequence[str]) -> list[Edit]:
        """Return the edits that put lines of code just before a place's statement, or before its closing brace."""
        if place.statement is None:
            return self._before_brace(place, code)
        span = self.span(place.statement)
        if place.block is None:
            return self._in_braces(place, span, code, [])
        begin, _ = self.around(span)
        if _COMMENTS.match(begin):
            return [inserted(span.file, span.line, 1, laid_out(code, self.indentation(span)))]
        if len(code) > 1 and len(self.lines(span.file)[span.line - 1]) + len(self.inline(code)) >= LONGEST_LINE:
            inner = self.indentation(span)
            inner += self.unit(span.file) if begin.rstrip().endswith("{") else ""
            line = span._replace(column=len(begin.rstrip()) + 1, end_line=span.line, end_column=span.column)
            return [self.replaced(line, f"\n{laid_out(code, inner)}{inner}")]
        return super().before(place, code)

    def behind(self, place: CppPlace, code: Sequence[str]) -> list[Edit]:
        """Return the edits that put lines of code just behind a place's statement."""
        if place.statement is None:
            raise NoPlaceError("nothing stands there")
        if place.block is None:
            return self._in_braces(place, self.span(place.statement), [], code)
        return super().behind(place, code)

    def removed(self, place: CppPlace, statements: Sequence[Statement]) -> list[Edit]:
        if place.block is None:
            statements = [self._controlling(place)]
        return super().removed(place, statements)

    @staticmethod
    def _controlling(place: CppPlace) -> Statement:
        """Return the `if` whose only statement a place is, where it asks for nothing that must happen."""
        parent = place.parent
        outer = place.path[next(number for number, node in enumerate(place.path) if node is parent) - 1]
        if not isinstance(parent, If) or parent.otherwise is not None or not isinstance(outer, Block):
            raise NoPlaceError("the statement is all that a loop or a branch does")
        if parent.init is not None or any(isinstance(node, Call | Assign) for node in nodes(parent.condition)):
            raise NoPlaceError("the statement depends on a condition that does something itself")
        return parent

    def _joined(self, statements: Sequence[Statement]) -> Span:
        if any(isinstance(statement, Variable) for statement in statements):
            raise NoPlaceError("a declaration stays where it is")
        return super()._joined(statements)

    def has_word(self, file: str, word: str) -> bool:
        """Tell whether a word stands anywhere in a file."""
        return any(word in line and re.search(rf"\b{re.escape(word)}\b", line) for line in self.lines(file))

    def unit(self, file: str) -> str:
        """Return by what a file indents."""
        widths: list[int] = []
        last = 0
        for line in self.lines(file):
            blank = line[: len(line) - len(line.lstrip())]
            if "\t" in blank:
                return "\t"
            if line.strip() and len(blank) > last:
                widths.append(len(blank) - last)
            last = len(blank) if line.strip() else last
        return " " * max(set(widths), key=widths.count) if widths else DEFAULT_UNIT

    # -- parts ----------------------------------------------------------------------------------

    def _refuse_directives(self, span: Span) -> None:
        lines = self.lines(span.file)
        if not 1 <= span.line <= span.end_line <= len(lines):
            raise NoPlaceError("outside the file")
        if any(_DIRECTIVE.match(line) for line in lines[span.line - 1 : span.end_line]):
            raise NoPlaceError("a directive of the preprocessor stands there")
        if span.line > 1 and lines[span.line - 2].rstrip().endswith("\\"):
            raise NoPlaceError("inside a macro")

    def _before_brace(self, place: CppPlace, code: Sequence[str]) -> list[Edit]:
        span = place.span
        self._refuse_directives(span)
        indent = self.lines(span.file)[span.line - 1][: span.column - 1]
        if indent.strip():
            return [inserted(span.file, span.line, span.column, self.inline(code) + " ")]
        return [inserted(span.file, span.line, 1, laid_out(code, indent + self.unit(span.file)))]

    def _in_braces(self, place: CppPlace, span: Span, before: Sequence[str], behind: Sequence[str]) -> list[Edit]:
        """Give a body without braces its braces."""
        lines = self.lines(span.file)
        indent = lines[span.line - 1][: span.column - 1]
        rest = lines[span.end_line - 1][span.end_column - 1 :]
        assert isinstance(place.parent, Statement)
        assert not isinstance(place.parent, Block)
        outer_line = lines[place.parent.span.line - 1]
        outer = outer_line[: len(outer_line) - len(outer_line.lstrip())]
        if before[:1] == ["{"] or behind[:1] == ["{"]:
            # One pair of braces is enough.
            unit = self.unit(span.file)
            before, behind = ([line.removeprefix(unit) for line in code[1:-1]] for code in (before, behind))
        inline = indent.strip() or not self.REST.match(rest) or span.end_line == len(lines)
        length = len(lines[span.line - 1]) + len(self.inline([*before, *behind]))
        if inline and length >= LONGEST_LINE and span.line == span.end_line:
            inner = outer + self.unit(span.file)
            opening = f" {{\n{laid_out(before, inner)}{inner}"
            return [
                Edit(span.file, span.line, len(indent.rstrip()) + 1, span.line, span.column, opening),
                inserted(span.file, span.end_line, span.end_column, f"\n{laid_out(behind, inner)}{outer}}}"),
            ]
        if inline:
            opening = "{ " + (self.inline(before) + " " if before else "")
            closing = (" " + self.inline(behind) if behind else "") + " }"
            return [
                inserted(span.file, span.line, span.column, opening),
                inserted(span.file, span.end_line, span.end_column, closing),
            ]
        return [
            inserted(span.file, span.line, 1, f"{outer}{{\n" + (laid_out(before, indent) if before else "")),
            inserted(span.file, span.end_line + 1, 1, (laid_out(behind, indent) if behind else "") + f"{outer}}}\n"),
        ]
