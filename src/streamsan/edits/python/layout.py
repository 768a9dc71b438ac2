"""Code put before and behind statements of Python, in the layout of what stands there."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from streamsan.cuda_syntax.tree import Span
from streamsan.edits.layout import Layout, NoPlaceError
from streamsan.edits.python.module_text import PythonText
from streamsan.edits.python.places import PythonPlace, With, leaves
from streamsan.findings.finding import Edit


class PythonLayout(Layout[PythonPlace]):
    """Makes edits in modules of one program."""

    SEPARATOR = "; "
    REST = re.compile(r"[ \t]*(#.*)?\Z")

    def __init__(self, texts: Mapping[str, PythonText]) -> None:
        super().__init__(texts)
        self._texts = {id(node): text for text in texts.values() for node in ast.walk(text.tree)}

    def span(self, statement: ast.stmt) -> Span:
        """Return the span of a statement, with its decorators."""
        text = self._texts[id(statement)]
        span = text.span(statement)
        for decorator in getattr(statement, "decorator_list", [])[:1]:
            first = text.span(decorator)
            span = span._replace(line=first.line, column=first.column - 1)
        return span

    def inline(self, code: Sequence[str]) -> str:
        raise NoPlaceError("several statements stand in one line")

    def before(self, place: PythonPlace, code: Sequence[str]) -> list[Edit]:
        statement = _statement(place)
        if place.at_exit and isinstance(statement, With):
            last = statement.body[-1]
            return self._before(last, code) if leaves(last) else [self._behind(last, code)]
        return self._before(statement, code)

    def behind(self, place: PythonPlace, code: Sequence[str]) -> list[Edit]:
        statement = _statement(place)
        if leaves(statement):
            raise NoPlaceError
        if isinstance(statement, With) and not place.at_exit:
            return self._before(statement.body[0], code)
        if place.in_header and not isinstance(statement, With):
            raise NoPlaceError
        return [self._behind(statement, code)]

    def removed(self, place: PythonPlace, statements: Sequence[ast.stmt]) -> list[Edit]:
        """Return the edits that take neighbouring statements out of a block: it does not become empty."""
        if place.block is None:
            raise NoPlaceError
        if len(statements) == len(place.block):
            return [self.replaced(self._joined(statements), "pass")]
        return super().removed(place, statements)

    def _before(self, statement: ast.stmt, code: Sequence[str]) -> list[Edit]:
        if isinstance(statement, ast.If) and self.text(self.span(statement)).startswith("elif"):
            raise NoPlaceError
        return super()._before(statement, code)

    def _behind(self, statement: ast.stmt, code: Sequence[str]) -> Edit:
        if hasattr(statement, "body") and not self.is_alone(self.span(statement)):
            raise NoPlaceError
        return super()._behind(statement, code)

    def _cut_from_line(self, span: Span) -> Edit:
        raise NoPlaceError("several statements stand in one line")


def _statement(place: PythonPlace) -> ast.stmt:
    if place.statement is None or place.block is None:
        raise NoPlaceError
    return place.statement
