"""What the first thread of a kernel surely touches: the first element behind a pointer parameter, if it must.

The body is followed for the thread whose every index is 0. An offset counts as 0 only when it is built from indices,
literals and sizes alone: anything that comes from a scalar parameter, a structure, a template's parameter, constant
memory or a load is unknown, unless it is multiplied by an index. Conditions must be decided by such values; a range
guard (`i < n`) is taken to hold. Where anything is unsure, nothing is claimed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from streamsan.cuda_syntax.tree import (
    Assign,
    Binary,
    Block,
    Break,
    Call,
    Cast,
    Conditional,
    Continue,
    DoWhile,
    Expression,
    ExpressionStatement,
    For,
    Function,
    If,
    Index,
    Lambda,
    Literal_,
    Macro,
    Member,
    Name,
    Return,
    SizeOf,
    Statement,
    Unary,
    Unit,
    Variable,
    While,
)
from streamsan.cuda_syntax.walk import nodes

_INDICES: Final = ("threadIdx", "blockIdx")
_EXTENTS: Final = ("blockDim", "gridDim")
_TAKE_VALUES: Final = ("__", "atomic", "printf", "assert", "tex", "min", "max", "fma", "make_")
"""Beginnings of names of functions that do not change variables they are given."""
_MAX_CALLS: Final = 4
_LARGEST_BODY: Final = 20_000


class _Sign(Enum):
    POSITIVE = "a number above 0"


@dataclass(frozen=True, slots=True)
class _At:
    """The address of the first element behind a parameter."""

    parameter: str


_Value = int | _Sign | _At | None
_POSITIVE: Final = _Sign.POSITIVE


class _Leaves(Exception):  # noqa: N818
    """The first thread leaves the function here, with this value."""

    def __init__(self, value: _Value) -> None:
        self.value = value


class _Breaks(Exception):  # noqa: N818
    """The first thread leaves the loop's iteration here."""


@dataclass(slots=True)
class Touched:
    """Parameters whose first element the first thread surely reads, or writes."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)


def surely_touched(function: Function, unit: Unit | None = None) -> Touched:
    """Return the pointer parameters of a kernel whose first element every launch touches."""
    found = Touched()
    if function.body is None:
        return found
    functions = {} if unit is None else unit.functions_with_bodies()
    known: dict[str, _Value] = {
        p.name: _At(p.name) if p.type.pointers == 1 and not p.type.array and not p.type.function else None
        for p in function.parameters
    }
    bounds = {name for name, value in known.items() if value is None}
    walk = _FirstThread(functions, {} if unit is None else unit.macros, found, known, bounds, 0)
    try:
        walk.run(function.body)
    except _TooMuch:
        return Touched()
    return found


class _TooMuch(Exception):  # noqa: N818
    """The body is too large to follow."""


class _FirstThread:
    """One function, for thread 0 of block 0."""

    def __init__(
        self,
        functions: dict[str, list[Function]],
        macros: dict[str, Macro],
        found: Touched,
        known: dict[str, _Value],
        bounds: set[str],
        level: int,
    ) -> None:
        self.functions = functions
        self.macros = macros
        self.found = found
        self.known = known
        self.bounds = bounds
        """Names of unknown numbers that come straight from the launch: they may bound a range."""
        self.level = level
        self.sure = True
        """The statement under way is executed for certain."""
        self.steps = 0

    def run(self, body: Block) -> _Value:
        """Follow a body; return what the function returns."""
        try:
            self.block(body)
        except _Leaves as left:
            return left.value
        except _Breaks:
            return None
        return None

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, node: Block) -> None:
        for part in node.body:
            self.statement(part)

    def statement(self, node: Statement) -> None:
        self.steps += 1
        if self.steps > _LARGEST_BODY:
            raise _TooMuch
        if isinstance(node, Block):
            self.block(node)
        elif isinstance(node, ExpressionStatement):
            self.value(node.expression)
        elif isinstance(node, Variable):
            self._variable(node)
        elif isinstance(node, If):
            self._if(node)
        elif isinstance(node, For):
            for part in node.init:
                self.statement(part)
            self._loop(node, node.condition, node.body)
        elif isinstance(node, While):
            self._loop(node, node.condition, node.body)
        elif isinstance(node, DoWhile):
            self._loop(node, None, node.body)
        elif isinstance(node, Return):
            value = self.value(node.value) if node.value is not None else None
            if self.sure:
                raise _Leaves(value)
        elif isinstance(node, Break | Continue):
            if self.sure:
                raise _Breaks
        else:  # a switch, a jump, text that nobody could read: it may lead anywhere
            self._forget(node)
            self.sure = False

    def _variable(self, node: Variable) -> None:
        value: _Value = None
        self.bounds.discard(node.name)
        given = [*([] if node.initializer is None else [node.initializer]), *(node.arguments or ())]
        if node.type.reference:
            for part in given:
                self._place(part)
        elif node.device != "shared" and not node.static:
            values = [self.value(part) for part in given]
            if len(values) == 1 and not node.type.array:
                value = values[0]
                if value is None and self._is_bound(given[0]):
                    self.bounds.add(node.name)
        self.known[node.name] = value
        for name in node.bindings:
            self.known[name] = None

    def _if(self, node: If) -> None:
        if node.init is not None:
            self.statement(node.init)
        guard = node.otherwise is None
        truth = self.truth(node.condition, guard)
        if truth is True:
            self.statement(node.then)
        elif truth is False:
            if node.otherwise is not None:
                self.statement(node.otherwise)
        else:
            self._unsure([part for part in (node.then, node.otherwise) if part is not None])

    def _unsure(self, parts: list[Statement]) -> None:
        """Parts that may or may not run: what they assign is unknown, and they may leave."""
        for part in parts:
            self._forget(part)
            if _may_leave(part, self.macros):
                self.sure = False

    def _loop(self, node: Statement, condition: Expression | None, body: Statement) -> None:
        truth = True if condition is None else self.truth(condition, True)
        if truth is True:
            leaves = _may_leave(body, self.macros)
            with suppress(_Breaks):
                self.statement(body)
            # Later iterations may leave where the first one did not.
            self.sure = self.sure and not leaves
        elif truth is None and (_may_leave(body, self.macros) or _waits(condition)):
            self.sure = False
        if truth is not False:
            self._forget(node)

    def _forget(self, node: object) -> None:
        """What a part assigns is not known after it."""
        for part in nodes(node):
            target: Expression | None = None
            if isinstance(part, Assign):
                target = part.target
            elif isinstance(part, Unary) and part.operator in ("++", "--", "post++", "post--", "&"):
                target = part.operand
            elif isinstance(part, Call):
                for argument in part.arguments:  # it may be taken by reference
                    if isinstance(argument, Name):
                        self._lose(argument.name)
            elif isinstance(part, Variable):
                self.known[part.name] = None
            if isinstance(target, Name):
                self._lose(target.name)

    def _lose(self, name: str) -> None:
        self.bounds.discard(name)
        if name in self.known:
            self.known[name] = None

    # -- conditions ------------------------------------------------------------------------------------------------

    def truth(self, node: Expression, guard: bool) -> bool | None:
        """Decide a condition; `guard`: a comparison of 0 with a bound that nobody knows is one of range."""
        if isinstance(node, Unary) and node.operator == "!":
            inner = self.truth(node.operand, guard)
            return None if inner is None else not inner
        if isinstance(node, Binary) and node.operator in ("&&", "||"):
            stops = node.operator == "||"
            left = self.truth(node.left, guard)
            if left is stops:
                return stops
            was, self.sure = self.sure, self.sure and left is not None
            right = self.truth(node.right, guard)
            self.sure = was
            return stops if right is stops else right if left is not None else None
        if isinstance(node, Binary) and node.operator in ("<", "<=", ">", ">=", "==", "!="):
            return self._compared(node, guard)
        if isinstance(node, Call) and self._callee(node) in ("__builtin_expect", "likely", "unlikely"):
            return self.truth(node.arguments[0], guard) if node.arguments else None
        value = self.value(node)
        if isinstance(value, int):
            return bool(value)
        return True if value is _POSITIVE else None

    def _compared(self, node: Binary, guard: bool) -> bool | None:
        left, right = self.value(node.left), self.value(node.right)
        operator = node.operator
        if isinstance(left, int) and isinstance(right, int):
            return {
                "<": left < right,
                "<=": left <= right,
                ">": left > right,
                ">=": left >= right,
                "==": left == right,
                "!=": left != right,
            }[operator]
        if left == 0 and (right is _POSITIVE or (guard and right is None and self._ranges(node.left, node.right))):
            return {"<": True, "<=": True, ">=": False, ">": False}.get(operator)
        if right == 0 and (left is _POSITIVE or (guard and left is None and self._ranges(node.right, node.left))):
            return {">": True, ">=": True, "<=": False, "<": False}.get(operator)
        return None

    def _ranges(self, index: Expression, bound: Expression) -> bool:
        """Tell whether a comparison is a range's: of an index, not of a number as written, with a bound."""
        while isinstance(index, Cast):
            index = index.operand
        return not isinstance(index, Literal_) and self._is_bound(bound)

    def _is_bound(self, node: Expression) -> bool:
        """Tell whether an unknown can only be a count: what the launch gave, multiplied or divided."""
        if isinstance(node, Cast):
            return self._is_bound(node.operand)
        if isinstance(node, Binary):
            return node.operator in ("*", "/") and self._is_bound(node.left) and self._is_bound(node.right)
        if isinstance(node, Member):
            return not node.arrow and self._is_bound(node.object)
        if isinstance(node, Name):
            return node.name in self.bounds or node.name not in self.known
        return isinstance(node, Literal_ | SizeOf)

    # -- expressions -----------------------------------------------------------------------------------------------

    def value(self, node: Expression | None) -> _Value:
        """Evaluate an expression, noting what it touches."""
        self.steps += 1
        if self.steps > _LARGEST_BODY:
            raise _TooMuch
        if isinstance(node, Literal_):
            return int(node.value) if isinstance(node.value, int) else None
        if isinstance(node, Name):
            return self._name(node.name)
        if isinstance(node, Cast):
            return self.value(node.operand)
        if isinstance(node, Member):
            return self._member(node)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, Index):
            self._touch(node, "read")
            return None
        if isinstance(node, Assign):
            return self._assign(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Conditional):
            truth = self.truth(node.condition, False)
            if truth is not None:
                return self.value(node.then if truth else node.otherwise)
            self._forget(node.then)
            self._forget(node.otherwise)
            return None
        if isinstance(node, SizeOf):
            return _POSITIVE
        if node is not None and not isinstance(node, Lambda):
            self._forget(node)
        return None

    def _name(self, name: str) -> _Value:
        if name in self.known:
            return self.known[name]
        if name == "warpSize":
            return 32
        macro = self.macros.get(name)
        if macro is not None and macro.parameters is None and isinstance(macro.expression, Literal_):
            return self.value(macro.expression)
        return None

    def _member(self, node: Member) -> _Value:
        held = node.object
        if isinstance(held, Name) and held.name not in self.known:
            if held.name in _INDICES:
                return 0
            if held.name in _EXTENTS:
                return _POSITIVE
        self._touch(node, "read")
        return None

    def _binary(self, node: Binary) -> _Value:
        if node.operator in ("&&", "||"):
            truth = self.truth(node, False)
            return None if truth is None else int(truth)
        if node.operator in ("<", "<=", ">", ">=", "==", "!="):
            truth = self._compared(node, False)
            return None if truth is None else int(truth)
        left, right = self.value(node.left), self.value(node.right)
        operator = node.operator
        if operator == ",":
            return right
        if operator in ("+", "-") and right == 0:
            return left
        if operator == "+" and left == 0:
            return right
        if isinstance(left, int) and isinstance(right, int):
            return _folded(operator, left, right)
        if operator == "+" and _above(left) and _above(right):
            return _POSITIVE
        if operator == "*" and _above(left) and _above(right):
            return _POSITIVE
        if operator in ("*", "&") and (left == 0 or right == 0):
            return 0
        if operator in ("/", "%", "<<", ">>") and left == 0:
            return 0
        return None

    def _unary(self, node: Unary) -> _Value:
        operator = node.operator
        if operator == "&":
            return self._place(node.operand)
        if operator == "*":
            self._touch(node, "read")
            return None
        if operator in ("++", "--", "post++", "post--"):
            self._touch(node.operand, "read")
            self._touch(node.operand, "write")
            old = self.value(node.operand) if isinstance(node.operand, Name) else None
            if isinstance(node.operand, Name) and node.operand.name in self.known:
                step = 1 if "++" in operator else -1
                self.known[node.operand.name] = old + step if isinstance(old, int) else None
            return old if operator.startswith("post") else None
        value = self.value(node.operand)
        if operator == "-":
            return -value if isinstance(value, int) else None
        if operator == "+":
            return value
        if operator == "!" and isinstance(value, int):
            return int(not value)
        return None

    def _assign(self, node: Assign) -> _Value:
        if isinstance(node.target, Name):
            operator = node.operator.removesuffix("=")
            read = Binary(node.span, operator, node.target, node.value) if operator else node.value
            value = self.value(read)
            if node.target.name in self.known:
                self.known[node.target.name] = value
            return value
        value = self.value(node.value)
        if node.operator != "=":
            self._touch(node.target, "read")
        self._touch(node.target, "write")
        return value

    # -- accesses --------------------------------------------------------------------------------------------------

    def _place(self, node: Expression) -> _Value:
        """Return the address of an lvalue, as far as it begins at a parameter's first element."""
        if isinstance(node, Index):
            base, index = self.value(node.base), self.value(node.index)
            return base if isinstance(base, _At) and index == 0 else None
        if isinstance(node, Unary) and node.operator == "*":
            pointer = self.value(node.operand)
            return pointer if isinstance(pointer, _At) else None
        if isinstance(node, Member) and not node.arrow and node.member == "x":
            return self._place(node.object)  # the first member of CUDA's vector types
        if isinstance(node, Member):
            if node.arrow:
                self.value(node.object)
            elif not isinstance(node.object, Name):
                self._place(node.object)
        elif isinstance(node, Cast):
            return self._place(node.operand)
        return None

    def _touch(self, node: Expression, access: str) -> None:
        place = self._place(node)
        if isinstance(place, _At) and self.sure:
            (self.found.reads if access == "read" else self.found.writes).add(place.parameter)

    # -- calls -----------------------------------------------------------------------------------------------------

    def _callee(self, node: Call) -> str:
        return node.callee.name.rpartition("::")[2] if isinstance(node.callee, Name) else ""

    def _call(self, node: Call) -> _Value:
        name = self._callee(node)
        if isinstance(node.callee, Member):
            if node.callee.member == "thread_rank" and not node.arguments:
                return 0
            self.value(node.callee.object)
        macro = self.macros.get(name)
        if macro is not None:
            if _macro_may_leave(macro):
                self.sure = False
            self._forget(node)
            return None
        arguments = [self.value(argument) for argument in node.arguments]
        inner = [f for f in self.functions.get(name, ()) if len(f.parameters) == len(arguments)]
        if inner:
            return self._inner(inner, node, arguments)
        if not name.startswith(_TAKE_VALUES):
            self._forget(node)
        if name.startswith("atomic") and arguments and isinstance(arguments[0], _At) and self.sure:
            self.found.reads.add(arguments[0].parameter)
            self.found.writes.add(arguments[0].parameter)
        elif name.startswith("__ld") and arguments and isinstance(arguments[0], _At) and self.sure:
            self.found.reads.add(arguments[0].parameter)
        elif name.startswith("__st") and arguments and isinstance(arguments[0], _At) and self.sure:
            self.found.writes.add(arguments[0].parameter)
        return None

    def _inner(self, candidates: list[Function], node: Call, arguments: list[_Value]) -> _Value:
        function = candidates[0]
        known: dict[str, _Value] = {}
        bounds: set[str] = set()
        for parameter, argument, value in zip(function.parameters, node.arguments, arguments, strict=True):
            by_reference = bool(parameter.type.reference) and not parameter.type.const
            known[parameter.name] = None if by_reference else value
            if value is None and not by_reference and self._is_bound(argument):
                bounds.add(parameter.name)
            if by_reference and isinstance(argument, Name):
                self._lose(argument.name)
        if len(candidates) > 1 or self.level >= _MAX_CALLS or function.body is None or not self.sure:
            return None
        walk = _FirstThread(self.functions, self.macros, self.found, known, bounds, self.level + 1)
        walk.steps = self.steps
        result = walk.run(function.body)
        self.steps = walk.steps
        return result


def _above(value: _Value) -> bool:
    return value is _POSITIVE or (isinstance(value, int) and value > 0)


def _folded(operator: str, left: int, right: int) -> int | None:
    if operator in ("/", "%") and (right == 0 or left < 0 or right < 0):
        return None
    if operator in ("<<", ">>") and not 0 <= right < 64:
        return None
    if operator == "<<":
        return left << right
    table = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "&": left & right,
        "|": left | right,
        "^": left ^ right,
    }
    if operator in table:
        return table[operator] if abs(table[operator]) < 1 << 63 else None
    if operator == "/":
        return left // right
    if operator == "%":
        return left % right
    return left >> right if operator == ">>" else None


def _macro_may_leave(macro: Macro) -> bool:
    """Tell whether a macro may hold statements that end the function: not one without text, or of assembly alone."""
    return macro.expression is None and _ASSEMBLY.fullmatch(_STRING.sub("", macro.text.strip())) is None


def _may_leave(node: Statement, macros: dict[str, Macro]) -> bool:
    """Tell whether a part may end the function or a loop around it."""
    for part in nodes(node):
        if isinstance(part, Return | Break | Continue) or type(part).__name__ in _JUMPS:
            return True
        if isinstance(part, Call) and isinstance(part.callee, Name):
            macro = macros.get(part.callee.name)
            if (macro is not None and _macro_may_leave(macro)) or part.callee.name in ("__trap", "asm", "exit"):
                return True
    return False


def _waits(condition: Expression | None) -> bool:
    """Tell whether a loop's condition reads memory: what follows may be ordered by whoever writes it."""
    return any(
        isinstance(part, Index)
        or (isinstance(part, Unary) and part.operator == "*")
        or (isinstance(part, Member) and part.arrow)
        or (
            isinstance(part, Call) and isinstance(part.callee, Name) and part.callee.name.startswith(("atomic", "__ld"))
        )
        for part in nodes(condition)
    )


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_ASSEMBLY = re.compile(r"(?:(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\([^;{}]*\)\s*;?)?", re.DOTALL)
_JUMPS: Final = frozenset({"Goto", "Label", "UnparsedStatement", "Switch", "Try"})
