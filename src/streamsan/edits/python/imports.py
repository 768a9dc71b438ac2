"""How a module calls the functions of cuda.bindings: by a module's name, or by their own; and imports put in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from streamsan.edits.layout import inserted
from streamsan.edits.python.places import Function, PythonPlace
from streamsan.findings.finding import Edit

OF_MODULE = {
    "cuda.bindings.runtime": "runtime",
    "cuda.bindings.driver": "driver",
    "cuda.cudart": "runtime",
    "cuda.cuda": "driver",
}
"""module -> which API it has"""


class Import(Struct, frozen=True):
    """One name that an import statement gives."""

    statement: ast.Import | ast.ImportFrom
    api: str
    """runtime or driver"""
    name: str
    """what is to be written: `cudart`, `cuda.bindings.runtime`; of one function, its name here"""
    function: str = ""
    """the function, "*" for all; "" for the module"""


def imports_of(place: PythonPlace) -> Iterator[Import]:
    """Yield what is imported of cuda.bindings and visible at a place."""
    for node, within in _statements(place.text.tree, ()):
        if not all(any(each is above for above in place.path) for each in within):
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in OF_MODULE:
                    yield Import(node, OF_MODULE[alias.name], alias.asname or alias.name)
        elif not node.level and node.module is not None:
            for alias in node.names:
                whole = OF_MODULE.get(f"{node.module}.{alias.name}")
                if whole is not None:
                    yield Import(node, whole, alias.asname or alias.name)
                elif node.module in OF_MODULE:
                    yield Import(node, OF_MODULE[node.module], alias.asname or alias.name, alias.name)


def _statements(
    node: ast.AST, within: tuple[ast.AST, ...]
) -> Iterator[tuple[ast.Import | ast.ImportFrom, tuple[ast.AST, ...]]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, within
        elif isinstance(child, ast.stmt | ast.excepthandler):
            yield from _statements(child, (*within, child) if isinstance(child, Function | ast.ClassDef) else within)


def longer_import(place: PythonPlace, statement: ast.ImportFrom, name: str) -> Edit:
    """Return the edit that lets `from ... import a, b` import one more name."""
    span = place.text.span(statement.names[-1])
    before = place.text.lines[span.line - 1][: span.column - 1]
    # Names that have a line each keep it so.
    new = f", {name}" if before.strip() else f",\n{before}{name}"
    return inserted(span.file, span.end_line, span.end_column, new)


def new_import(place: PythonPlace, text: str) -> Edit:
    """Return the edit that puts an import behind those at the top of a module."""
    body = place.text.tree.body
    imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
    line = place.text.span(imports[-1]).end_line + 1 if imports else place.text.span(body[0]).line
    return inserted(place.text.name, line, 1, text + "\n")


def defined_at_top(tree: ast.Module, name: str) -> bool:
    """Tell whether a module gives a name at its top: by a definition, an import or an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if any((each.asname or each.name.partition(".")[0]) == name or each.name == "*" for each in node.names):
                return True
        elif isinstance(node, Function | ast.ClassDef) and node.name == name and node in tree.body:
            return True
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for statement in tree.body
        if not isinstance(statement, Function | ast.ClassDef)
        for node in ast.walk(statement)
    )
