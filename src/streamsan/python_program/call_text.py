"""What the text of a Python program says of a call: its columns in characters, its text, the variable it goes to."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct

from streamsan.platforms import CUDA

LARGEST = 4 << 20
"""bytes of a file that is parsed for names"""
_STATUS_NAMES = frozenset(("_", "e", "err", "error", "rc", "res", "result", "ret", "s", "st", "stat", "status"))
"""how programs call the first of two results when it is a status"""


class SourceCall(Struct, frozen=True):
    """A call as the source writes it. Columns count from 1, in characters; 0: not known."""

    column: int = 0
    end_column: int = 0
    text: str = ""
    target: str = ""
    """the variable that takes what the call makes (`d_x` of `err, d_x = cudaMalloc(n)`), "" if that is not clear"""


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
            found = self._targets[file] = _targets_in("".join(lines))
        return found


@lru_cache(maxsize=64)
def _targets_in(text: str) -> dict[tuple[int, int], str]:
    """Return the targets of a text's calls by their places. Kept: tests run one file on many devices."""
    found: dict[tuple[int, int], str] = {}
    if len(text) <= LARGEST:
        # What is not Python as this interpreter reads it (a notebook cell, a template) has no names.
        with suppress(SyntaxError, ValueError, RecursionError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = dict(_named_calls(ast.parse(text)))
    return found


def _characters(line: str, offset: int) -> int:
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))


def _named_calls(tree: ast.AST) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the place of each call whose result is assigned, with the name it goes to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            pairs = _pairs(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            pairs = _pairs(node.target, node.value)
        else:
            continue
        for target, value in pairs:
            calls = list(_calls(value))
            name = _name(target, _made_by(calls))
            if name:
                for call in calls:
                    yield (call.lineno, call.col_offset), name


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is assigned to what: `p, q = f(), g()` is two assignments."""
    lists = ast.Tuple | ast.List
    if isinstance(target, lists) and isinstance(value, lists) and len(target.elts) == len(value.elts):
        if not any(isinstance(each, ast.Starred) for each in (*target.elts, *value.elts)):
            for one, other in zip(target.elts, value.elts, strict=True):
                yield from _pairs(one, other)
    else:
        yield target, value


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls whose result is the value: `check(cudaMalloc(n))` has two, `f(n)[1]` one."""
    while isinstance(value, ast.Subscript | ast.Attribute | ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        yield value
        if value.args:
            yield from _calls(value.args[0])


def _made_by(calls: Iterable[ast.Call]) -> int | None:
    """Return how many results the first call of the API has beside its status, None if none is one of the API."""
    for call in calls:
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        row = CUDA.effects.find(name)
        if row is not None:
            return len(row.versions[0].outs)
    return None


def _name(target: ast.expr, made: int | None) -> str:
    """Return the variable that takes what is made, the first result after the status: `d_x` of `err, d_x, pitch`.

    `made`: how many results there are; None: nobody knows. Where it is not clear which one is meant: "".
    """
    if isinstance(target, ast.Tuple | ast.List):
        place = _place(target.elts, made)
        return "" if place is None else _name(place, made)
    if isinstance(target, ast.Name):
        return "" if target.id == "_" else target.id
    return ast.unparse(target) if isinstance(target, ast.Attribute | ast.Subscript) else ""


def _place(targets: Sequence[ast.expr], made: int | None) -> ast.expr | None:
    """Return the one of several targets that takes what is made, None if it is not clear."""
    if any(isinstance(each, ast.Starred) for each in targets):
        return None
    inner = [each for each in targets if isinstance(each, ast.Tuple | ast.List)]
    if inner:
        # `(err, d_x), seconds = timed(cudaMalloc(n))`
        return inner[0] if len(inner) == 1 else None
    if made is None:
        named = isinstance(targets[0], ast.Name) and targets[0].id.lower().rstrip("0123456789") in _STATUS_NAMES
        return targets[1] if named and len(targets) == 2 else None
    first = len(targets) - made
    return targets[first] if made and first in (0, 1) else None
