"""Code put before and behind statements, in the layout of what stands there; statements taken out and moved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from streamsan.cuda_syntax.tree import Assign, Block, Call, If, Span, Statement, Variable
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.cpp.spots import Spot
from streamsan.edits.cpp.text import SourceBytes
from streamsan.findings.finding import Edit

_COMMENT_ONLY = re.compile(r"\s*(//.*|/\*[^*]*\*/\s*(//.*)?)?\Z")
_COMMENTS = re.compile(r"\s*(/\*([^*]|\*(?!/))*\*/\s*)*\Z")
_DIRECTIVE = re.compile(r"\s*(#|%:)")
DEFAULT_UNIT = "    "
LONGEST_LINE = 110
"""Several statements that would make a line longer get lines of their own."""


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

    def lines_of(self, span: Span) -> list[str]:
        """Return the lines of a span, cut at its ends."""
        lines = self._lines(span.file)
        self._refuse_directives(span)
        if span.line == span.end_line:
            return [lines[span.line - 1][span.column - 1 : span.end_column - 1]]
        last = lines[span.end_line - 1][: span.end_column - 1]
        return [lines[span.line - 1][span.column - 1 :], *lines[span.line : span.end_line - 1], last]

    def indentation(self, span: Span) -> str:
        """Return the blanks at the start of a span's first line."""
        line = self._lines(span.file)[span.line - 1]
        return line[: len(line) - len(line.lstrip())]

    def before(self, spot: Spot, code: Sequence[str]) -> list[Edit]:
        """Return the edits that put lines of code just before a spot's statement, or before its closing brace."""
        if spot.statement is None:
            return self._before_brace(spot, code)
        span = self._whole(spot.statement)
        if spot.block is None:
            return self._in_braces(spot, span, code, [])
        begin = self._lines(span.file)[span.line - 1][: span.column - 1]
        if not _COMMENTS.match(begin):
            if self._fits(span, code):
                return [_insert(span.file, span.line, span.column, _inline(code) + " ")]
            return [self._in_lines(span, begin, code)]
        indent = begin[: len(begin) - len(begin.lstrip())]
        return [_insert(span.file, span.line, 1, _laid_out(code, indent))]

    def _fits(self, span: Span, code: Sequence[str]) -> bool:
        """Tell whether lines of code may stand in the line of a statement."""
        return len(code) == 1 or len(self._lines(span.file)[span.line - 1]) + len(_inline(code)) < LONGEST_LINE

    def _in_lines(self, span: Span, begin: str, code: Sequence[str]) -> Edit:
        """Return the edit that breaks the line before a statement, for lines of code."""
        indent = self.indentation(span)
        inner = indent + self.unit(span.file) if begin.rstrip().endswith("{") else indent
        text = "\n" + _laid_out(code, inner) + inner
        return Edit(span.file, span.line, len(begin.rstrip()) + 1, span.line, span.column, text)

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
            return [self._cut(self._controlling(spot))]
        return [self._cut(span)]

    def _controlling(self, spot: Spot) -> Span:
        """Return the span of the `if` whose only statement a spot is, where it asks for nothing that must happen."""
        index = next(number for number, node in enumerate(spot.path) if node is spot.parent)
        outer = spot.path[index - 1] if index else None
        parent = spot.parent
        if not isinstance(parent, If) or parent.otherwise is not None or not isinstance(outer, Block):
            raise NoPlaceError("the statement is all that a loop or a branch does")
        if parent.init is not None or any(isinstance(node, Call | Assign) for node in nodes(parent.condition)):
            raise NoPlaceError("the statement depends on a condition that does something itself")
        return self._whole(parent)

    def moved(self, statements: Sequence[Statement], target: Statement) -> list[Edit]:
        """Return the edits that move neighbouring statements behind another one, of their block or of one around it."""
        if any(isinstance(statement, Variable) for statement in statements):
            raise NoPlaceError("a declaration stays where it is")
        spans, behind = [self._whole(statement) for statement in statements], self._whole(target)
        if spans[0].file != behind.file:
            raise NoPlaceError("it would be moved into another file")
        span = spans[0]._replace(end_line=spans[-1].end_line, end_column=spans[-1].end_column)
        lines = self._lines(span.file)
        first = lines[span.line - 1][: span.column - 1]
        rest = lines[span.end_line - 1][span.end_column - 1 :]
        whole = not first.strip() and bool(_COMMENT_ONLY.match(rest))
        if whole:
            body = [line.removeprefix(first) for line in lines[span.line - 1 : span.end_line]]
        elif span.line == span.end_line:
            body = [lines[span.line - 1][span.column - 1 : span.end_column - 1]]
        else:
            raise NoPlaceError(f"other code stands in line {span.line}")
        after = lines[behind.end_line - 1][behind.end_column - 1 :]
        at_start = lines[behind.line - 1][: behind.column - 1]
        if at_start.strip() or not _COMMENT_ONLY.match(after) or behind.end_line == len(lines):
            text = " ".join(line.strip() for line in body)
            if "//" in text:
                text = self.text(span)
            put = _insert(behind.file, behind.end_line, behind.end_column, " " + text)
        else:
            put = _insert(behind.file, behind.end_line + 1, 1, _laid_out(body, at_start))
        if "\ufffd" in put.text:
            raise NoPlaceError("the statement is not UTF-8 text")
        return [self._cut(span), put]

    def extended(self, block: Block, target: Statement) -> list[Edit]:
        """Return the edits that let a block end behind a later statement: its closing brace goes there."""
        lines = self._lines(block.span.file)
        end, behind = block.span.end_line, self._whole(target)
        brace = lines[end - 1]
        indent = brace[: len(brace) - len(brace.lstrip())]
        if brace.strip() != "}" or not _COMMENT_ONLY.match(lines[behind.end_line - 1][behind.end_column - 1 :]):
            raise NoPlaceError(f"the brace of line {end} is not alone in its line")
        between = lines[end : behind.end_line]
        if behind.end_line >= len(lines) or any(line.lstrip().startswith("#") or 'R"' in line for line in between):
            raise NoPlaceError(f"the lines behind line {end} cannot be moved into its block")
        unit = self.unit(block.span.file)
        edits = [Edit(block.span.file, end, 1, end + 1, 1, "")]
        edits += [_insert(behind.file, end + 1 + n, 1, unit) for n, line in enumerate(between) if line.strip()]
        return [*edits, _insert(behind.file, behind.end_line + 1, 1, f"{indent}}}\n")]

    def replaced(self, span: Span, text: str) -> Edit:
        """Return the edit that puts text in the place of a span."""
        self._lines(span.file)
        self._refuse_directives(span)
        return Edit(span.file, span.line, span.column, span.end_line, span.end_column, text)

    def first_in(self, span: Span, code: str) -> Edit:
        """Return the edit that puts a statement first into the block of a span, which begins with its brace."""
        line = self._lines(span.file)[span.line - 1]
        self._refuse_directives(Span(span.file, span.line, span.column, span.line, span.column + 1))
        if line[span.column - 1 : span.column] != "{":
            raise NoPlaceError("inside a macro")
        if not _COMMENT_ONLY.match(line[span.column :]) or span.end_line <= span.line + 1:
            return _insert(span.file, span.line, span.column + 1, f" {code}")
        indent = line[: len(line) - len(line.lstrip())] + self.unit(span.file)
        return _insert(span.file, span.line + 1, 1, f"{indent}{code}\n")

    def has_word(self, file: str, word: str) -> bool:
        """Tell whether a word stands anywhere in a file."""
        return any(word in line and re.search(rf"\b{re.escape(word)}\b", line) for line in self._lines(file))

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
        if before[:1] == ["{"] or behind[:1] == ["{"]:
            # One pair of braces is enough.
            unit = self.unit(span.file)
            before, behind = ([line.removeprefix(unit) for line in code[1:-1]] for code in (before, behind))
        inline = indent.strip() or not _COMMENT_ONLY.match(rest) or span.end_line == len(lines)
        length = len(lines[span.line - 1]) + len(_inline([*before, *behind]))
        if inline and length >= LONGEST_LINE and span.line == span.end_line:
            inner = outer + self.unit(span.file)
            opening = f" {{\n{_laid_out(before, inner)}{inner}"
            return [
                Edit(span.file, span.line, len(indent.rstrip()) + 1, span.line, span.column, opening),
                _insert(span.file, span.end_line, span.end_column, f"\n{_laid_out(behind, inner)}{outer}}}"),
            ]
        if inline:
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
