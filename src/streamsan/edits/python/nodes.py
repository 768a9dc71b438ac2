"""A dependency between two nodes of a graph, written where a Python program adds the later one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from streamsan.edits.python import layout
from streamsan.edits.python.calls import Written, entry_of, parameter_of, written
from streamsan.edits.python.names import Chains
from streamsan.edits.python.spots import Function, Spot
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.order_steps import EdgeBetween
from streamsan.findings.finding import Edit

NODE = "streamsan_node"
DEPENDENCIES = ("pDependencies", "dependencies")
COUNTS = ("numDependencies",)


def dependencies(chains: Chains, step: EdgeBetween) -> Iterator[Variant]:
    """Yield the later node made to depend on the earlier one, where both are added in one function."""
    api = chains.api_at_site(step.later.site)
    position = parameter_of(api, *DEPENDENCIES)
    if position is None:
        return
    spots = chains.spots(step.later.site)
    for level, spot in enumerate(spots):
        if spot is None:
            continue
        for first in chains.spots(step.earlier.site):
            if first is None or first.body is not spot.body or first.node is spot.node:
                continue
            named = _named(first)
            if named is None:
                continue
            name, more = named
            for edits in _added(spots, level, spot, api, position, name):
                line = getattr(spot.node, "lineno", 0)
                yield Variant(f"line {line}: the node depends on `{name}`", (*more, *edits))


def _named(spot: Spot) -> tuple[str, list[Edit]] | None:
    """Return the variable that holds the node which is added at a spot, with the edit that gives it one."""
    statement = spot.statement
    if isinstance(statement, ast.Expr):
        line, column, _, _ = spot.text.span(statement)
        return NODE, [layout.inserted(spot, line, column, f"{NODE} = ")]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2:
        target = target.elts[1]
    return (spot.text.of(target), []) if isinstance(target, ast.Name | ast.Attribute) else None


def _added(
    spots: Sequence[Spot | None], level: int, spot: Spot, api: str, position: int, name: str
) -> Iterator[list[Edit]]:
    """Yield the edits that add a node to the list of dependencies at one level of a chain of calls."""
    found = next((each for each in written(spots, api, position) if each.spot is spot), None)
    counted = _counted(spots, api) if level == 0 else []
    if found is not None and counted is not None:
        longer = _longer(found, name)
        if longer is not None:
            yield [longer, *counted]
    elif level == 1 and spot.call is not None:
        parameter = _left_out(spots, api, position)
        if parameter:
            _, _, end, stop = spot.text.span(spot.call)
            comma = ", " if spot.call.args or spot.call.keywords else ""
            yield [layout.inserted(spot, end, stop - 1, f"{comma}{parameter}=[{name}]")]


def _longer(found: Written, name: str) -> Edit | None:
    node = found.node
    if isinstance(node, ast.Constant) and node.value is None:
        return layout.replaced(found.spot, node, f"[{name}]")
    if isinstance(node, ast.List | ast.Tuple):
        inside = [found.spot.text.of(each) for each in node.elts]
        return layout.replaced(found.spot, node, f"[{', '.join([*inside, name])}]")
    return None


def _counted(spots: Sequence[Spot | None], api: str) -> list[Edit] | None:
    """Return the edit of the number of dependencies beside the list; None where it cannot be made."""
    position = parameter_of(api, *COUNTS)
    found = next(written(spots, api, position), None) if position is not None else None
    if found is None:
        return []
    node = found.node
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return [layout.replaced(found.spot, node, str(node.value + 1))]
    is_length = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    return [] if is_length else None


def _left_out(spots: Sequence[Spot | None], api: str, position: int) -> str:
    """Return the parameter of a helper that its caller leaves out, and that gives the dependencies."""
    entry, innermost = entry_of(api), spots[0]
    if entry is None or innermost is None or not isinstance(innermost.body, Function):
        return ""
    found = next(written(spots, api, position), None)
    if found is None or found.node is None:
        return ""
    arguments = innermost.body.args
    names = {each.arg for each in (*arguments.args, *arguments.kwonlyargs)}
    used = [node.id for node in ast.walk(found.node) if isinstance(node, ast.Name) and node.id in names]
    return used[0] if len(used) == 1 else ""
