"""What expressions in a kernel's body are worth, for all work-items at once, and which elements they touch.

Beside numbers there are places: elements behind a pointer. A condition that compares one axis with a constant cuts the
axis; one that nobody can decide makes what stands under it unsure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeGuard

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.axis_sums import Axes, Axis, Cut, NotFollowedError, Rows, Sum, added

MOST_STEPS: Final = 20_000
MOST_CALLS: Final = 4
MOST_ACCESSES: Final = 512
_AXES: Final = {"x": 0, "y": 1, "z": 2}
AXES_OF_LAUNCH: Final = 6
"""the first ones: the numbers of a block, and those in a block"""
OPPOSITE: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
_MIN: Final = frozenset({"min", "fmin"})
_MAX: Final = frozenset({"max", "fmax"})


class Geometry(Struct, frozen=True):
    """How a kernel is launched: what the numbers of its work-items are."""

    first: tuple[int, int, int]
    """numbers of the first blocks"""
    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    """of a block; where nobody asks for the number in a block, each work-item may be a block of its own"""


class Declared(Struct, frozen=True):
    """What a program says of a kernel beside its text: how many bytes types have, which numbers constants are."""

    sizes: Mapping[str, int]
    """of what pointer parameters point to"""
    size_behind: Callable[[tree.Type], int | None]
    """of what a pointer of a type points to; None: nobody knows"""
    constant: Callable[[str], int | None]
    """the number that a name stands for all over the program; None: none"""
    instance: str = ""
    """which one of a template's instances this is of"""


NOTHING_DECLARED: Final = Declared({}, lambda _: None, lambda _: None)


class Elements(Struct, frozen=True):
    """Elements from `begin` to `end` (exclusive); bytes where `Declared.sizes` says how large an element is."""

    begin: int
    end: int
    sure: bool
    """each of them is touched by every such launch, in the part that is named; else none outside of them is"""
    part: str = ""
    """the member that is touched, by its path ("velocity.x"); "": the element as a whole"""
    rows: Rows | None = None
    """those that are meant, where others between them are not"""


class Ways(Struct):
    """What a launch reads, and writes, through one pointer; None among them: nobody knows where."""

    reads: list[Elements | None] = field(default_factory=list)
    writes: list[Elements | None] = field(default_factory=list)


class Place(Struct, frozen=True):
    """An element behind a pointer parameter."""

    parameter: str
    offset: Sum | None
    unit: int | None = None
    """bytes of what is pointed to, and the offset is in bytes; None: it is in elements"""
    is_cast: bool = False
    """what is pointed to is taken for something else than an element"""


Test = tuple[Sum, str, Sum]
"""A comparison of two numbers."""


class Choice(Struct, frozen=True):
    """A place that is one of several: which one, comparisons say that tell the work-items apart."""

    options: tuple[tuple[tuple[Test, ...], Place], ...]


Value = Sum | Place | Choice | None


class ApartError(Exception):
    """A number is one thing for some work-items and another for the others: they are to be followed apart."""

    def __init__(self, test: Test) -> None:
        super().__init__("apart")
        self.test = test


class ExpressionWalk(ABC):
    """Follows expressions. What follows statements is a class below it."""

    def __init__(
        self,
        functions: Mapping[str, Sequence[tree.Function]],
        macros: Mapping[str, tree.Macro],
        geometry: Geometry,
        declared: Declared,
    ) -> None:
        self.functions = functions
        self.macros = macros
        self.geometry = geometry
        self.declared = declared
        self.axes = Axes({})
        self.known: dict[str, Value] = {}
        self.found: dict[str, Ways] = {}
        self.escaped: set[str] = set()
        self.shared: set[str] = set()
        """variables of a whole block: what other threads write there, nobody knows"""
        self.present: set[str] = set()
        """pointer parameters that are not null"""
        self.sure = True
        self.part: str | None = ""
        """of an element that is touched here, this member (`Elements.part`); None: a part that nobody names"""
        self.left = False
        """no work-item goes on here"""
        self.returned: Value = None
        """by the function that was followed last"""
        self.may_part = False
        """work-items may be followed apart"""
        self.group = Axes({})
        """the axes of all work-items that are followed together"""
        self.steps = 0
        self.level = 0
        self.accesses = 0
        for at in range(3):
            first, blocks, threads = geometry.first[at], geometry.blocks[at], geometry.threads[at]
            self.axes.put(at, Axis(first, first + blocks - 1, True, frozenset({at})))
            self.axes.put(3 + at, Axis(0, threads - 1, True, frozenset({3 + at})))

    @abstractmethod
    def statement(self, node: tree.Statement | None) -> None:
        """Follow a statement."""

    @abstractmethod
    def either(
        self, condition: tree.Expression, then: Callable[[], object], otherwise: Callable[[], object], node: object
    ) -> None:
        """Follow the two branches of `node` (None: an expression)."""

    def value(self, node: tree.Expression | None) -> Value:
        """Return what an expression is worth, and note what it touches."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NotFollowedError
        if isinstance(node, tree.Literal_):
            return Sum(int(node.value or 0)) if isinstance(node.value, int | None) else None
        if isinstance(node, tree.Name):
            return self._name(node.name)
        if isinstance(node, tree.Cast):
            value = self.value(node.operand)
            return self.each_place(value, lambda place: self._cast(place, node.type))
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
        if isinstance(node, tree.SizeOf):
            of = node.type
            size = None if of is None else self.declared.size_behind(replace(of, pointers=of.pointers + 1))
            return None if size is None else Sum(size)
        if node is None:
            return None
        if isinstance(node, tree.Unparsed):
            raise NotFollowedError  # inline assembly, say: its operands are text
        for part in nodes(node):
            if isinstance(part, tree.Name):
                self.escape(self.known.get(part.name))
        return None

    def _name(self, name: str) -> Value:
        if name in self.known:
            return self.known[name]
        macro = self.macros.get(name)
        if macro is None:
            number = self.declared.constant(name)
            return None if number is None else Sum(number)
        if macro.parameters is not None:
            return None
        if macro.expression is None:
            raise NotFollowedError
        return self.value(macro.expression)

    def each_place(self, value: Value, change: Callable[[Place], Place | None]) -> Value:
        """Return a value whose places are changed; other values are as they were."""
        if isinstance(value, Place):
            return change(value)
        if not isinstance(value, Choice):
            return value
        changed = [(tests, change(place)) for tests, place in value.options]
        return Choice(tuple((tests, place) for tests, place in changed if place is not None))

    def _cast(self, place: Place, type: tree.Type) -> Place | None:
        """Return a place as what a pointer of another type points to: a row of an image lies `pitch` bytes away."""
        unit = self.declared.size_behind(type) if type.pointers == 1 and not type.array else None
        if unit is None or place.unit is None:
            self.escape(place)
            return None
        return replace(place, unit=unit, is_cast=True)

    def _element(self, node: tree.Index) -> Value:
        part = self.part
        # What is read to find the element. An element of a member that is an array is a part of the member.
        self.part = None if isinstance(node.base, tree.Member) else ""
        base = self.value(node.base)
        self.part = ""
        index = self.value(node.index)
        self.part = part
        return self.each_place(base, lambda place: self._moved(place, index, 1)) if leads(base) else None

    def _moved(self, place: Place, by: Value, factor: int) -> Place:
        if not isinstance(by, Sum) or place.offset is None:
            return replace(place, offset=None)
        return replace(place, offset=added(place.offset, by, factor * (place.unit or 1)))

    def _unary(self, node: tree.Unary) -> Value:
        operand = node.operand
        if node.operator == "&" and isinstance(operand, tree.Index):
            return self._element(operand)
        if node.operator == "&" and isinstance(operand, tree.Member):
            self.escape(self._target(operand))
            return None
        if node.operator == "*":
            self.access(self._pointer(operand), reads=True)
            return None
        if node.operator in ("++", "--", "post++", "post--"):
            self._access_target(operand, reads=True)
            if isinstance(operand, tree.Name):
                self._set(operand.name, None)
            return None
        value = self.value(operand)
        if node.operator == "-" and isinstance(value, Sum):
            return added(Sum(0), value, -1)
        if leads(value):
            self.escape(value)
        return value if node.operator == "+" else None

    def _target(self, node: tree.Expression) -> Value:
        """Return the place that is assigned to, without reading it."""
        if isinstance(node, tree.Index):
            return self._element(node)
        if isinstance(node, tree.Unary) and node.operator == "*":
            return self._pointer(node.operand)
        if isinstance(node, tree.Member):
            return self._pointer(node.object) if node.arrow else self._target(node.object)
        if isinstance(node, tree.Name):
            return None
        self.value(node)
        return None

    def _pointer(self, node: tree.Expression) -> Value:
        """Return what a pointer is worth, whatever part of its element is asked for."""
        part, self.part = self.part, ""
        value = self.value(node)
        self.part = part
        return value

    def _access_target(self, node: tree.Expression, *, reads: bool) -> None:
        """Note that a place is written, and perhaps read before."""
        place = self._target(node)
        part, self.part = self.part, _path(node)
        self.access(place, reads=reads, writes=True)
        self.part = part

    def _set(self, name: str, value: Value) -> None:
        if name in self.shared:
            self.escape(value)
            return
        held = self.known.get(name)
        if leads(held) and not leads(value):
            self.escape(held)
        self.known[name] = value if self.sure else None if not leads(held) else held

    def _assign(self, node: tree.Assign) -> Value:
        value = self.value(node.value)
        if isinstance(node.target, tree.Name):
            name = node.target.name
            if node.operator != "=":
                held = self.known.get(name)
                sign = {"+=": 1, "-=": -1}.get(node.operator)
                if leads(held):
                    by = value if sign else None
                    self.known[name] = self.each_place(held, lambda place: self._moved(place, by, sign or 1))
                    return self.known[name]
                known = isinstance(held, Sum) and isinstance(value, Sum) and sign is not None
                value = added(held, value, sign) if known else None  # type: ignore[arg-type]
            elif leads(value) and not self.sure:
                self.escape(value)
            self._set(name, value)
            return value
        if leads(value):
            self.escape(value)
        self._access_target(node.target, reads=node.operator != "=")
        return None

    def _conditional(self, node: tree.Conditional) -> Value:
        worth: list[Value] = []
        self.either(
            node.condition,
            lambda: worth.append(self.value(node.then)),
            lambda: worth.append(self.value(node.otherwise)),
            None,
        )
        if len(worth) < 2:
            return worth[0] if worth else None
        test = self.test_of(node.condition)
        if test is not None and all(map(leads, worth)):
            opposite = (test[0], OPPOSITE[test[1]], test[2])
            found = (*_options(test, worth[0]), *_options(opposite, worth[1]))
            if all(self.axes.has(place.offset) for _, place in found if place.offset is not None):
                return Choice(found)
        if worth[0] != worth[1] and all(isinstance(value, Sum) for value in worth):
            self.part_at(test)
        for value in worth:
            self.escape(value)
        return None

    def part_at(self, test: Test | None) -> None:
        """Follow the work-items apart for which a comparison holds and does not, where it says which these are."""
        if not self.may_part or test is None:
            return
        left, operator, right = test
        of_launch = all(name < AXES_OF_LAUNCH for number in (left, right) for name, _ in number.terms)
        if of_launch and all(
            self.group.copy().cut(left, each, right) is Cut.SURE for each in (operator, OPPOSITE[operator])
        ):
            raise ApartError(test)

    def test_of(self, condition: tree.Expression) -> Test | None:
        """Return a condition as a comparison of numbers; None: it is none."""
        if not isinstance(condition, tree.Binary) or condition.operator not in OPPOSITE:
            return None
        left, right = self.value(condition.left), self.value(condition.right)
        known = isinstance(left, Sum) and isinstance(right, Sum)
        return (left, condition.operator, right) if known else None  # type: ignore[return-value]

    def _member(self, node: tree.Member) -> Value:
        at = _AXES.get(node.member)
        if isinstance(node.object, tree.Name) and at is not None and node.object.name not in self.known:
            word = node.object.name
            if word in ("blockIdx", "threadIdx"):
                name = at if word == "blockIdx" else 3 + at
                axis = self.axes[name]
                return Sum(0, ((name, 1),)) if axis.low < axis.high else Sum(axis.low)
            if word == "blockDim":
                return Sum(self.geometry.threads[at])
            if word == "gridDim":
                return Sum(self.geometry.blocks[at])
        part = self.part
        self.part = None if part is None else f"{node.member}.{part}" if part else node.member
        if node.arrow:
            self.access(self._pointer(node.object), reads=True)
        else:
            self.escape(self.value(node.object))
        self.part = part
        return None

    def _binary(self, node: tree.Binary) -> Value:
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
            if leads(left) and not leads(right):
                return self.each_place(left, lambda place: self._moved(place, right, sign))
            if leads(right) and not leads(left) and operator == "+":
                return self.each_place(right, lambda place: self._moved(place, left, 1))
            if isinstance(left, Sum) and isinstance(right, Sum):
                return added(left, right, sign)
        for each in (left, right):
            self.escape(each)
        if not isinstance(right, Sum) or right.terms:
            left, right = (right, left) if operator in ("*", "&") else (left, right)
        if operator == "&" and isinstance(right, Sum) and not right.terms and right.constant >= 0:
            low, high = self.axes.bounds(left) if isinstance(left, Sum) else (0, right.constant)
            return self.axes.between(
                0, min(high, right.constant) if low >= 0 else right.constant, left if isinstance(left, Sum) else None
            )
        if not isinstance(left, Sum) or not isinstance(right, Sum) or right.terms:
            return None
        return self.axes.by_constant(operator, left, right.constant)

    def _call(self, node: tree.Call) -> Value:
        callee = node.callee.name if isinstance(node.callee, tree.Name) else ""
        macro = self.macros.get(callee)
        if macro is not None:
            return self._macro(macro, node)
        if isinstance(node.callee, tree.Member):
            self.escape(self._target(node.callee))  # a method may use all of its object
        values = [self.value(argument) for argument in node.arguments]
        if callee in _MIN | _MAX and len(values) == 2:
            return self._limit(values[0], values[1], callee in _MIN)
        if callee == "clamp" and len(values) == 3:
            return self._limit(self._limit(values[0], values[1], False), values[2], True)
        if callee.startswith("atomic") and values:
            self.access(values[0], reads=True, writes=True)
            values = values[1:]
        places = [value for value in values if leads(value)]
        body = self._body_of(callee, values)
        if body is not None and (places or _is_formula(body)):
            return self._followed(body, values)
        for place in places:
            self.escape(place)
        return None

    def _limit(self, one: Value, other: Value, least: bool) -> Value:
        return self.axes.limited(one, other, least) if isinstance(one, Sum) and isinstance(other, Sum) else None

    def _macro(self, macro: tree.Macro, node: tree.Call) -> Value:
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

    def _body_of(self, callee: str, values: list[Value]) -> tree.Function | None:
        """Return the function that a call runs, if it can be followed."""
        bodies = [each for each in self.functions.get(callee, ()) if each.body is not None]
        if len(bodies) != 1 or self.level >= MOST_CALLS or len(bodies[0].parameters) != len(values):
            return None
        return None if bodies[0].body is None or _leaves_early(bodies[0].body) else bodies[0]

    def _followed(self, function: tree.Function, values: list[Value]) -> Value:
        """Follow the body of a function; return what it returns."""
        known, self.known = self.known, {one.name: None for one in function.templates}
        for parameter, value in zip(function.parameters, values, strict=True):
            self.known[parameter.name] = value
        self.level += 1
        self.returned = None
        self.statement(function.body)
        returned, self.returned = self.returned, None
        self.level -= 1
        self.known, self.left = known, False
        return returned

    def access(self, place: Value, *, reads: bool = False, writes: bool = False) -> None:
        """Note that elements are touched."""
        if isinstance(place, Choice):
            self._access_chosen(place, reads=reads, writes=writes)
        if not isinstance(place, Place) or self.left:
            return
        self.accesses += 1
        if self.accesses > MOST_ACCESSES:
            raise NotFollowedError
        touched: Elements | None = None
        if place.offset is not None:
            touched = self._touched(place.offset, place.unit or 1, named=not (place.is_cast and self.part))
        ways = self.found[place.parameter]
        if reads:
            ways.reads.append(touched)
        if writes:
            ways.writes.append(touched)

    def _access_chosen(self, choice: Choice, *, reads: bool, writes: bool) -> None:
        """Note what work-items touch of which each takes one of several places."""
        axes, sure = self.axes, self.sure
        for tests, place in choice.options:
            self.axes, self.sure = axes.copy(), sure
            cuts = [self.axes.cut(*test) for test in tests]
            self.sure = sure and Cut.UNSURE not in cuts
            if Cut.NONE not in cuts:
                self.access(place, reads=reads, writes=writes)
        self.axes, self.sure = axes, sure

    def _touched(self, offset: Sum, width: int, *, named: bool) -> Elements | None:
        """Return the elements of one access; `named`: its part is that of an element behind the parameter."""
        low, high = self.axes.bounds(offset)
        rows = self.axes.rows(offset, width)
        # What lies before the pointer cannot be meant.
        sure = self.sure and named and self.part is not None and low >= 0 and rows is not None
        sure = sure and self.axes.is_free(offset)
        if rows is not None and (low < 0 or not rows.pitch):
            rows = None
        touched = Elements(max(0, low), high + width, sure, self.part or "", rows)
        return touched if touched.end > touched.begin else None

    def escape(self, value: Value) -> None:
        """A pointer goes where it is not followed."""
        if isinstance(value, Place):
            self.escaped.add(value.parameter)
        elif isinstance(value, Choice):
            self.escaped.update(place.parameter for _, place in value.options)


def leads(value: Value) -> TypeGuard[Place | Choice]:
    """Tell whether a value leads to memory."""
    return isinstance(value, Place | Choice)


def _options(test: Test, value: Value) -> Iterator[tuple[tuple[Test, ...], Place]]:
    """Yield the places that a value may be, each with what must hold for it, and a test as well."""
    if isinstance(value, Place):
        yield (test,), value
    elif isinstance(value, Choice):
        for tests, place in value.options:
            yield (test, *tests), place


def _path(node: tree.Expression) -> str | None:
    """Return which member of an element is written: "" for none; None where the target is an element of a member."""
    if not isinstance(node, tree.Member):
        return ""
    outer = "" if node.arrow else _path(node.object)
    return None if outer is None else f"{outer}.{node.member}" if outer else node.member


def _is_formula(function: tree.Function) -> bool:
    """Tell whether a function does nothing but to return a value."""
    return function.body is not None and len(function.body.body) == 1


def _leaves_early(body: tree.Block) -> bool:
    """Tell whether a function returns anywhere but in its last statement."""
    returns = [part for part in nodes(body) if isinstance(part, tree.Return)]
    return bool(returns) and not (len(returns) == 1 and body.body and body.body[-1] is returns[0])
