"""What expressions are worth to the first thread of a kernel, and what memory they touch for it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Final

from msgspec import Struct, field

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.cuda_images import ImageAccess, image_access
from streamsan.kernels.thread_numbers import COMPARISONS, POSITIVE, At, Value, calculated, compared
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import AccessMode

_INDICES: Final = ("threadIdx", "blockIdx")
_EXTENTS: Final = ("blockDim", "gridDim")
_TAKE_VALUES: Final = ("__", "atomic", "printf", "assert", "tex", "min", "max", "fma", "make_")
"""Beginnings of names of functions that do not change variables they are given."""
_MAX_CALLS: Final = 4
_LARGEST_BODY: Final = 20_000
_STRING = late_pattern(r'"(?:[^"\\]|\\.)*"')
_ASSEMBLY = late_pattern(r"(?:(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\([^;{}]*\)\s*;?)?", re.DOTALL)


class Touched(Struct):
    """Parameters whose first element the first thread surely reads, or writes."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)


class TooMuchError(Exception):
    """The body is too large to follow."""


class ThreadValues(ABC):
    """One function, for thread 0 of block 0: its expressions."""

    def __init__(
        self,
        functions: dict[str, list[tree.Function]],
        macros: dict[str, tree.Macro],
        found: Touched,
        known: dict[str, Value],
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

    @abstractmethod
    def follow(self, function: tree.Function, known: dict[str, Value], bounds: set[str]) -> Value:
        """Follow the body of a function that is called; return what it returns."""

    @abstractmethod
    def last_value(self, node: tree.StatementExpression) -> Value:
        """Follow statements that stand for a value, a function's that was put in place; return it."""

    def step(self) -> None:
        """Count a step. Raises TooMuchError after too many."""
        self.steps += 1
        if self.steps > _LARGEST_BODY:
            raise TooMuchError

    def forget(self, node: object) -> None:
        """What a part assigns is not known after it."""
        for part in nodes(node):
            target: tree.Expression | None = None
            if isinstance(part, tree.Assign):
                target = part.target
            elif isinstance(part, tree.Unary) and part.operator in ("++", "--", "post++", "post--", "&"):
                target = part.operand
            elif isinstance(part, tree.Call):
                for argument in part.arguments:  # it may be taken by reference
                    if isinstance(argument, tree.Name):
                        self.lose(argument.name)
            elif isinstance(part, tree.Variable):
                self.known[part.name] = None
            if isinstance(target, tree.Name):
                self.lose(target.name)

    def lose(self, name: str) -> None:
        """A variable's value is not known from here on."""
        self.bounds.discard(name)
        if name in self.known:
            self.known[name] = None

    def truth(self, node: tree.Expression, guard: bool) -> bool | None:
        """Decide a condition; `guard`: a comparison of 0 with a bound that nobody knows is one of range."""
        if isinstance(node, tree.Unary) and node.operator == "!":
            inner = self.truth(node.operand, guard)
            return None if inner is None else not inner
        if isinstance(node, tree.Binary) and node.operator in ("&&", "||"):
            stops = node.operator == "||"
            left = self.truth(node.left, guard)
            if left is stops:
                return stops
            was, self.sure = self.sure, self.sure and left is not None
            right = self.truth(node.right, guard)
            self.sure = was
            return stops if right is stops else right if left is not None else None
        if isinstance(node, tree.Binary) and node.operator in COMPARISONS:
            return self._compared(node, guard)
        if isinstance(node, tree.Call) and self._callee(node) in ("__builtin_expect", "likely", "unlikely"):
            return self.truth(node.arguments[0], guard) if node.arguments else None
        value = self.value(node)
        if isinstance(value, int):
            return bool(value)
        return True if value is POSITIVE else None

    def _compared(self, node: tree.Binary, guard: bool) -> bool | None:
        left, right = self.value(node.left), self.value(node.right)
        operator = node.operator
        if isinstance(left, int) and isinstance(right, int):
            return compared(operator, left, right)
        if left == 0 and (right is POSITIVE or (guard and right is None and self._ranges(node.left, node.right))):
            return {"<": True, "<=": True, ">=": False, ">": False}.get(operator)
        if right == 0 and (left is POSITIVE or (guard and left is None and self._ranges(node.right, node.left))):
            return {">": True, ">=": True, "<=": False, "<": False}.get(operator)
        return None

    def _ranges(self, index: tree.Expression, bound: tree.Expression) -> bool:
        """Tell whether a comparison is a range's: of an index, not of a number as written, with a bound."""
        while isinstance(index, tree.Cast):
            index = index.operand
        return not isinstance(index, tree.Literal_) and self.is_bound(bound)

    def is_bound(self, node: tree.Expression) -> bool:
        """Tell whether an unknown can only be a count: what the launch gave, multiplied or divided."""
        if isinstance(node, tree.Cast):
            return self.is_bound(node.operand)
        if isinstance(node, tree.Binary) and node.operator == ">>":
            return self.is_bound(node.left) and isinstance(self.value(node.right), int)
        if isinstance(node, tree.Binary):
            return node.operator in ("*", "/") and self.is_bound(node.left) and self.is_bound(node.right)
        if isinstance(node, tree.Member):
            return not node.arrow and self.is_bound(node.object)
        if isinstance(node, tree.Name):
            return node.name in self.bounds or node.name not in self.known
        return isinstance(node, tree.Literal_ | tree.SizeOf)

    def value(self, node: tree.Expression | None) -> Value:
        """Evaluate an expression, noting what it touches."""
        self.step()
        if isinstance(node, tree.Literal_):
            return int(node.value) if isinstance(node.value, int) else None
        if isinstance(node, tree.Name):
            return self._name(node.name)
        if isinstance(node, tree.Cast):
            return self.value(node.operand)
        if isinstance(node, tree.Member):
            return self._member(node)
        if isinstance(node, tree.Binary):
            return self._binary(node)
        if isinstance(node, tree.Unary):
            return self._unary(node)
        if isinstance(node, tree.Index):
            self._touch(node, "read")
            return None
        if isinstance(node, tree.Assign):
            return self._assign(node)
        if isinstance(node, tree.Call):
            return self._call(node)
        if isinstance(node, tree.Conditional):
            truth = self.truth(node.condition, False)
            if truth is not None:
                return self.value(node.then if truth else node.otherwise)
            self.forget(node.then)
            self.forget(node.otherwise)
            return None
        if isinstance(node, tree.SizeOf):
            return POSITIVE
        if isinstance(node, tree.StatementExpression):
            return self.last_value(node)
        if node is not None and not isinstance(node, tree.Lambda):
            self.forget(node)
        return None

    def _name(self, name: str) -> Value:
        if name in self.known:
            return self.known[name]
        if name == "warpSize":
            return 32
        macro = self.macros.get(name)
        if macro is not None and macro.parameters is None and isinstance(macro.expression, tree.Literal_):
            return self.value(macro.expression)
        return None

    def _member(self, node: tree.Member) -> Value:
        held = node.object
        if isinstance(held, tree.Name) and held.name not in self.known:
            if held.name in _INDICES:
                return 0
            if held.name in _EXTENTS:
                return POSITIVE
        self._touch(node, "read")
        return None

    def _binary(self, node: tree.Binary) -> Value:
        if node.operator in ("&&", "||"):
            truth = self.truth(node, False)
            return None if truth is None else int(truth)
        if node.operator in COMPARISONS:
            truth = self._compared(node, False)
            return None if truth is None else int(truth)
        return calculated(node.operator, self.value(node.left), self.value(node.right))

    def _unary(self, node: tree.Unary) -> Value:
        operator = node.operator
        if operator == "&":
            return self.place(node.operand)
        if operator == "*":
            self._touch(node, "read")
            return None
        if operator in ("++", "--", "post++", "post--"):
            self._touch(node.operand, "read")
            self._touch(node.operand, "write")
            old = self.value(node.operand) if isinstance(node.operand, tree.Name) else None
            if isinstance(node.operand, tree.Name) and node.operand.name in self.known:
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

    def _assign(self, node: tree.Assign) -> Value:
        if isinstance(node.target, tree.Name):
            operator = node.operator.removesuffix("=")
            read = tree.Binary(node.span, operator, node.target, node.value) if operator else node.value
            value = self.value(read)
            if node.target.name in self.known:
                self.known[node.target.name] = value
            return value
        value = self.value(node.value)
        if node.operator != "=":
            self._touch(node.target, "read")
        self._touch(node.target, "write")
        return value

    def place(self, node: tree.Expression) -> Value:
        """Return the address of an lvalue, as far as it begins at a parameter's first element."""
        if isinstance(node, tree.Index):
            base, index = self.value(node.base), self.value(node.index)
            return base if isinstance(base, At) and index == 0 else None
        if isinstance(node, tree.Unary) and node.operator == "*":
            pointer = self.value(node.operand)
            return pointer if isinstance(pointer, At) else None
        if isinstance(node, tree.Member) and not node.arrow and node.member == "x":
            return self.place(node.object)  # the first member of CUDA's vector types
        if isinstance(node, tree.Member):
            if node.arrow:
                self.value(node.object)
            elif not isinstance(node.object, tree.Name):
                self.place(node.object)
        elif isinstance(node, tree.Cast):
            return self.place(node.operand)
        return None

    def _touch(self, node: tree.Expression, access: str) -> None:
        place = self.place(node)
        if isinstance(place, At) and self.sure:
            (self.found.reads if access == "read" else self.found.writes).add(place.parameter)

    def _callee(self, node: tree.Call) -> str:
        return node.callee.name.rpartition("::")[2] if isinstance(node.callee, tree.Name) else ""

    def _call(self, node: tree.Call) -> Value:
        name = self._callee(node)
        if isinstance(node.callee, tree.Member):
            if node.callee.member == "thread_rank" and not node.arguments:
                return 0
            self.value(node.callee.object)
        macro = self.macros.get(name)
        if macro is not None:
            if macro_may_leave(macro):
                self.sure = False
            self.forget(node)
            return None
        arguments = [self.value(argument) for argument in node.arguments]
        inner = [f for f in self.functions.get(name, ()) if len(f.parameters) == len(arguments)]
        if inner:
            return self._inner(inner, node, arguments)
        image = image_access(name)
        if image is not None:
            self._image(image, node, arguments)
        elif not name.startswith(_TAKE_VALUES):
            self.forget(node)
        if arguments and isinstance(arguments[0], At) and self.sure:
            if name.startswith(("atomic", "__ld")):
                self.found.reads.add(arguments[0].parameter)
            if name.startswith(("atomic", "__st")):
                self.found.writes.add(arguments[0].parameter)
        return None

    def _image(self, access: ImageAccess, node: tree.Call, arguments: list[Value]) -> None:
        """A function reads or writes the memory behind a texture or surface object."""
        self.forget(node.arguments[:1])  # `surf2Dread(&value, surface, x, y)`
        place = next((at for at, value in enumerate(arguments) if isinstance(value, At)), len(arguments))
        where = node.arguments[place + 1 : place + 1 + access.coordinates]
        if access.coordinates and len(where) == access.coordinates and self.sure and all(map(self._first, where)):
            held = arguments[place]
            assert isinstance(held, At)
            (self.found.writes if access.mode is AccessMode.WRITE else self.found.reads).add(held.parameter)

    def _first(self, node: tree.Expression) -> bool:
        """Tell whether a coordinate is one of the first element: 0, or within it (`x + 0.5f`)."""
        if isinstance(node, tree.Cast):
            return self._first(node.operand)
        if isinstance(node, tree.Literal_) and isinstance(node.value, float):
            return 0 <= node.value < 1
        if isinstance(node, tree.Binary) and node.operator == "+":
            return (self._first(node.left) and self.value(node.right) == 0) or (
                self.value(node.left) == 0 and self._first(node.right)
            )
        return self.value(node) == 0

    def _inner(self, candidates: list[tree.Function], node: tree.Call, arguments: list[Value]) -> Value:
        function = candidates[0]
        known: dict[str, Value] = {}
        bounds: set[str] = set()
        for parameter, argument, value in zip(function.parameters, node.arguments, arguments, strict=True):
            by_reference = bool(parameter.type.reference) and not parameter.type.const
            known[parameter.name] = None if by_reference else value
            if value is None and not by_reference and self.is_bound(argument):
                bounds.add(parameter.name)
            if by_reference and isinstance(argument, tree.Name):
                self.lose(argument.name)
        if len(candidates) > 1 or self.level >= _MAX_CALLS or function.body is None or not self.sure:
            return None
        return self.follow(function, known, bounds)


def macro_may_leave(macro: tree.Macro) -> bool:
    """Tell whether a macro may hold statements that end the function: not one without text, or of assembly alone."""
    return macro.expression is None and _ASSEMBLY.fullmatch(_STRING.sub("", macro.text.strip())) is None
