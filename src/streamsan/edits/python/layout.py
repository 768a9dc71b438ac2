"""Code put before and behind statements, in the layout of what stands there; statements taken out and moved."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from streamsan.edits.python.spots import Spot, With, block_of, leaves
from streamsan.edits.python.text import PythonText
from streamsan.findings.finding import Edit

_REST = re.compile(r"[ \t]*(#.*)?\Z")
_AS_IT_IS = "\0"
"""begins a line of code that brings its own indentation"""
_COMPOUND = re.compile(r"(if|for|while|with|try|match)\b")


class NoPlaceError(Exception):
    """Code cannot be put there."""


def replaced(spot: Spot, node: ast.AST, new: str) -> Edit:
    """Return the edit that puts new text in place of a node's."""
    return Edit(spot.file, *spot.text.span(node), new)


def inserted(spot: Spot, line: int, column: int, new: str) -> Edit:
    """Return the edit that puts text in at a place."""
    return Edit(spot.file, line, column, line, column, new)


def before(spot: Spot, code: Sequence[str]) -> list[Edit]:
    """Return the edits that put code before what is done at a spot. Raises NoPlaceError."""
    statement = _statement(spot)
    if spot.at_exit and isinstance(statement, With):
        last = statement.body[-1]
        return _before(spot, last, code) if leaves(last) else _behind(spot, last, code)
    return _before(spot, statement, code)


def behind(spot: Spot, code: Sequence[str]) -> list[Edit]:
    """Return the edits that put code behind what is done at a spot. Raises NoPlaceError."""
    statement = _statement(spot)
    if leaves(statement):
        raise NoPlaceError
    if isinstance(statement, With) and not spot.at_exit:
        return _before(spot, statement.body[0], code)
    if spot.in_header and not isinstance(statement, With):
        raise NoPlaceError
    return _behind(spot, statement, code)


def removed(spot: Spot, statements: Sequence[ast.stmt]) -> list[Edit]:
    """Return the edits that take neighbouring statements out of a block. Raises NoPlaceError."""
    block = block_of(spot.path, statements[0])
    if block is None:
        raise NoPlaceError
    if len(statements) == len(block):
        first, *rest = statements
        edits = [replaced(spot, first, "pass")]
        return edits + [_cut(spot, each) for each in rest]
    return [_cut(spot, each) for each in statements]


def moved(spot: Spot, statements: Sequence[ast.stmt], target: ast.stmt, first: Sequence[str] = ()) -> list[Edit]:
    """Return the edits that move statements of a block behind another one of it, with code before them.

    Raises NoPlaceError.
    """
    text = spot.text
    edits = removed(spot, statements)
    code = list(first)
    for each in statements:
        line, column, end, stop = text.span(each)
        rest = text.lines[end - 1][stop - 1 :]
        if text.lines[line - 1][: column - 1].strip() or not _REST.match(rest):
            code.append(text.slice(line, column, end, stop))
            continue
        code.append(text.lines[line - 1][column - 1 :])
        # Further lines bring their own indentation.
        code += [_AS_IT_IS + further for further in text.lines[line:end]]
    return edits + _behind(spot, target, code)


def _statement(spot: Spot) -> ast.stmt:
    statement = spot.statement
    if statement is None or spot.block is None:
        raise NoPlaceError
    return statement


def _first_line(text: PythonText, statement: ast.stmt) -> tuple[int, int]:
    decorators = getattr(statement, "decorator_list", [])
    if decorators:
        line, column, _, _ = text.span(decorators[0])
        return line, column - 1
    return text.span(statement)[:2]


def _before(spot: Spot, statement: ast.stmt, code: Sequence[str]) -> list[Edit]:
    line, column = _first_line(spot.text, statement)
    indent = spot.text.lines[line - 1][: column - 1]
    if _is_elif(spot, statement):
        raise NoPlaceError
    if indent.strip():
        return [inserted(spot, line, column, _inline(code) + "; ")]
    return [inserted(spot, line, 1, _laid_out(code, indent))]


def _behind(spot: Spot, statement: ast.stmt, code: Sequence[str]) -> list[Edit]:
    text = spot.text
    _, _, end, stop = text.span(statement)
    line, column = _first_line(text, statement)
    indent = text.lines[line - 1][: column - 1]
    rest = text.lines[end - 1][stop - 1 :]
    if indent.strip() or not _REST.match(rest):
        if _is_compound(statement):
            raise NoPlaceError
        return [inserted(spot, end, stop, "; " + _inline(code))]
    if end == len(text.lines):
        return [inserted(spot, end, len(text.lines[end - 1]) + 1, "\n" + _laid_out(code, indent).removesuffix("\n"))]
    return [inserted(spot, end + 1, 1, _laid_out(code, indent))]


def _cut(spot: Spot, statement: ast.stmt) -> Edit:
    text = spot.text
    line, column, end, stop = text.span(statement)
    first, rest = text.lines[line - 1][: column - 1], text.lines[end - 1][stop - 1 :]
    if not first.strip() and _REST.match(rest):
        if end < len(text.lines):
            return Edit(spot.file, line, 1, end + 1, 1, "")
        return Edit(spot.file, line - 1, len(text.lines[line - 2]) + 1, end, len(text.lines[end - 1]) + 1, "")
    if rest.lstrip().startswith(";"):
        following = rest.lstrip()[1:]
        return Edit(spot.file, line, column, end, stop + len(rest) - len(following.lstrip()), "")
    begin = len(first.rstrip().removesuffix(";").rstrip()) + 1
    return Edit(spot.file, line, begin, end, stop, "")


def _is_elif(spot: Spot, statement: ast.stmt) -> bool:
    line, column, _, _ = spot.text.span(statement)
    return isinstance(statement, ast.If) and spot.text.lines[line - 1][column - 1 :].startswith("elif")


def _is_compound(statement: ast.stmt) -> bool:
    return hasattr(statement, "body")


def _laid_out(code: Sequence[str], indent: str) -> str:
    return "".join((line[1:] if line.startswith(_AS_IT_IS) else indent + line) + "\n" for line in code)


def _inline(code: Sequence[str]) -> str:
    if any(_COMPOUND.match(line) or line.startswith((" ", "\t", _AS_IT_IS)) for line in code):
        raise NoPlaceError
    return "; ".join(code)
