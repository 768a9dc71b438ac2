"""Variables that hold a status nobody looks at: `error = cudaX();`, then overwritten, or the function ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes


def never_read(
    function: tree.Function | None, statement: tree.Statement, name: str, macros: Mapping[str, tree.Macro]
) -> bool:
    """Tell whether the value that a statement of a function stores in a local variable is surely never looked at."""
    if function is None or function.body is None or _in_macros(name, macros):
        return False
    everything = list(nodes(function.body))
    if any(isinstance(node, tree.Unparsed | tree.UnparsedStatement) for node in everything):
        return False
    declared = [node for node in everything if isinstance(node, tree.Variable) and node.name == name]
    if len(declared) != 1 or declared[0].static or declared[0].type.reference or declared[0].type.pointers:
        return False
    if not any(node is statement for node in everything):
        return False
    if not any(_reads(node, name) for node in _read_parts(function.body, name)):
        return True
    return any(
        _overwritten(block.body[position + 1 :], name)
        for block in everything
        if isinstance(block, tree.Block)
        for position, each in enumerate(block.body)
        if each is statement
    )


def only_in(
    function: tree.Function | None, name: str, calls: Iterable[tree.Expression], macros: Mapping[str, tree.Macro]
) -> bool:
    """Tell whether a local variable of a function is mentioned nowhere but in these expressions."""
    if function is None or function.body is None or _in_macros(name, macros):
        return False
    everything = list(nodes(function.body))
    if any(isinstance(node, tree.Unparsed | tree.UnparsedStatement) for node in everything):
        return False
    if sum(1 for node in everything if isinstance(node, tree.Variable) and node.name == name) != 1:
        return False
    inside = {id(node) for call in calls for node in nodes(call)}
    return all(id(node) in inside for node in everything if _reads(node, name))


def address_of(expression: tree.Expression) -> str:
    """Return the name in `&name`; "" for anything else."""
    if isinstance(expression, tree.Unary) and expression.operator == "&" and isinstance(expression.operand, tree.Name):
        return expression.operand.name
    return ""


def _in_macros(name: str, macros: Mapping[str, tree.Macro]) -> bool:
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(
        name not in (macro.parameters or ()) and word.search(macro.text) is not None for macro in macros.values()
    )


def _reads(node: object, name: str) -> bool:
    return isinstance(node, tree.Name) and node.name == name


def _target(statement: object, name: str) -> tree.Assign | None:
    """Return the assignment, if all that a statement does is to assign to the variable."""
    found = statement.expression if isinstance(statement, tree.ExpressionStatement) else None
    if isinstance(found, tree.Assign) and found.operator == "=" and _reads(found.target, name):
        return found
    return None


def _read_parts(root: object, name: str) -> Iterator[object]:
    """Yield the nodes under a node that are no mere target of an assignment to the variable."""
    targets = {id(found.target) for node in nodes(root) if (found := _target(node, name)) is not None}
    for node in nodes(root):
        if id(node) not in targets:
            yield node


def _overwritten(following: list[tree.Statement], name: str) -> bool:
    for statement in following:
        if not isinstance(statement, tree.ExpressionStatement | tree.Variable):
            return False
        assigned = _target(statement, name)
        if assigned is not None:
            return not any(_reads(node, name) for node in nodes(assigned.value))
        if any(_reads(node, name) for node in nodes(statement)):
            return False
    return False
