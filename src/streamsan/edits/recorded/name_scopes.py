"""Which names mean the same at two places of a Python text, and which surely have a value at one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import lru_cache

from streamsan.edits.python.places import Function, PythonPlace, With, blocks

Scope = tuple[int, str]
"""what owns a variable (the id of its node), and an expression that begins with it"""
CURRENT = ("current_stream", "get_current_stream")
"""functions whose result depends on where they are called"""


def root_of(node: ast.expr) -> str:
    """Return the variable that an expression names something by, "" where it does more than that."""
    while isinstance(node, ast.Attribute) or (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant | ast.UnaryOp)
    ):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_current(node: ast.expr) -> bool:
    """Tell whether an expression asks for the current stream: `torch.cuda.current_stream()`."""
    return isinstance(node, ast.Call) and not node.args and _last(node.func) in CURRENT and bool(root_of(node.func))


def scope_of(text: str, node: ast.expr, path: tuple[ast.AST, ...]) -> Scope | None:
    """Return whose variable an expression begins with at a place; None where that is not clear."""
    if is_current(node):
        inside = [each for each in path if isinstance(each, With | Function | ast.Module)]
        return id(inside[-1]), text
    root = root_of(node)
    if not root:
        return None
    owner = _owner(root, path)
    if root == "self" and isinstance(owner, Function):
        # The attributes of an object are the same in all methods of its class.
        above = path[path.index(owner) - 1] if owner in path else None
        owner = above if isinstance(above, ast.ClassDef) and text != root else owner
    return (id(owner), text) if owner is not None else None


def is_bound(root: str, place: PythonPlace) -> bool:
    """Tell whether a variable surely has a value where code is put in at a place's statement."""
    owner = _owner(root, place.path)
    if owner is None:
        return hasattr(builtins, root)
    if isinstance(owner, Function):
        arguments = owner.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if root in {each.arg for each in (*given, *filter(None, (arguments.vararg, arguments.kwarg)))}:
            return True
    elif owner is not place.body:
        # A function is called when its module is read.
        return any(root in _stored(each) for each in owner.body) if isinstance(owner, ast.Module) else False
    if owner is not place.body:
        return False
    return any(root in names for names in _before(place))


def is_stored_once(text: str, body: ast.AST) -> bool:
    """Tell whether a function gives a value to a variable, or an attribute, at exactly one place."""
    stores = [
        node
        for node in ast.walk(body)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) == text
    ]
    return len(stores) == 1


def is_stored(name: str, body: ast.AST) -> bool:
    """Tell whether a function gives a value to a variable that may be its parameter."""
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name for node in ast.walk(body)
    )


def _before(place: PythonPlace) -> Iterator[frozenset[str]]:
    """Yield what statements give values to that are run before a place, whenever that is reached."""
    for node in place.path:
        for block in blocks(node):
            own = next((number for number, each in enumerate(block) if any(each is inner for inner in place.path)), 0)
            if any(each is inner for each in block for inner in place.path):
                for each in block[:own]:
                    yield _surely_stored(each)
        if isinstance(node, ast.For | ast.AsyncFor) and node is not place.statement:
            yield _stored(node.target)
        if isinstance(node, With) and node is not place.statement:
            for item in node.items:
                if item.optional_vars is not None:
                    yield _stored(item.optional_vars)


def _surely_stored(statement: ast.stmt) -> frozenset[str]:
    if isinstance(statement, With):
        return frozenset().union(*map(_surely_stored, statement.body))
    if any(True for _ in blocks(statement)) and not isinstance(statement, Function | ast.ClassDef):
        return frozenset()
    if isinstance(statement, Function | ast.ClassDef):
        return frozenset((statement.name,))
    return _stored(statement)


@lru_cache(maxsize=4096)
def _stored(node: ast.AST) -> frozenset[str]:
    """Return the variables that code gives values to, without that of functions in it."""
    found: set[str] = set()
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name.partition(".")[0] for alias in each.names)
        if isinstance(each, Function | ast.ClassDef):
            found.add(each.name)
        elif not isinstance(each, ast.Lambda):
            pending += ast.iter_child_nodes(each)
    return frozenset(found)


def _owner(root: str, path: tuple[ast.AST, ...]) -> ast.AST | None:
    """Return the function, or the module, whose variable a name is at the end of a path."""
    for node in reversed(path):
        if isinstance(node, Function):
            arguments = node.args
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            names = {each.arg for each in (*given, *filter(None, (arguments.vararg, arguments.kwarg)))}
            if root in names or any(root in _stored(each) for each in node.body):
                return node
        elif isinstance(node, ast.Module):
            return node if any(root in _stored(each) for each in node.body) else None
    return None


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
