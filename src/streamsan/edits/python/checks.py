"""How a program looks at the status of its calls, learnt from the calls that it makes: `check(f())`, `err, = f()`."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from streamsan.edits.python.calls import entry_of, module_of
from streamsan.edits.python.imports import defined_at_top
from streamsan.edits.python.module_text import PythonText
from streamsan.edits.python.places import Function, PythonPlace, blocks

HOLE = "\0"
"""where the call goes"""
TARGET = "\1"
"""where the variable goes that takes what the call makes"""


_ONLY_DRIVER = re.compile(r"cu(Launch|Module|Library|Kernel|Func|Init|Device|Ctx|Link)")
"""functions that programs of the runtime API call as well"""


class Way(Struct, frozen=True):
    """One way to write a call: its lines, with a hole for the call and one for the variable."""

    lines: tuple[str, ...]
    forwards: bool = False
    """the hole takes the function, a comma and the arguments: `call(cudart.cudaFree, pointer)`"""

    def written(self, function: str, arguments: Sequence[str], target: str = "") -> list[str]:
        """Return the lines for a call."""
        given = ", ".join(arguments)
        call = ", ".join((function, *arguments)) if self.forwards else f"{function}({given})"
        return [line.replace(HOLE, call).replace(TARGET, target) for line in self.lines]


PLAIN = Way((HOLE,))
UNPACKED = Way((f"_, {TARGET} = {HOLE}",))


class _Sample(Struct, frozen=True):
    way: Way
    driver: bool
    works: bool
    """the function is of streams, events or memory, which both APIs have"""
    makes: bool
    body: ast.AST
    root: str
    """the name that the check begins with, "" without one"""


class Checks:
    """The ways of one module."""

    def __init__(self, text: PythonText) -> None:
        self._text = text
        self._samples = list(_samples(text, text.tree, text.tree))

    def status(self, place: PythonPlace, driver: bool) -> Way:
        """Return how a call is written that gives a status only."""
        return self._way(place, driver, makes=False) or PLAIN

    def making(self, place: PythonPlace, driver: bool, *, guess: bool = True) -> Way:
        """Return how a call is written that makes something.

        `guess`: where no such call shows it, the check of others is taken to return what is made.
        """
        found = self._way(place, driver, makes=True)
        other = self._way(place, driver, makes=False) if found is None and guess else None
        if other is not None and len(other.lines) == 1 and other != PLAIN and "=" not in other.lines[0]:
            found = replace(other, lines=(f"{TARGET} = {other.lines[0]}",))
        return found or UNPACKED

    def prefers_driver(self, place: PythonPlace) -> bool | None:
        """Tell whether the code around a place has its streams and memory from the driver API; None: nobody knows."""
        every = [each for each in self._samples if each.works]
        count = Counter(each.driver for each in every if each.body is place.body) or Counter(
            each.driver for each in every
        )
        return count[True] > count[False] if count else None

    def _way(self, place: PythonPlace, driver: bool, makes: bool) -> Way | None:
        usable = [each for each in self._samples if each.makes == makes and self._fits(each, place)]
        of_body = [each for each in usable if each.body is place.body]
        same = [each for each in of_body if each.driver == driver] or of_body
        same = same or [each for each in usable if each.driver == driver] or usable
        if not same:
            return None
        counts = Counter(each.way for each in same)
        return max(counts, key=lambda way: counts[way])

    def _fits(self, sample: _Sample, place: PythonPlace) -> bool:
        if not sample.root or sample.body is place.body:
            return True
        if sample.root == "self":
            return _class_of(self._text.tree, sample.body) is _class_of(self._text.tree, place.body) is not None
        return defined_at_top(self._text.tree, sample.root)


def _class_of(tree: ast.Module, body: ast.AST) -> ast.ClassDef | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(each is body for each in node.body):
            return node
    return None


def unit_of(block: Sequence[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
    """Return a statement with the one behind it that looks at its status."""
    index = next(number for number, each in enumerate(block) if each is statement)
    name = _status_name(statement)
    following = block[index + 1] if index + 1 < len(block) else None
    return [statement, following] if name and following is not None and _looks_at(following, name) else [statement]


def _status_name(statement: ast.stmt) -> str:
    """Return the variable that takes a status: `err` of `err, x = f()`, `(err,) = f()`, `err = f()[0]`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    if isinstance(target, ast.Tuple | ast.List) and target.elts:
        first = target.elts[0]
        return first.id if isinstance(first, ast.Name) and first.id != "_" else ""
    value = statement.value
    # What a check returns is no status any more.
    if not isinstance(value, ast.Subscript) or not isinstance(target, ast.Name) or api_of(value.value) is None:
        return ""
    return target.id if isinstance(value.slice, ast.Constant) and value.slice.value == 0 else ""


def _looks_at(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement does no more than look at a status."""
    if isinstance(statement, ast.If):
        return _reads(statement.test, name) and not statement.orelse and len(statement.body) == 1
    if isinstance(statement, ast.Assert):
        return _reads(statement.test, name)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        return len(call.args) >= 1 and _reads(call.args[0], name) and api_of(call) is None
    return False


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def api_of(node: ast.AST) -> str | None:
    """Return the function of cuda.bindings that an expression calls, None where it is something else."""
    if not isinstance(node, ast.Call):
        return None
    return _named(node.func)


def _named(function: ast.expr) -> str | None:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name if entry_of(name) is not None else None


def _samples(text: PythonText, node: ast.AST, body: ast.AST) -> Iterator[_Sample]:
    """Yield the calls of a node's blocks, each with the way in which it is written."""
    for block in (*blocks(node), *(handler.body for handler in getattr(node, "handlers", ()))):
        for statement in block:
            yield from _of_statement(text, block, statement, body)
            inner = statement if isinstance(statement, Function | ast.ClassDef) else body
            yield from _samples(text, statement, inner)


def _of_statement(text: PythonText, block: Sequence[ast.stmt], statement: ast.stmt, body: ast.AST) -> Iterator[_Sample]:
    if not isinstance(statement, ast.Expr | ast.Assign | ast.Return) or statement.value is None:
        return
    for call, chain in _chains(statement.value, ()):
        api = api_of(call)
        forwards = api is None
        api = api or _named(call.args[0])
        entry = entry_of(api) if api is not None else None
        if api is None or entry is None:
            continue
        makes = len(entry.returned)
        around, end, root = _around(text, chain, call, forwards)
        whole = (chain[0] if chain else call) is statement.value
        name = _status_name(statement)
        driver = module_of(api) == "driver"
        sample = _Sample(Way((around, end), forwards), driver, not _ONLY_DRIVER.match(api), bool(makes), body, root)
        if isinstance(statement, ast.Expr) and whole and not makes:
            yield replace(sample, way=Way((around + HOLE + end,), forwards))
        elif isinstance(statement, ast.Assign) and name and whole and makes <= 1:
            yield from _unpacked(text, block, statement, sample)
        elif makes == 1 and (chain or forwards) and not name:
            yield replace(sample, way=Way((f"{TARGET} = {around}{HOLE}{end}",), forwards))


def _unpacked(text: PythonText, block: Sequence[ast.stmt], statement: ast.Assign, sample: _Sample) -> Iterator[_Sample]:
    """Yield `err, x = f()` with the look at `err` behind it."""
    around, end = sample.way.lines
    target = statement.targets[0]
    left = text.of(target)
    name = _status_name(statement)
    if sample.makes:
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != 2:
            return
        left = f"{name}, {TARGET}"
    elif isinstance(target, ast.Tuple) and not text.of(target).startswith("("):
        left = f"{name},"
    lines = [f"{left} = {around}{HOLE}{end}"]
    looked = unit_of(block, statement)[1:]
    for each in looked:
        if sample.makes and _reads(each, getattr(target.elts[1], "id", "\0")):  # type: ignore[attr-defined]
            continue
        _, line, column, last, _ = text.span(each)
        lines += [further[column - 1 :] for further in text.lines[line - 1 : last]]
    lines = [line.split("  #")[0].rstrip() for line in lines]
    yield replace(sample, way=Way(tuple(lines), sample.way.forwards))


def _chains(node: ast.AST, chain: tuple[ast.expr, ...]) -> Iterator[tuple[ast.Call, tuple[ast.expr, ...]]]:
    """Yield the calls of the API in an expression, each with what takes its result: calls of one argument, `[0]`."""
    if isinstance(node, ast.Call) and (api_of(node) or (node.args and _named(node.args[0]))):
        yield node, chain
        return
    for child in ast.iter_child_nodes(node):
        takes = (isinstance(node, ast.Call) and node.args == [child] and not node.keywords) or (
            isinstance(node, ast.Subscript) and node.value is child and isinstance(node.slice, ast.Constant)
        )
        yield from _chains(child, (*chain, node) if takes and isinstance(node, ast.expr) else ())


def _around(text: PythonText, chain: Sequence[ast.expr], call: ast.Call, forwards: bool) -> tuple[str, str, str]:
    """Return what stands before and behind a call in its chain, and the name that the chain begins with."""
    begin = end = root = ""
    for node in reversed(chain):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in vars(builtins):
            continue  # `int(check(f()))`
        if isinstance(node, ast.Call):
            begin, end = f"{text.of(node.func)}({begin}", f"{end})"
            root = root or _root(node.func)
        elif isinstance(node, ast.Subscript):
            end = f"{end}[{text.of(node.slice)}]"
    if forwards:
        begin, end = f"{begin}{text.of(call.func)}(", f"){end}"
        root = root or _root(call.func)
    return begin, end, root


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
