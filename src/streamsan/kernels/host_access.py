"""What a host function does with what it is given, by its body: whether it only reads, and how much it touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.pointer_uses import ESCAPES, READS, AccessWalk
from streamsan.vocabulary import AccessMode

OUTPUT: Final = frozenset(
    ("printf", "fprintf", "puts", "fputs", "fwrite", "putchar", "fputc", "perror", "assert", "print", "println")
)
"""functions that read their arguments, and keep none"""
_CONST_METHODS: Final = frozenset(("c_str", "size", "length", "empty", "load", "get", "what"))


def given_access(body: tree.Function | tree.Lambda, unit: tree.Unit | None = None) -> AccessMode:
    """Return how a host function uses the memory that its last parameter points to.

    READ where the visible body only reads it, else OPAQUE: what it does with a pointer that it hands on, or by a method
    of an object, is not known.
    """
    function = (
        body
        if isinstance(body, tree.Function)
        else tree.Function(body.span, "", body.parameters, tree.Type("void"), body.body)
    )
    if function.body is None or not function.parameters:
        return AccessMode.OPAQUE
    functions = {} if unit is None else unit.functions_with_bodies()
    uses = _HostWalk(function, functions, {} if unit is None else unit.macros, 0).run()
    found = uses.get(function.parameters[-1].name)
    return AccessMode.READ if found is not None and found | READS == READS else AccessMode.OPAQUE


def given_object(body: tree.Function | tree.Lambda) -> tree.Type | None:
    """Return the type of the one object that a host function takes the memory for which its last parameter points to.

    None where it may touch more: what lies behind it, or where the pointer goes elsewhere.
    """
    found = _given(body)
    return None if found is None else tree.Type(found[0])


def given_names(body: tree.Function | tree.Lambda) -> set[str] | None:
    """Return the variables that point to that object; None where `given_object` knows none."""
    found = _given(body)
    return None if found is None else found[1]


def _given(body: tree.Function | tree.Lambda) -> tuple[str, set[str]] | None:
    if body.body is None or not body.parameters:
        return None
    given = body.parameters[-1].name
    everything = list(nodes(body.body))
    casts = [each for each in everything if isinstance(each, tree.Cast) and _is_name(each.operand, {given})]
    types = {each.type.name for each in casts if each.type.pointers == 1 and not each.type.arguments}
    kept = [each for each in everything if isinstance(each, tree.Variable) and _is_one_of(each.initializer, casts)]
    names = {each.name for each in kept}
    through = {id(each.object) for each in everything if isinstance(each, tree.Member) and each.arrow}
    through |= {id(each.operand) for each in everything if isinstance(each, tree.Unary) and each.operator == "*"}
    through |= {id(each.initializer) for each in kept} | {id(each.operand) for each in casts}
    used = [each for each in everything if _is_one_of(each, casts) or _is_name(each, names | {given})]
    if len(types) != 1 or any(id(each) not in through for each in used):
        return None
    return next(iter(types)), names


def _is_name(node: object, names: set[str]) -> bool:
    return isinstance(node, tree.Name) and node.name in names


def _is_one_of(node: object, others: Sequence[object]) -> bool:
    return any(node is other for other in others)


class _HostWalk(AccessWalk):
    """Host code has what kernels have not: methods that change an object, `delete`, functions that nobody sees."""

    def _place(self, node: tree.Expression) -> set[str]:
        if isinstance(node, tree.Name) and node.name in self._bound_references:
            return self.aliases.get(node.name, set())
        return super()._place(node)

    def _visit(self, node: object) -> None:
        if isinstance(node, tree.Delete):
            self._note(self._roots(node.operand), ESCAPES)
        elif isinstance(node, tree.RangeFor) and node.variable.type.reference and not node.variable.type.const:
            self._note(self._roots(node.range) | self._place(node.range), ESCAPES)
        super()._visit(node)

    def _variable(self, node: tree.Variable) -> None:
        items = node.initializer.items if isinstance(node.initializer, tree.InitList) else []
        for argument in (*(node.arguments or ()), *items):
            # A constructor may keep a reference, and write by it: a lock does.
            self._note(self._roots(argument) | self._place(argument), ESCAPES)
        super()._variable(node)

    def _call(self, node: tree.Call) -> None:
        callee = node.callee
        if isinstance(callee, tree.Member) and callee.member not in _CONST_METHODS:
            self._note(self._roots(callee.object) if callee.arrow else self._place(callee.object), ESCAPES)
        super()._call(node)

    def _argument(self, name: str, position: int, pointer: bool, inner: AccessWalk | None) -> int:
        if name in OUTPUT and name not in self.macros:
            return READS
        if inner is None and not pointer:
            return ESCAPES
        return super()._argument(name, position, pointer, inner)
