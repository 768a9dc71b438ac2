"""Whether statements may come later than those behind them, for all that they do beside the call that moves them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streamsan.cuda_syntax.tree import (
    Assign,
    Block,
    Call,
    Cast,
    Delete,
    Expression,
    ExpressionStatement,
    For,
    Function,
    If,
    Index,
    Member,
    Name,
    New,
    Parameter,
    RangeFor,
    Statement,
    Unary,
    Unit,
    Unparsed,
    UnparsedStatement,
    Variable,
    While,
)
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.cpp.calls import api_name, is_status_call
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.language import Group

MOST_LEVELS = 3
"""of calls that are looked into"""
_LOOKS = frozenset(
    {"as_const", "at", "back", "begin", "cbegin", "cend", "count", "data", "empty", "end", "find", "first"}
    | {
        "forward",
        "front",
        "get",
        "handle",
        "has_value",
        "move",
        "native_handle",
        "ref",
        "second",
        "size",
        "stream",
        "top",
        "value",
    }
)
"""what functions of libraries are called that change nothing"""
_COUNTING = ("++", "--", "post++", "post--")


class Reordering:
    """The functions of a unit, asked what they change and look at."""

    def __init__(self, unit: Unit) -> None:
        self._functions: dict[str, list[Function]] = {}
        for node in unit.declarations:
            methods = getattr(node, "methods", ())
            for each in (node, *methods):
                if isinstance(each, Function) and each.body is not None:
                    self._functions.setdefault(each.name.rpartition("::")[2], []).append(each)
        self._macros = set(unit.macros)

    def in_the_way(self, group: Group, place: CppPlace, block: Block, target: Statement) -> str:
        """Return why a group of statements may not come behind another one of a block around it, "" if it may.

        `place`: the call that it is moved for.
        """
        own = _calls_that_move(group.statements, place)
        for call in own:
            for argument in _operands(call):
                acting = self._acting(argument)
                if acting:
                    return f"`{acting}` would be called later, too"
        for condition in _conditions(group.statements):
            acting = "" if _makes_one_of(condition, own) else self._acting(condition)
            if acting:
                return f"`{acting}` would be called later, too"
        passed = list(_passed(group, place, block, target))
        declared = {node.name for each in group.statements for node in nodes(each) if isinstance(node, Variable)}
        status = {_last_name(each) for each in _statuses(group.statements)}
        writes = set(self._written(group.statements, 0)) | self._helper_writes(place)
        writes -= declared | status
        names = set(_names(group.statements)) - declared - status
        seen = writes & set(self._mentioned(passed, 0))
        if seen:
            return f"`{min(seen)}` would change later, too"
        changed = names & set(self._written(passed, 0))
        return f"`{min(changed)}` changes before its new place" if changed else ""

    # -- what is changed, and looked at -----------------------------------------------------------

    def _written(self, roots: Iterable[object], level: int) -> Iterator[str]:
        """Yield the names of variables and members that code may change."""
        for root in roots:
            for node in nodes(root):
                if isinstance(node, Assign):
                    yield from _named(node.target)
                elif isinstance(node, Unary) and node.operator in _COUNTING:
                    yield from _named(node.operand)
                elif isinstance(node, Call):
                    yield from self._written_by(node, level)

    def _written_by(self, call: Call, level: int) -> Iterator[str]:
        bodies = self._bodies(call) if level < MOST_LEVELS else ()
        callee = call.callee
        if not bodies and isinstance(callee, Member) and callee.member not in _LOOKS:
            yield from _named(callee.object)
        for argument in () if bodies else call.arguments:
            yield from _named(_pointee(argument))
        for function in bodies:
            for parameter, argument in zip(function.parameters, call.arguments, strict=False):
                if self._sets(function, parameter, level + 1):
                    yield from _named(_pointee(argument) or argument)
            local = _locals(function)
            yield from (name for name in self._written([function.body], level + 1) if name not in local)

    def _sets(self, function: Function, parameter: Parameter, level: int) -> bool:
        """Tell whether a function may change the variable that it is given, by reference or by address."""
        if not _is_handed_out(parameter) and not parameter.type.pointers:
            return False
        for node in nodes(function.body):
            changed = node.target if isinstance(node, Assign) else None
            if isinstance(node, Unary) and node.operator in _COUNTING:
                changed = node.operand
            if isinstance(changed, Unary) and changed.operator == "*":
                changed = changed.operand
            if isinstance(changed, Name) and changed.name == parameter.name:
                return True
            if isinstance(node, Call) and self._hands_on(node, parameter, level):
                return True
        return False

    def _hands_on(self, call: Call, parameter: Parameter, level: int) -> bool:
        """Tell whether a call may change what its function was given for a parameter."""
        bodies = self._bodies(call) if level < MOST_LEVELS else ()
        for number, argument in enumerate(call.arguments):
            given = _pointee(argument) or argument
            if not isinstance(given, Name) or given.name != parameter.name:
                continue
            inner = [each.parameters[number] for each in bodies if number < len(each.parameters)]
            if inner:
                return any(self._sets(each, one, level + 1) for each, one in zip(bodies, inner, strict=False))
            # `cudaMalloc(p, n)` with a `float** p`; `cudaFree(p)` looks at a pointer.
            by_value = api_name(call) is not None and given is argument and parameter.type.pointers < 2
            if not by_value and _called(call) not in self._macros:
                return True
        return False

    def _helper_writes(self, place: CppPlace) -> set[str]:
        """Return what a function that is called sets, where it is a call of one that is moved."""
        return set(self._written_by(place.call, 0)) if isinstance(place.call, Call) else set()

    def _mentioned(self, roots: Iterable[object], level: int) -> Iterator[str]:
        """Yield all names that code looks at, also in functions that it calls."""
        for root in roots:
            yield from _names([root])
            for node in nodes(root):
                for function in self._bodies(node) if isinstance(node, Call) and level < MOST_LEVELS else ():
                    local = _locals(function)
                    yield from (name for name in self._mentioned([function.body], level + 1) if name not in local)

    def _acting(self, expression: Expression, level: int = 0) -> str:
        """Return what an expression calls that may do more than give a value; "" if nothing."""
        for node in nodes(expression):
            if isinstance(node, Unparsed | New | Delete):
                return "new" if isinstance(node, New) else "delete" if isinstance(node, Delete) else node.text
            if not isinstance(node, Call) or api_name(node) is not None:
                continue
            name = _called(node)
            bodies = self._bodies(node)
            if bodies and level < MOST_LEVELS and not any(self._acts(each, level + 1) for each in bodies):
                continue
            if bodies or (name not in _LOOKS and name not in self._macros):
                return name or "a call"
        return ""

    def _acts(self, function: Function, level: int) -> bool:
        body = function.body
        if body is None or any(_is_handed_out(each) for each in function.parameters):
            return True
        if any(isinstance(node, UnparsedStatement) for node in nodes(body)):
            return True
        local = _locals(function)
        return any(name not in local for name in self._written([body], level)) or any(
            bool(self._acting(node, level))
            for each in body.body
            for node in nodes(each)
            if isinstance(node, Call | Delete | New)
        )

    def _bodies(self, call: Call) -> Sequence[Function]:
        name = _called(call)
        found = self._functions.get(name, ())
        fitting = [each for each in found if len(each.parameters) == len(call.arguments)]
        return fitting or found


def _called(call: Call) -> str:
    callee = call.callee
    if isinstance(callee, Member):
        return callee.member
    return callee.name.rpartition("::")[2] if isinstance(callee, Name) else ""


def _is_handed_out(parameter: Parameter) -> bool:
    """Tell whether a function may change what it is given for a parameter."""
    kind = parameter.type
    # `float* const&` is no reference to a constant pointee: it stays on the side of caution.
    return kind.reference == "&" and not (kind.const and not kind.pointers)


def _locals(function: Function) -> set[str]:
    declared = {node.name for node in nodes(function.body) if isinstance(node, Variable) and not node.static}
    return declared | {each.name for each in function.parameters}


def _pointee(expression: Expression) -> Expression | None:
    """Return what an expression is the address of: `&p`."""
    inner = expression.operand if isinstance(expression, Cast) else expression
    return inner.operand if isinstance(inner, Unary) and inner.operator == "&" else None


def _named(expression: Expression | None) -> Iterator[str]:
    name = _last_name(expression) if expression is not None else ""
    if name:
        yield name


def _last_name(expression: Expression) -> str:
    """Return the variable or member that an expression is, or is part of."""
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Member):
        return expression.member
    if isinstance(expression, Index):
        return _last_name(expression.base)
    if isinstance(expression, Cast):
        return _last_name(expression.operand)
    if isinstance(expression, Call) and isinstance(expression.callee, Member):
        return _last_name(expression.callee.object)
    return ""


def _names(roots: Iterable[object]) -> Iterator[str]:
    for root in roots:
        for node in nodes(root):
            if isinstance(node, Name):
                yield node.name
            elif isinstance(node, Member):
                yield node.member


def _operands(call: Expression) -> Sequence[Expression]:
    if isinstance(call, Call):
        callee = [call.callee.object] if isinstance(call.callee, Member) else []
        return [*callee, *call.arguments]
    return [call.operand] if isinstance(call, Delete) else []


def _calls_that_move(statements: Iterable[Statement], place: CppPlace) -> list[Expression]:
    """Return the calls for which statements are moved: of the API, `delete`, and that of the place."""
    found: list[Expression] = []
    for statement in statements:
        for node in nodes(statement):
            is_api = isinstance(node, Call) and api_name(node) is not None
            if node is place.call or is_api or isinstance(node, Delete):
                assert isinstance(node, Expression)
                found.append(node)
    return found


def _makes_one_of(expression: Expression, calls: Sequence[Expression]) -> bool:
    return any(node is call for node in nodes(expression) for call in calls)


def _conditions(statements: Iterable[Statement]) -> Iterator[Expression]:
    for statement in statements:
        for node in nodes(statement):
            if isinstance(node, If | While) or (isinstance(node, For) and node.condition is not None):
                condition = node.condition
                assert condition is not None
                yield condition
            elif isinstance(node, RangeFor):
                yield node.range


def _statuses(statements: Iterable[Statement]) -> Iterator[Expression]:
    """Yield the variables that take the status of a call."""
    for statement in statements:
        made = statement.expression if isinstance(statement, ExpressionStatement) else None
        if isinstance(made, Assign) and any(isinstance(node, Call) and is_status_call(node) for node in nodes(made)):
            yield made.target


def _passed(group: Group, place: CppPlace, block: Block, target: Statement) -> Iterator[Statement]:
    """Yield the statements that a group comes behind: those of its block, and of those around it up to the target."""
    for each in group.blocks:
        assert isinstance(each, Block)
        last = group.statements[-1] if each is group.blocks[0] else place.child_in(each)
        begin = next((number for number, one in enumerate(each.body) if one is last), None)
        if begin is None:
            return
        for statement in each.body[begin + 1 :]:
            yield statement
            if each is block and statement is target:
                return
        if each is block:
            return
