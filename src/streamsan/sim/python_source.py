"""What the text of a Python program says of a call: its columns in characters, its text, the variable it goes to."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

LARGEST = 4 << 20
"""bytes of a file that is parsed for names"""


@dataclass(frozen=True, slots=True)
class SourceCall:
    """A call as the source writes it. Columns count from 1, in characters; 0: not known."""

    column: int = 0
    end_column: int = 0
    text: str = ""
    target: str = ""
    """the variable that takes what the call makes (`d_x` of `err, d_x = cudaMalloc(n)`), "" if there is none"""


class PythonSources:
    """Texts and trees of the files that a program runs."""

    def __init__(self) -> None:
        self._targets: dict[str, dict[tuple[int, int], str]] = {}

    def call(self, file: str, line: int, start: int, end_line: int, end: int) -> SourceCall:
        """Return what the source says of the call at a place. Lines from 1; `start` and `end` are bytes from 0."""
        lines = linecache.getlines(file)
        if not 0 < line <= len(lines) or (start == 0 and end == 0):
            return SourceCall()
        last = lines[min(end_line, len(lines)) - 1]
        column = _characters(lines[line - 1], start)
        end_column = _characters(last, end)
        if end_line == line:
            text = lines[line - 1][column:end_column]
        else:
            middle = lines[line : end_line - 1]
            text = " ".join([lines[line - 1][column:], *middle, last[:end_column]])
        target = self._targets_of(file, lines).get((line, start), "")
        return SourceCall(column + 1, end_column + 1, " ".join(text.split()), target)

    def text(self, file: str) -> str | None:
        """Return the text of a file, None if it is not at hand."""
        return "".join(linecache.getlines(file)) or None

    def _targets_of(self, file: str, lines: list[str]) -> dict[tuple[int, int], str]:
        found = self._targets.get(file)
        if found is None:
            found = {}
            text = "".join(lines)
            if len(text) <= LARGEST:
                # What is not Python as this interpreter reads it (a notebook cell, a template) has no names.
                with suppress(SyntaxError, ValueError, RecursionError), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = dict(_named_calls(ast.parse(text)))
            self._targets[file] = found
        return found


def _characters(line: str, offset: int) -> int:
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))


def _named_calls(tree: ast.AST) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the place of each call whose result is assigned, with the name it goes to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        name = _name(target)
        if name:
            for call in _calls(value):
                yield (call.lineno, call.col_offset), name


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls whose result is the value: `check(cudaMalloc(n))` has two, `f(n)[1]` one."""
    while isinstance(value, ast.Subscript | ast.Attribute | ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        yield value
        if value.args:
            yield from _calls(value.args[0])


def _name(target: ast.expr) -> str:
    """Return the variable that takes the result: the last of `err, d_x`."""
    if isinstance(target, ast.Tuple | ast.List):
        # `(err,) = f()` keeps the error only.
        return _name(target.elts[-1]) if len(target.elts) == 2 else ""
    if isinstance(target, ast.Starred):
        return _name(target.value)
    if isinstance(target, ast.Name):
        return "" if target.id == "_" else target.id
    return ast.unparse(target) if isinstance(target, ast.Attribute | ast.Subscript) else ""
