"""A dependency between two nodes of a graph, written where a Python program adds the later one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from streamsan.edits.code_place import Argument
from streamsan.edits.layout import inserted
from streamsan.edits.python.calls import parameter_of, written
from streamsan.edits.python.places import PythonPlace
from streamsan.findings.finding import Edit

NODE = "streamsan_node"
DEPENDENCIES = ("pDependencies", "dependencies")
COUNTS = ("numDependencies",)


def dependent_edits(
    chain: Sequence[PythonPlace | None], first: PythonPlace, second: PythonPlace, api: str
) -> Iterator[tuple[str, list[Edit]]]:
    """Yield a later node made to depend on that of the first place, with the name of that; `chain` is the later's."""
    position = parameter_of(api, *DEPENDENCIES)
    name, more = _named(first)
    if position is not None and name:
        for edits in _added(chain, second, api, position, name):
            yield name, [*more, *edits]


def _named(place: PythonPlace) -> tuple[str, list[Edit]]:
    """Return the variable that holds the node which is added at a place ("": none), with the edit that gives it one."""
    statement = place.statement
    if isinstance(statement, ast.Expr):
        file, line, column, _, _ = place.text.span(statement)
        return NODE, [inserted(file, line, column, f"{NODE} = ")]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return "", []
    target = statement.targets[0]
    if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2:
        target = target.elts[1]
    return place.text.of(target) if isinstance(target, ast.Name | ast.Attribute) else "", []


def _added(
    places: Sequence[PythonPlace | None], place: PythonPlace, api: str, position: int, name: str
) -> Iterator[list[Edit]]:
    """Yield the edits that add a node to the list of dependencies at one level of a chain of calls."""
    found = next((each for each in written(places, api, position) if each.place is place), None)
    counted = _counted(places, api) if place.level == 0 else []
    if found is not None and counted is not None:
        longer = _longer(found, name)
        if longer is not None:
            yield [longer, *counted]


def _longer(found: Argument, name: str) -> Edit | None:
    node = found.node
    if isinstance(node, ast.Constant) and node.value is None:
        return _replaced(found, f"[{name}]")
    if isinstance(node, ast.List | ast.Tuple):
        assert isinstance(found.place, PythonPlace)
        inside = [found.place.text.of(each) for each in node.elts]
        return _replaced(found, f"[{', '.join([*inside, name])}]")
    return None


def _counted(places: Sequence[PythonPlace | None], api: str) -> list[Edit] | None:
    """Return the edit of the number of dependencies beside the list; None where it cannot be made."""
    position = parameter_of(api, *COUNTS)
    found = next(written(places, api, position), None) if position is not None else None
    if found is None:
        return []
    node = found.node
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return [_replaced(found, str(node.value + 1))]
    is_length = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    return [] if is_length else None


def _replaced(found: Argument, text: str) -> Edit:
    return Edit(*found.place.span_of(found.node), text)
