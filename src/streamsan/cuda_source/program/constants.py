"""Which expressions are constants: nothing happens when they are evaluated, whenever that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.types import SCALAR_SIZES
from streamsan.cuda_syntax import tree

LONG = 64
"""Items of a list from which on its elements are made when they are touched: no loop that is run visits more."""
DEEPEST = 64
"""Expressions and macros inside each other that are looked into."""


class Constants:
    """The constants of a program: literals, enumerators, macros that are constants, and what is computed from them."""

    def __init__(self, known_macros: Mapping[str, tree.Macro], enumerators: Collection[str]) -> None:
        self._known_macros = known_macros
        self._known_enumerators = enumerators
        self._lists: dict[int, tuple[tree.InitList, frozenset[str] | None]] = {}
        self._macros: dict[str, frozenset[str] | None] = {}
        self._enumerators: set[str] = set()
        self._counted = -1

    def names_in(self, expression: tree.Expression, depth: int = 0) -> frozenset[str] | None:
        """Return the names that a constant is made of, which no variable may hide; None for what is no constant."""
        if isinstance(expression, tree.Literal_):
            return frozenset()
        if depth > DEEPEST:
            return None
        if isinstance(expression, tree.InitList):
            return self._in_list(expression, depth)
        if isinstance(expression, tree.Name):
            return None if expression.template_arguments else self._in_name(expression.name, depth)
        if isinstance(expression, tree.Call):
            return self._in_macro_call(expression, depth)
        parts = _operands(expression)
        return None if parts is None else self._in_all(parts, depth)

    def _in_all(self, parts: list[tree.Expression], depth: int) -> frozenset[str] | None:
        names: set[str] = set()
        for part in parts:
            if type(part) is tree.Literal_:
                continue
            found = self.names_in(part, depth + 1)
            if found is None:
                return None
            names |= found
        return frozenset(names)

    def _in_list(self, node: tree.InitList, depth: int) -> frozenset[str] | None:
        if node.type is not None:
            return None
        if len(node.items) < LONG:
            return self._in_all(node.items, depth)
        found = self._lists.get(id(node))  # which is another's if the node is not kept
        if found is None:
            found = self._lists[id(node)] = (node, self._in_all(node.items, depth))
        return found[1]

    def _in_name(self, name: str, depth: int) -> frozenset[str] | None:
        macro = self._known_macros.get(name)
        if macro is not None:
            return None if macro.parameters is not None else self._in_macro(macro, depth)
        if last_name(name) in known_apis.CONSTANTS or self._is_enumerator(last_name(name)):
            return frozenset((name,))
        return None

    def _is_enumerator(self, name: str) -> bool:
        found = self._known_enumerators
        if self._counted != len(found):  # functions declare enumerations, too
            self._counted = len(found)
            self._enumerators = {last_name(key) for key in found}
        return name in self._enumerators

    def _in_macro(self, macro: tree.Macro, depth: int) -> frozenset[str] | None:
        """Return the names of a macro's body, parameters aside."""
        name = macro.name
        if name not in self._macros:
            self._macros[name] = None  # a guard against macros that name each other
            found = None if macro.expression is None else self._in_body(macro, macro.expression, depth)
            self._macros[name] = found
        return self._macros[name]

    def _in_body(self, macro: tree.Macro, expression: tree.Expression, depth: int) -> frozenset[str] | None:
        if isinstance(expression, tree.Name) and expression.name in (macro.parameters or ()):
            return frozenset((macro.name,))
        parts = _operands(expression)
        if parts is None:
            found = self.names_in(expression, depth + 1)
            return None if found is None else found | {macro.name}
        names: set[str] = {macro.name}
        for part in parts:
            found = self._in_body(macro, part, depth + 1) if depth < DEEPEST else None
            if found is None:
                return None
            names |= found
        return frozenset(names)

    def _in_macro_call(self, node: tree.Call, depth: int) -> frozenset[str] | None:
        callee = node.callee
        macro = self._known_macros.get(callee.name) if isinstance(callee, tree.Name) else None
        if macro is None or macro.parameters is None or node.missing_arguments:
            return None
        body, arguments = self._in_macro(macro, depth), self._in_all(node.arguments, depth)
        return None if body is None or arguments is None else body | arguments


def _operands(expression: tree.Expression) -> list[tree.Expression] | None:
    """Return what a computation works on; None if the expression is none, or does more than compute."""
    if isinstance(expression, tree.Unary):
        return [expression.operand] if expression.operator in ("-", "+", "~", "!") else None
    if isinstance(expression, tree.Binary):
        return [expression.left, expression.right]
    if isinstance(expression, tree.Conditional):
        return [expression.condition, expression.then, expression.otherwise]
    if isinstance(expression, tree.Cast):
        type = expression.type
        plain = type.name in SCALAR_SIZES and not type.pointers and not type.reference
        return [expression.operand] if plain else None
    if isinstance(expression, tree.SizeOf):
        known = expression.type is not None and expression.type.name in SCALAR_SIZES
        return [] if known else None
    return None
