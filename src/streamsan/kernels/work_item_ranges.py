"""Which elements one launch of a kernel reads and writes behind its pointers, where its indices can be followed.

All work-items are followed at once. A number is a sum of axes: the numbers of work-items, and the turns of loops, each
between two bounds and times a factor. What cannot be said so is a number between two bounds, or unknown. A condition
that compares one axis with a constant cuts the axis; one that nobody can decide makes what stands under it unsure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes

MOST_STEPS: Final = 20_000
MOST_CALLS: Final = 4
MOST_ACCESSES: Final = 512
LARGEST: Final = 1 << 40
_AXES: Final = {"x": 0, "y": 1, "z": 2}
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
_MIN: Final = frozenset({"min", "fmin"})
_MAX: Final = frozenset({"max", "fmax"})


class NotFollowedError(Exception):
    """The body does, or may do, what is not followed here."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a kernel is launched: what the numbers of its work-items are."""

    first: tuple[int, int, int]
    """numbers of the first blocks"""
    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    """of a block; where nobody asks for the number in a block, each work-item may be a block of its own"""


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements from `begin` to `end` (exclusive)."""

    begin: int
    end: int
    sure: bool
    """each of them is touched by every such launch; else none outside of them is"""


@dataclass(slots=True)
class Ways:
    """What a launch reads, and writes, through one pointer; None among them: nobody knows where."""

    reads: list[Elements | None] = field(default_factory=list)
    writes: list[Elements | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Axis:
    low: int
    high: int
    dense: bool
    """each number between the bounds occurs, whatever those of other axes are"""
    roots: frozenset[int]
    """the axes that it was made of"""


@dataclass(frozen=True, slots=True)
class _Sum:
    constant: int
    terms: tuple[tuple[int, int], ...] = ()
    """axes with their factors"""


@dataclass(frozen=True, slots=True)
class _Place:
    parameter: str
    offset: _Sum | None


_Value = _Sum | _Place | None


def ranges(
    function: tree.Function,
    functions: Mapping[str, Sequence[tree.Function]],
    macros: Mapping[str, tree.Macro],
    geometry: Geometry,
    numbers: Mapping[str, int],
) -> dict[str, Ways]:
    """Return what one launch touches, by pointer parameters; `numbers` are the values of other parameters.

    Pointers that go where they are not followed are left out. Raises NotFollowedError.
    """
    if function.body is None or 0 in geometry.blocks or 0 in geometry.threads:
        raise NotFollowedError
    walk = _Walk(functions, macros, geometry)
    for parameter in function.parameters:
        if parameter.type.pointers == 1 and not parameter.type.array:
            walk.known[parameter.name] = _Place(parameter.name, _Sum(0))
            walk.found[parameter.name] = Ways()
        else:
            number = numbers.get(parameter.name)
            walk.known[parameter.name] = None if number is None else _Sum(number)
    walk.statement(function.body)
    return {name: ways for name, ways in walk.found.items() if name not in walk.escaped}


class _Walk:
    def __init__(
        self,
        functions: Mapping[str, Sequence[tree.Function]],
        macros: Mapping[str, tree.Macro],
        geometry: Geometry,
    ) -> None:
        self.functions = functions
        self.macros = macros
        self.geometry = geometry
        self.axes: dict[int, _Axis] = {}
        self.known: dict[str, _Value] = {}
        self.found: dict[str, Ways] = {}
        self.escaped: set[str] = set()
        self.sure = True
        self.whole = True
        """an element that is touched here is touched as a whole"""
        self.left = False
        """no work-item goes on here"""
        self.steps = 0
        self.level = 0
        self.accesses = 0
        for at in range(3):
            first, blocks, threads = geometry.first[at], geometry.blocks[at], geometry.threads[at]
            self.axes[at] = _Axis(first, first + blocks - 1, True, frozenset({at}))
            self.axes[3 + at] = _Axis(0, threads - 1, True, frozenset({3 + at}))

    # -- statements --------------------------------------------------------------------------------
    def statement(self, node: tree.Statement | None) -> None:
        """Follow a statement."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NotFollowedError
        if node is None or self.left:
            return
        if isinstance(node, tree.Block):
            for part in node.body:
                self.statement(part)
        elif isinstance(node, tree.ExpressionStatement):
            self.value(node.expression)
        elif isinstance(node, tree.Variable):
            self._variable(node)
        elif isinstance(node, tree.If):
            self.statement(node.init)
            self._if(node.condition, lambda: self.statement(node.then), lambda: self.statement(node.otherwise), node)
        elif isinstance(node, tree.For):
            self._for(node)
        elif isinstance(node, tree.While | tree.DoWhile):
            self._loop(node, [node.condition], node.body)
        elif isinstance(node, tree.Return):
            if node.value is not None:
                self.value(node.value)
            self.left = True
        elif isinstance(node, tree.Break | tree.Continue):
            self.left = True
        else:
            raise NotFollowedError

    def _variable(self, node: tree.Variable) -> None:
        value = self.value(node.initializer) if node.initializer is not None else None
        if node.arguments or node.bindings or node.type.reference:
            raise NotFollowedError
        self.known[node.name] = value if not node.type.array else None

    def _if(
        self, condition: tree.Expression, then: Callable[[], object], otherwise: Callable[[], object], node: object
    ) -> None:
        axes, known, sure = self.axes, self.known, self.sure
        stay: list[tuple[bool, dict[int, _Axis], dict[str, _Value]]] = []
        possible = 0
        for truth, branch in ((True, then), (False, otherwise)):
            self.axes, self.known, self.sure, self.left = dict(axes), dict(known), sure, False
            self.assume(condition, truth)
            if self.left:
                continue
            possible += 1
            branch()
            if not self.left:
                stay.append((truth, self.axes, self.known))
        self.left, self.sure = not stay, sure
        if possible == 1 and stay:
            _, self.axes, self.known = stay[0]
            return
        self.axes, self.known = axes, known
        self._forget(node)
        if len(stay) == 1:
            # The others have left: what is known of those that go on holds from here.
            self.assume(condition, stay[0][0])

    def assume(self, condition: tree.Expression, truth: bool) -> None:
        """Go on with the work-items for which a condition is so; without surety where nobody knows which these are."""
        if isinstance(condition, tree.Unary) and condition.operator == "!":
            self.assume(condition.operand, not truth)
            return
        if isinstance(condition, tree.Binary) and condition.operator in ("&&", "||"):
            if (condition.operator == "&&") is truth:
                self.assume(condition.left, truth)
                if not self.left:
                    self.assume(condition.right, truth)
                return
            self.value(condition.left)
            self.value(condition.right)
            self.sure = False
            return
        if isinstance(condition, tree.Binary) and condition.operator in _OPPOSITE:
            left, right = self.value(condition.left), self.value(condition.right)
            operator = condition.operator if truth else _OPPOSITE[condition.operator]
            self._cut(left, operator, right)
            return
        self._cut(self.value(condition), "!=" if truth else "==", _Sum(0))

    def _cut(self, left: _Value, operator: str, right: _Value) -> None:
        if not isinstance(left, _Sum) or not isinstance(right, _Sum):
            self.sure = False
            return
        difference = self._added(left, right, -1)
        low, high = self.bounds(difference)
        decided = {
            "<": (high < 0, low >= 0),
            "<=": (high <= 0, low > 0),
            ">": (low > 0, high <= 0),
            ">=": (low >= 0, high < 0),
            "==": (low == high == 0, low > 0 or high < 0),
            "!=": (low > 0 or high < 0, low == high == 0),
        }[operator]
        if decided[0]:
            return
        if decided[1]:
            self.left = True
            return
        if len(difference.terms) != 1 or abs(difference.terms[0][1]) != 1:
            self.sure = False
            return
        name, factor = difference.terms[0]
        # axis compared with a constant
        constant = -difference.constant * factor
        if factor < 0:
            operator = _MIRRORED[operator]
        axis = self.axes[name]
        low, high = axis.low, axis.high
        if operator == "<":
            high = min(high, constant - 1)
        elif operator == "<=":
            high = min(high, constant)
        elif operator == ">":
            low = max(low, constant + 1)
        elif operator == ">=":
            low = max(low, constant)
        elif operator == "==":
            low = high = constant
        elif constant == low:
            low += 1
        elif constant == high:
            high -= 1
        else:
            self.sure = False
        # Of an axis that was made of others it is not known which of those are cut.
        self.sure = self.sure and axis.dense and axis.roots == {name}
        self.axes[name] = replace(axis, low=low, high=high)
        for other, made in self.axes.items():
            if other != name and name in made.roots:
                self.axes[other] = replace(made, dense=False)

    def _for(self, node: tree.For) -> None:
        for part in node.init:
            self.statement(part)
        counted = self._counted(node)
        if counted is None:
            self._loop(node, [node.condition, node.step], node.body)
            return
        name, axis = counted
        self._forget(node)
        if axis.high < axis.low:
            return
        number = max(self.axes) + 1
        self.axes[number] = replace(axis, roots=frozenset({number}))
        self.known[name] = _Sum(0, ((number, 1),))
        sure, axes = self.sure, dict(self.axes)
        if _may_leave(node.body):
            self.sure = False
        self.statement(node.body)
        self._after_loop(node, sure, axes)

    def _counted(self, node: tree.For) -> tuple[str, _Axis] | None:
        """Return the variable of a loop that counts upwards, and the numbers that it takes."""
        condition, step = node.condition, node.step
        if not isinstance(condition, tree.Binary) or condition.operator not in ("<", "<=", "!="):
            return None
        if not isinstance(condition.left, tree.Name) or step is None:
            return None
        name = condition.left.name
        assigned = [part for part in nodes(node.body) if _assigns(part) == name]
        by = self._step(step, name)
        start, end = self.known.get(name), self.value(condition.right)
        if assigned or by is None or not isinstance(start, _Sum) or not isinstance(end, _Sum):
            return None
        (low, most), (least, high) = self.bounds(start), self.bounds(end)
        last = high if condition.operator == "<=" else high - 1
        fixed = low == most and least == high
        if condition.operator == "!=" and not (fixed and by == 1):
            return None
        if by > 1 and fixed:
            return name, _Axis(low, low + (last - low) // by * by if last >= low else last, False, frozenset())
        return name, _Axis(low, last, fixed and by == 1, frozenset())

    def _step(self, step: tree.Expression, name: str) -> int | None:
        if isinstance(step, tree.Unary) and step.operator in ("++", "post++"):
            return 1 if isinstance(step.operand, tree.Name) and step.operand.name == name else None
        if isinstance(step, tree.Assign) and step.operator == "+=" and isinstance(step.target, tree.Name):
            value = self.value(step.value)
            if step.target.name == name and isinstance(value, _Sum) and not value.terms and value.constant > 0:
                return value.constant
        return None

    def _loop(self, node: tree.Statement, parts: list[tree.Expression | None], body: tree.Statement) -> None:
        """A loop of which nobody knows how often it turns."""
        sure, axes = self.sure, dict(self.axes)
        self._forget(node)
        self.sure = False
        for part in parts:
            if part is not None:
                self.value(part)
        self.statement(body)
        self._after_loop(node, sure, axes)

    def _after_loop(self, node: tree.Statement, sure: bool, axes: dict[int, _Axis]) -> None:
        self._forget(node)
        self.axes.update(axes)
        self.left = False
        self.sure = sure and not any(isinstance(part, tree.Return) for part in nodes(node))

    def _forget(self, node: object) -> None:
        for part in nodes(node):
            name = _assigns(part)
            if name:
                if isinstance(held := self.known.get(name), _Place):
                    self.known[name] = replace(held, offset=None)
                else:
                    self.known[name] = None

    # -- expressions -------------------------------------------------------------------------------
    def value(self, node: tree.Expression | None) -> _Value:
        """Return what an expression is worth, and note what it touches."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NotFollowedError
        if isinstance(node, tree.Literal_):
            return _Sum(int(node.value)) if isinstance(node.value, int) else None
        if isinstance(node, tree.Name):
            return self._name(node.name)
        if isinstance(node, tree.Cast):
            value = self.value(node.operand)
            if isinstance(value, _Place):
                self.escape(value)
                return None
            return value
        if isinstance(node, tree.Unary):
            return self._unary(node)
        if isinstance(node, tree.Binary):
            return self._binary(node)
        if isinstance(node, tree.Assign):
            return self._assign(node)
        if isinstance(node, tree.Conditional):
            return self._conditional(node)
        if isinstance(node, tree.Index):
            self.access(self._element(node), reads=True)
            return None
        if isinstance(node, tree.Member):
            return self._member(node)
        if isinstance(node, tree.Call):
            return self._call(node)
        if isinstance(node, tree.SizeOf) or node is None:
            return None
        for part in nodes(node):
            if isinstance(part, tree.Name):
                self.escape(self.known.get(part.name))
        return None

    def _name(self, name: str) -> _Value:
        if name in self.known:
            return self.known[name]
        macro = self.macros.get(name)
        if macro is None or macro.parameters is not None:
            return None
        if macro.expression is None:
            raise NotFollowedError
        return self.value(macro.expression)

    def _element(self, node: tree.Index) -> _Value:
        whole, self.whole = self.whole, True  # what is read to find the element
        base, index = self.value(node.base), self.value(node.index)
        self.whole = whole
        if not isinstance(base, _Place):
            return None
        return self._moved(base, index, 1)

    def _moved(self, place: _Place, by: _Value, factor: int) -> _Place:
        if not isinstance(by, _Sum) or place.offset is None:
            return _Place(place.parameter, None)
        return _Place(place.parameter, self._added(place.offset, by, factor))

    def _unary(self, node: tree.Unary) -> _Value:
        operand = node.operand
        if node.operator == "&" and isinstance(operand, tree.Index):
            return self._element(operand)
        if node.operator == "*":
            self.access(self.value(operand), reads=True)
            return None
        if node.operator in ("++", "--", "post++", "post--"):
            place = self._target(operand)
            self.access(place, reads=True, writes=True)
            if isinstance(operand, tree.Name):
                self._set(operand.name, None)
            return None
        value = self.value(operand)
        if node.operator == "-" and isinstance(value, _Sum):
            return self._added(_Sum(0), value, -1)
        if isinstance(value, _Place):
            self.escape(value)
        return value if node.operator == "+" else None

    def _target(self, node: tree.Expression) -> _Value:
        """Return the place that is assigned to, without reading it."""
        if isinstance(node, tree.Index):
            return self._element(node)
        if isinstance(node, tree.Unary) and node.operator == "*":
            return self.value(node.operand)
        if isinstance(node, tree.Member) and not node.arrow:
            return self._target(node.object)
        if isinstance(node, tree.Name):
            return None
        if isinstance(node, tree.Member):
            return self.value(node.object)
        self.value(node)
        return None

    def _set(self, name: str, value: _Value) -> None:
        held = self.known.get(name)
        if isinstance(held, _Place) and not isinstance(value, _Place):
            self.escape(held)
        self.known[name] = value if self.sure else None if not isinstance(held, _Place) else held

    def _assign(self, node: tree.Assign) -> _Value:
        value = self.value(node.value)
        if isinstance(node.target, tree.Name):
            name = node.target.name
            if node.operator != "=":
                held = self.known.get(name)
                sign = {"+=": 1, "-=": -1}.get(node.operator)
                if isinstance(held, _Place):
                    self.known[name] = self._moved(held, value if sign else None, sign or 1)
                    return self.known[name]
                known = isinstance(held, _Sum) and isinstance(value, _Sum) and sign is not None
                value = self._added(held, value, sign) if known else None  # type: ignore[arg-type]
            elif isinstance(value, _Place) and not self.sure:
                self.escape(value)
            self._set(name, value)
            return value
        if isinstance(value, _Place):
            self.escape(value)
        place = self._target(node.target)
        whole, self.whole = self.whole, not isinstance(node.target, tree.Member)
        self.access(place, reads=node.operator != "=", writes=True)
        self.whole = whole
        return None

    def _conditional(self, node: tree.Conditional) -> _Value:
        worth: list[_Value] = []
        self._if(
            node.condition,
            lambda: worth.append(self.value(node.then)),
            lambda: worth.append(self.value(node.otherwise)),
            None,
        )
        for value in worth:
            if isinstance(value, _Place) and len(worth) > 1:
                self.escape(value)
        return worth[0] if len(worth) == 1 else None

    def _member(self, node: tree.Member) -> _Value:
        at = _AXES.get(node.member)
        if isinstance(node.object, tree.Name) and at is not None and node.object.name not in self.known:
            word = node.object.name
            if word in ("blockIdx", "threadIdx"):
                name = at if word == "blockIdx" else 3 + at
                axis = self.axes[name]
                return _Sum(0, ((name, 1),)) if axis.low < axis.high else _Sum(axis.low)
            if word == "blockDim":
                return _Sum(self.geometry.threads[at])
            if word == "gridDim":
                return _Sum(self.geometry.blocks[at])
        value = self._of_part(lambda: self.value(node.object))
        if isinstance(value, _Place):
            self.escape(value)
        return None

    def _of_part(self, evaluate: Callable[[], _Value]) -> _Value:
        """Evaluate what only a part of is used: no element is touched as a whole."""
        whole, self.whole = self.whole, False
        value = evaluate()
        self.whole = whole
        return value

    def _binary(self, node: tree.Binary) -> _Value:
        operator = node.operator
        if operator in ("&&", "||"):
            self.value(node.left)
            sure, self.sure = self.sure, False
            self.value(node.right)
            self.sure = sure
            return None
        left, right = self.value(node.left), self.value(node.right)
        if operator in ("+", "-"):
            sign = 1 if operator == "+" else -1
            if isinstance(left, _Place) and not isinstance(right, _Place):
                return self._moved(left, right, sign)
            if isinstance(right, _Place) and operator == "+":
                return self._moved(right, left, 1)
            if isinstance(left, _Sum) and isinstance(right, _Sum):
                return self._added(left, right, sign)
        for each in (left, right):
            if isinstance(each, _Place):
                self.escape(each)
        if not isinstance(right, _Sum) or right.terms:
            left, right = (right, left) if operator in ("*", "&") else (left, right)
        if operator == "&" and isinstance(right, _Sum) and not right.terms and right.constant >= 0:
            low, high = self.bounds(left) if isinstance(left, _Sum) else (0, right.constant)
            return self._between(0, min(high, right.constant) if low >= 0 else right.constant, left)
        if not isinstance(left, _Sum) or not isinstance(right, _Sum) or right.terms:
            return None
        return self._by_constant(operator, left, right.constant)

    def _by_constant(self, operator: str, left: _Sum, number: int) -> _Value:
        if operator == "<<" and 0 <= number < 32:
            operator, number = "*", 1 << number
        if operator == "*":
            return self._added(_Sum(0), left, number)
        low, high = self.bounds(left)
        if operator == ">>" and 0 <= number < 32:
            operator, number = "/", 1 << number
        if operator == "/" and number > 0 and low >= 0:
            return _Sum(low // number) if low == high else self._between(low // number, high // number, left)
        if operator == "%" and number > 0 and low >= 0:
            if high < number:
                return left
            return self._between(0, number - 1, left) if low != high else _Sum(low % number)
        return None

    def _call(self, node: tree.Call) -> _Value:
        callee = node.callee.name if isinstance(node.callee, tree.Name) else ""
        macro = self.macros.get(callee)
        if macro is not None:
            return self._macro(macro, node)
        values = [self.value(argument) for argument in node.arguments]
        if callee in _MIN | _MAX and len(values) == 2:
            return self._limited(values, callee in _MIN)
        if callee == "clamp" and len(values) == 3:
            return self._limited([self._limited(values[:2], False), values[2]], True)
        if callee.startswith("atomic") and values:
            self.access(values[0], reads=True, writes=True)
            values = values[1:]
        places = [value for value in values if isinstance(value, _Place)]
        if places and not self._followed(callee, values):
            for place in places:
                self.escape(place)
        return None

    def _macro(self, macro: tree.Macro, node: tree.Call) -> _Value:
        parameters = macro.parameters or []
        if macro.name in ("barrier", "work_group_barrier"):
            return None
        if macro.expression is None or macro.variadic or len(parameters) != len(node.arguments):
            raise NotFollowedError
        values = [self.value(argument) for argument in node.arguments]
        known, self.known = self.known, {**self.known, **dict(zip(parameters, values, strict=True))}
        self.level += 1
        if self.level > MOST_CALLS:
            raise NotFollowedError
        worth = self.value(macro.expression)
        self.level -= 1
        self.known = known
        return worth

    def _followed(self, callee: str, values: list[_Value]) -> bool:
        """Follow the body of a function that is given pointers; tell whether that was done."""
        bodies = [each for each in self.functions.get(callee, ()) if each.body is not None]
        if len(bodies) != 1 or self.level >= MOST_CALLS or len(bodies[0].parameters) != len(values):
            return False
        function = bodies[0]
        if function.body is None or _leaves_early(function.body):
            return False
        known, self.known = self.known, {}
        for parameter, value in zip(function.parameters, values, strict=True):
            self.known[parameter.name] = value
        self.level += 1
        self.statement(function.body)
        self.level -= 1
        self.known, self.left = known, False
        return True

    # -- numbers and places ------------------------------------------------------------------------
    def bounds(self, number: _Sum) -> tuple[int, int]:
        """Return between which numbers one lies."""
        low = high = number.constant
        for name, factor in number.terms:
            axis = self.axes[name]
            ends = sorted((axis.low * factor, axis.high * factor))
            low, high = low + ends[0], high + ends[1]
        if max(abs(low), abs(high)) > LARGEST:
            raise NotFollowedError
        return low, high

    def _added(self, left: _Sum, right: _Sum, factor: int) -> _Sum:
        terms = dict(left.terms)
        for name, own in right.terms:
            terms[name] = terms.get(name, 0) + own * factor
        kept = tuple((name, own) for name, own in sorted(terms.items()) if own)
        return _Sum(left.constant + right.constant * factor, kept)

    def _between(self, low: int, high: int, made_of: _Value) -> _Sum:
        """Return a number of which only bounds are known."""
        return self._new_axis(low, high, False, made_of)

    def _new_axis(self, low: int, high: int, dense: bool, made_of: _Value) -> _Sum:
        roots: frozenset[int] = frozenset()
        if isinstance(made_of, _Sum):
            roots = roots.union(*(self.axes[name].roots for name, _ in made_of.terms))
        name = max(self.axes) + 1
        self.axes[name] = _Axis(low, high, dense, roots)
        return _Sum(0, ((name, 1),))

    def _limited(self, values: list[_Value], least: bool) -> _Value:
        """Return the smaller, or the larger, of two numbers."""
        one, other = values
        if not isinstance(one, _Sum) or not isinstance(other, _Sum):
            return None
        if one.terms and other.terms:
            return None
        if not other.terms:
            one, other = other, one
        low, high = self.bounds(other)
        limit = one.constant
        if not other.terms:
            return _Sum(min(limit, low) if least else max(limit, low))
        if (least and high <= limit) or (not least and low >= limit):
            return other
        if (least and low >= limit) or (not least and high <= limit):
            return one
        dense = self._is_dense(other)
        return self._new_axis(low if least else limit, limit if least else high, dense, other)

    def _is_dense(self, number: _Sum) -> bool:
        """Tell whether every number between its bounds occurs."""
        roots: set[int] = set()
        reach = 1
        for name, factor in sorted(number.terms, key=lambda term: abs(term[1])):
            axis = self.axes[name]
            if not axis.dense or roots & axis.roots or (abs(factor) > reach and axis.high > axis.low):
                return False
            roots |= axis.roots
            reach += abs(factor) * (axis.high - axis.low)
        return True

    def access(self, place: _Value, *, reads: bool = False, writes: bool = False) -> None:
        """Note that elements are touched."""
        if not isinstance(place, _Place) or self.left:
            return
        self.accesses += 1
        if self.accesses > MOST_ACCESSES:
            raise NotFollowedError
        touched: Elements | None = None
        if place.offset is not None:
            low, high = self.bounds(place.offset)
            # What lies before the pointer cannot be meant.
            sure = self.sure and self.whole and low >= 0 and self._is_dense(place.offset)
            touched = Elements(max(0, low), high + 1, sure)
            if touched.end <= touched.begin:
                touched = None
        ways = self.found[place.parameter]
        if reads:
            ways.reads.append(touched)
        if writes:
            ways.writes.append(touched)

    def escape(self, value: _Value) -> None:
        """A pointer goes where it is not followed."""
        if isinstance(value, _Place):
            self.escaped.add(value.parameter)


def _assigns(part: object) -> str:
    """Return the variable that a part assigns to, "" for none."""
    target: object = None
    if isinstance(part, tree.Assign):
        target = part.target
    elif isinstance(part, tree.Unary) and part.operator in ("++", "--", "post++", "post--", "&"):
        target = part.operand
    return target.name if isinstance(target, tree.Name) else ""


def _may_leave(node: tree.Statement) -> bool:
    return any(isinstance(part, tree.Return | tree.Break | tree.Continue) for part in nodes(node))


def _leaves_early(body: tree.Block) -> bool:
    """Tell whether a function returns anywhere but in its last statement."""
    returns = [part for part in nodes(body) if isinstance(part, tree.Return)]
    return bool(returns) and not (len(returns) == 1 and body.body and body.body[-1] is returns[0])
