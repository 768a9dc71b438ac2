"""Where in the tree a call was made: the node, its statement, the block that this is one of, the function around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from streamsan.edits.python.text import PythonText
from streamsan.trace.site import Site

Function = ast.FunctionDef | ast.AsyncFunctionDef
Body = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
With = ast.With | ast.AsyncWith
BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A place in a module. `path` leads from the module to the node at the place."""

    file: str
    text: PythonText
    path: tuple[ast.AST, ...]
    level: int
    """how many calls are between it and the operation"""
    at_exit: bool = False
    """the place is the end of a `with` block, not its beginning"""

    @property
    def node(self) -> ast.AST:
        """What stands there: a call in most cases."""
        return self.path[-1]

    @property
    def call(self) -> ast.Call | None:
        """The call at the place, None where it is something else."""
        return self.node if isinstance(self.node, ast.Call) else None

    @property
    def body(self) -> Body:
        """The innermost function, class or module around it."""
        for node in reversed(self.path):
            if isinstance(node, Body):
                return node
        raise AssertionError("a path begins with a module")

    @property
    def statement(self) -> ast.stmt | None:
        """The statement that it is in; None in a lambda, which is run elsewhere."""
        for node in reversed(self.path):
            if isinstance(node, ast.Lambda):
                return None
            if isinstance(node, ast.stmt):
                return node
        return None

    @property
    def block(self) -> list[ast.stmt] | None:
        """The statements that its statement is one of."""
        statement = self.statement
        return block_of(self.path, statement) if statement is not None else None

    @property
    def is_in_loop(self) -> bool:
        """Whether its block is the body of a loop."""
        block = self.block
        return any(isinstance(node, ast.For | ast.AsyncFor | ast.While) and node.body is block for node in self.path)

    @property
    def in_header(self) -> bool:
        """Whether it is in the first line of a compound statement: its condition, what it runs over."""
        return isinstance(self.statement, ast.If | ast.While | ast.For | ast.AsyncFor | With | ast.Match | ast.Try)


def block_of(path: tuple[ast.AST, ...], statement: ast.stmt) -> list[ast.stmt] | None:
    """Return the list of statements that one on a path stands in."""
    for node in path:
        for block in blocks(node):
            if any(each is statement for each in block):
                return block
    return None


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements of a node."""
    for name in BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def find(text: PythonText, site: Site, level: int) -> Spot | None:
    """Return the spot of a site, None where the text has nothing there."""
    if not site.line or not site.column:
        return None
    wanted = (site.line, site.column, site.end_line, site.end_column)
    best: tuple[ast.AST, ...] | None = None
    for path in _paths(text, (text.tree,), wanted):
        own = text.span(path[-1])
        same_end = own[2:] == wanted[2:]
        if own == wanted and (best is None or isinstance(path[-1], ast.Call | ast.expr)):
            best = path
            if isinstance(path[-1], ast.Call):
                break
        elif best is None and same_end and isinstance(path[-1], ast.Call):
            best = path  # a call over several lines, whose place is that of its last name
    return Spot(site.file, text, best, level) if best is not None else None


def _paths(
    text: PythonText, path: tuple[ast.AST, ...], wanted: tuple[int, int, int, int]
) -> Iterator[tuple[ast.AST, ...]]:
    """Yield the paths to all nodes that have a range in them, the outer ones first."""
    for child in ast.iter_child_nodes(path[-1]):
        if not hasattr(child, "lineno"):
            # Arguments, comprehensions and items of `with` have no place of their own.
            yield from _paths(text, (*path, child), wanted)
            continue
        line, end = getattr(child, "lineno", 0), getattr(child, "end_lineno", 0)
        for decorator in getattr(child, "decorator_list", ()):
            line = min(line, decorator.lineno)
        if not line <= wanted[0] <= wanted[2] <= end:
            continue
        own = text.span(child)
        decorated = line < own[0]
        if decorated or (own[:2] <= wanted[:2] and wanted[2:] <= own[2:]):
            yield (*path, child)
            yield from _paths(text, (*path, child), wanted)


def item_of(spot: Spot) -> ast.withitem | None:
    """Return the item of the `with` statement whose beginning or end a spot is, None where it is neither."""
    for above, below in zip(reversed(spot.path[:-1]), reversed(spot.path), strict=False):
        if isinstance(above, ast.withitem) and above.context_expr is below and below is spot.node:
            return above
    statement = spot.node
    if isinstance(statement, With):
        return statement.items[-1]
    return None


def child_in(spot: Spot, block: list[ast.stmt]) -> ast.stmt | None:
    """Return the statement of a block that a spot is in."""
    return next((each for each in block if any(each is node for node in spot.path)), None)


def leaves(statement: ast.stmt) -> bool:
    """Tell whether nothing that stands behind a statement is run."""
    return isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue)
