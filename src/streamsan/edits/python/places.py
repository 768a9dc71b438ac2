"""Where in the tree a call was made: the node, its statement, the block that this is one of, the function around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from streamsan.cuda_syntax.tree import Span
from streamsan.edits.code_place import CodePlace
from streamsan.edits.python.module_text import PythonText
from streamsan.trace.site import Site

Function = ast.FunctionDef | ast.AsyncFunctionDef
With = ast.With | ast.AsyncWith
BLOCKS = ("body", "orelse", "finalbody")


class PythonPlace(CodePlace, frozen=True, kw_only=True):
    """A place in a module."""

    BODIES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

    text: PythonText
    path: tuple[ast.AST, ...]
    statement: ast.stmt | None
    """the statement that it is in; None in a lambda, which is run elsewhere"""
    block: list[ast.stmt] | None

    def span_of(self, node: ast.AST) -> Span:
        return self.text.span(node)

    def statements(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return block

    @property
    def node(self) -> ast.AST:
        """What stands there: a call in most cases."""
        return self.path[-1]

    @property
    def call(self) -> ast.Call | None:
        return self.node if isinstance(self.node, ast.Call) else None

    @property
    def is_in_loop(self) -> bool:
        """Whether its block is the body of a loop."""
        loops = ast.For | ast.AsyncFor | ast.While
        return any(isinstance(node, loops) and node.body is self.block for node in self.path)

    @property
    def in_header(self) -> bool:
        """Whether it is in the first line of a compound statement: its condition, what it runs over."""
        return isinstance(self.statement, ast.If | ast.While | ast.For | ast.AsyncFor | With | ast.Match | ast.Try)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements of a node."""
    for name in BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def find(text: PythonText, site: Site, level: int) -> PythonPlace | None:
    """Return the place of a site, None where the text has nothing there."""
    if not site.line or not site.column:
        return None
    wanted = Span(text.name, site.line, site.column, site.end_line, site.end_column)
    best: tuple[ast.AST, ...] | None = None
    for path in _paths(text, (text.tree,), wanted):
        own = text.span(path[-1])
        same_end = own[3:] == wanted[3:]
        if own == wanted and (best is None or isinstance(path[-1], ast.Call | ast.expr)):
            best = path
            if isinstance(path[-1], ast.Call):
                break
        elif best is None and same_end and isinstance(path[-1], ast.Call):
            best = path  # a call over several lines, whose place is that of its last name
    if best is None:
        return None
    inner = next((node for node in reversed(best) if isinstance(node, ast.stmt | ast.Lambda)), None)
    statement = inner if isinstance(inner, ast.stmt) else None
    around = (block for node in best for block in blocks(node) if any(each is statement for each in block))
    return PythonPlace(span=wanted, path=best, statement=statement, block=next(around, None), level=level, text=text)


def _paths(text: PythonText, path: tuple[ast.AST, ...], wanted: Span) -> Iterator[tuple[ast.AST, ...]]:
    """Yield the paths to all nodes that have a range in them, the outer ones first."""
    for child in ast.iter_child_nodes(path[-1]):
        if not hasattr(child, "lineno"):
            # Arguments, comprehensions and items of `with` have no place of their own.
            yield from _paths(text, (*path, child), wanted)
            continue
        line, end = getattr(child, "lineno", 0), getattr(child, "end_lineno", 0)
        for decorator in getattr(child, "decorator_list", ()):
            line = min(line, decorator.lineno)
        if not line <= wanted.line <= wanted.end_line <= end:
            continue
        own = text.span(child)
        decorated = line < own.line
        if decorated or (own[1:3] <= wanted[1:3] and wanted[3:] <= own[3:]):
            yield (*path, child)
            yield from _paths(text, (*path, child), wanted)


def leaves(statement: ast.stmt) -> bool:
    """Tell whether nothing that stands behind a statement is run."""
    return isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue)
