"""Which names may be written at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamsan.cuda_syntax.tree import (
    Block,
    Class,
    Expression,
    For,
    Function,
    If,
    Lambda,
    Name,
    RangeFor,
    Statement,
    Unit,
    Variable,
)
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.cpp.places import CppPlace, classes_of

_KNOWN = re.compile(r"(this|nullptr|NULL|cuda[A-Z]\w*|cu[A-Z]\w*|CU[_A-Z]\w*|static_cast|reinterpret_cast)\Z")


class Scope:
    """The names that are visible at a place."""

    def __init__(self, unit: Unit, place: CppPlace) -> None:
        self._classes = classes_of(unit)
        self._globals = {name for node in unit.declarations for name in _declared_by(node)}
        self._globals |= {node.name for node in unit.declarations if isinstance(node, Function | Class)}
        self._globals |= set(unit.macros)
        self._own = frozenset(self._of(place))
        closed = any(
            isinstance(node, Lambda) and not node.default and all(name != "this" for name, _, _ in node.captures)
            for node in place.path
        )
        self._fields_here = frozenset(() if closed else self._members(place.path))
        self._locals = self._own | self._fields_here

    def shows(self, expression: Expression) -> bool:
        """Tell whether all that an expression names may be named here."""
        return all(self.has(name) for name in names_in(expression))

    def has(self, name: str) -> bool:
        """Tell whether a name may be written here."""
        if name in self._locals or name in self._globals or _KNOWN.match(name):
            return True
        return any(each.endswith(f"::{name}") or name.endswith(f"::{each}") for each in self._globals)

    def is_member(self, name: str) -> bool:
        """Tell whether a name is a member of the class whose method this is, and nothing else."""
        return name == "this" or (name in self._fields_here and name not in self._own)

    def is_global(self, name: str) -> bool:
        """Tell whether a name is declared outside all functions, and means that here."""
        return name in self._globals and name not in self._locals

    def _of(self, place: CppPlace) -> Iterator[str]:
        path = place.path
        for index in range(len(path) - 1, -1, -1):
            node = path[index]
            following = path[index + 1] if index + 1 < len(path) else None
            if node is place.statement:
                # Code is put before it or behind it: what it declares itself is not visible there.
                continue
            if isinstance(node, Block):
                yield from _before(node.body, following)
            elif isinstance(node, For):
                yield from _before(node.init, None)
            elif isinstance(node, RangeFor):
                yield from _declared_by(node.variable)
            elif isinstance(node, If) and node.init is not None:
                yield from _declared_by(node.init)
            elif isinstance(node, Lambda):
                yield from (parameter.name for parameter in node.parameters)
                yield from (name for name, _, _ in node.captures)
                if not node.default:
                    # Nothing of the function around it is visible that is not captured.
                    return
            elif isinstance(node, Function):
                yield from (parameter.name for parameter in node.parameters)
                return

    def _members(self, path: tuple[object, ...]) -> Iterator[str]:
        for node in path:
            if isinstance(node, Class):
                yield from self._fields(node)
            elif isinstance(node, Function) and "::" in node.name:
                owner = node.name.rpartition("::")[0]
                found = self._classes.get(owner)
                if found is not None:
                    yield from self._fields(found)

    def _fields(self, owner: Class, depth: int = 0) -> Iterator[str]:
        yield from (field.name for field in owner.fields)
        yield from (method.name.rpartition("::")[2] for method in owner.methods)
        for base in owner.bases:
            found = self._classes.get(base.name)
            if found is not None and depth < 8:
                yield from self._fields(found, depth + 1)


def names_in(expression: Expression) -> Iterator[str]:
    """Yield the names that an expression looks up; members are looked up in their objects."""
    for node in nodes(expression):
        if isinstance(node, Name):
            yield node.name


def names_in_statement(statement: Statement) -> Iterator[str]:
    """Yield the names that a statement looks up, less those that it declares itself."""
    own = {node.name for node in nodes(statement) if isinstance(node, Variable) and node is not statement}
    for node in nodes(statement):
        if isinstance(node, Name) and node.name not in own and not node.name.startswith(("std::", "::")):
            yield node.name


def _before(statements: list[Statement], end: object) -> Iterator[str]:
    for statement in statements:
        if statement is end:
            return
        yield from _declared_by(statement)


def _declared_by(node: object) -> Iterator[str]:
    if isinstance(node, Variable):
        yield node.name
        yield from node.bindings
