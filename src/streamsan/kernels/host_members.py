"""Which members of the object that it is given a host function reads and writes, where it does nothing else.

A function that only computes tells nobody that it is done: who wants its results waits for the stream. One that sets a
flag, counts, locks or calls what nobody can see may have told them: of it nothing is said here, nor where the program
may ask for what it writes until that changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.host_access import OUTPUT, given_names
from streamsan.vocabulary import AccessMode

_MOST_CALLS: Final = 3
_OTHER = (
    tree.Lambda, tree.New, tree.Delete, tree.Launch, tree.Unparsed, tree.UnparsedStatement, tree.StatementExpression,
    tree.Goto, tree.Label, tree.Try,
)  # fmt: skip
_STEPS: Final = ("++", "--", "post++", "post--")


class _DoesMore(Exception):  # noqa: N818
    """The function does more than compute."""


def computed_members(body: tree.Function | tree.Lambda, unit: tree.Unit) -> dict[str, AccessMode]:
    """Return how a host function uses the members of the object that it is given, by their names.

    Empty where it may do more than compute them of each other, and where it computes none.
    """
    names = given_names(body)
    if names is None or body.body is None:
        return {}
    parameters = {one.name for one in body.parameters}
    try:
        found = _Computes(unit, names, parameters, 0).uses(body.body)
    except _DoesMore:
        return {}
    written = {name for name, mode in found.items() if mode is not AccessMode.READ}
    return found if written and written.isdisjoint(_asked(unit)) else {}


def _asked(unit: tree.Unit) -> set[str]:
    """Return the members that a program may ask again and again until they change: plain ones tell, too."""
    found: set[str] = set()
    for function in (each for same in unit.functions_with_bodies().values() for each in same):
        says_whether = function.returns.name == "bool" and not function.returns.pointers
        for node in nodes(function.body):
            if isinstance(node, tree.While | tree.DoWhile | tree.For):
                found.update(each.member for each in nodes(node.condition) if isinstance(each, tree.Member))
            elif isinstance(node, tree.If | tree.Conditional):
                found.update(_last_members(node.condition))
            elif isinstance(node, tree.Return) and says_whether:
                found.update(_last_members(node.value))
    return found


def _last_members(condition: object) -> set[str]:
    """Return the members of which a condition asks themselves, not parts of them."""
    members = [each for each in nodes(condition) if isinstance(each, tree.Member)]
    wholes = {id(each.object) for each in members}
    return {each.member for each in members if id(each) not in wholes}


class _Computes:
    """One function: the given object's members are behind some names."""

    def __init__(self, unit: tree.Unit, names: set[str], own: set[str], level: int) -> None:
        self._functions: Mapping[str, list[tree.Function]] = unit.functions_with_bodies()
        self._classes = {each.name: each for each in unit.declarations if isinstance(each, tree.Class)}
        self._unit = unit
        self._names = names
        self._own = set(own)
        """its parameters and plain variables: what it assigns to them nobody else sees"""
        self._level = level

    def uses(self, body: tree.Block) -> dict[str, AccessMode]:
        """Return how the members are used. Raises _DoesMore."""
        parts = list(nodes(body))
        for part in parts:
            if isinstance(part, tree.Variable):
                if part.static or part.extern or (part.type.reference and not part.type.const) or self._acts(part):
                    raise _DoesMore
                if not part.type.pointers:
                    self._own.add(part.name)
        written: set[int] = set()
        members: dict[int, tree.Member] = {
            id(part): part for part in parts if isinstance(part, tree.Member) and self._is_given(part)
        }
        updated: set[int] = set()
        for part in parts:
            if isinstance(part, _OTHER):
                raise _DoesMore
            if isinstance(part, tree.Unary):
                self._unary(part, members)
            elif isinstance(part, tree.Call):
                self._call(part)
            elif isinstance(part, tree.Assign):
                target = self._target(part.target, members)
                if target is not None:
                    if not self._is_computed(part.value):
                        raise _DoesMore
                    (written if part.operator == "=" else updated).add(target)
        found: dict[str, AccessMode] = {}
        for key, member in members.items():
            mode = AccessMode.WRITE if key in written else AccessMode.READ_WRITE if key in updated else AccessMode.READ
            before = found.get(member.member, mode)
            found[member.member] = mode if mode is before else AccessMode.READ_WRITE
        return found

    def _acts(self, part: tree.Variable) -> bool:
        """Tell whether making or ending a variable may do more than hold a value: a lock does."""
        cls = self._classes.get(part.type.name)
        if cls is not None:
            return any(method.constructor or method.destructor for method in cls.methods)
        listed = isinstance(part.initializer, tree.InitList) and part.initializer.items
        return "::" in part.type.name and bool(part.arguments or listed)

    def _is_given(self, part: tree.Member) -> bool:
        return part.arrow and isinstance(part.object, tree.Name) and part.object.name in self._names

    def _unary(self, part: tree.Unary, members: Mapping[int, tree.Member]) -> None:
        whole = list(_wholes(part.operand))
        if part.operator in _STEPS and not self._is_own(whole[-1]):
            raise _DoesMore
        if part.operator == "&" and any(id(each) in members for each in nodes(part.operand)):
            raise _DoesMore
        if part.operator == "*" and isinstance(part.operand, tree.Name) and part.operand.name in self._names:
            raise _DoesMore
        if part.operator == "throw":
            raise _DoesMore

    def _call(self, part: tree.Call) -> None:
        name = part.callee.name if isinstance(part.callee, tree.Name) else ""
        if name in self._unit.macros:
            raise _DoesMore
        if name.rpartition("::")[2] in OUTPUT:
            return
        candidates = self._functions.get(name.rpartition("::")[2], [])
        function = candidates[0] if len(candidates) == 1 else None
        if function is None or function.body is None or self._level >= _MOST_CALLS:
            raise _DoesMore
        own: set[str] = set()
        for parameter in function.parameters:
            if parameter.type.reference and not parameter.type.const:
                raise _DoesMore
            if not parameter.type.pointers and not parameter.type.reference:
                own.add(parameter.name)
        _Computes(self._unit, set(), own, self._level + 1).uses(function.body)

    def _target(self, node: tree.Expression, members: Mapping[int, tree.Member]) -> int | None:
        """Return the member that is assigned, None for an own variable. Raises _DoesMore for others."""
        whole = list(_wholes(node))[-1]
        if id(whole) in members:
            return id(whole)
        if not self._is_own(whole):
            raise _DoesMore
        return None

    def _is_own(self, node: tree.Expression) -> bool:
        while isinstance(node, tree.Index):
            node = list(_wholes(node.base))[-1]
        return isinstance(node, tree.Name) and node.name in self._own

    def _is_computed(self, node: tree.Expression) -> bool:
        """Tell whether a value is none of the words that a flag is set to."""
        return any(
            isinstance(each, tree.Member | tree.Index | tree.Call)
            or (isinstance(each, tree.Name) and each.name in self._own)
            for each in nodes(node)
        )


def _wholes(node: tree.Expression) -> Iterator[tree.Expression]:
    """Yield an expression, and the objects that it is a part of."""
    yield node
    while isinstance(node, tree.Member) and not node.arrow:
        node = node.object
        yield node
