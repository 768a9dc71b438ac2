"""Which elements one launch of a kernel reads and writes behind its pointers, where its indices can be followed.

All work-items are followed at once, statement by statement: loops that count are axes, of others nobody knows how often
they turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from streamsan.cuda_syntax import tree
from streamsan.kernels.axis_sums import Axes, Axis, Cut, NotFollowedError, Sum
from streamsan.kernels.statement_facts import KnownFacts
from streamsan.kernels.work_item_expressions import (
    MOST_STEPS,
    NOTHING_DECLARED,
    OPPOSITE,
    ApartError,
    Declared,
    ExpressionWalk,
    Geometry,
    Place,
    Test,
    Value,
    Ways,
    leads,
)

MOST_GROUPS: Final = 12
"""of work-items that are followed apart"""


def ranges(
    function: tree.Function,
    functions: Mapping[str, Sequence[tree.Function]],
    macros: Mapping[str, tree.Macro],
    geometry: Geometry,
    numbers: Mapping[str, int],
    pointers: Mapping[str, bool] | None = None,
    declared: Declared = NOTHING_DECLARED,
    facts: KnownFacts | None = None,
) -> dict[str, Ways]:
    """Return what one launch touches, by pointer parameters; `numbers` are the values of other parameters.

    `facts`: those that other launches of the kernel have asked for.

    `pointers`: whether one is an address; null is none. Those that go where they are not followed are left out. Raises
    NotFollowedError.
    """
    if function.body is None or 0 in geometry.blocks or 0 in geometry.threads:
        raise NotFollowedError
    facts = facts or KnownFacts()
    walked: list[_Walk] = []
    groups: list[tuple[Test, ...]] = [()]
    while groups:
        group = groups.pop()
        walk = _Walk(functions, macros, geometry, declared, facts)
        if not walk.begin(function, numbers, pointers or {}, group):
            continue
        walk.may_part = len(walked) + len(groups) + 1 < MOST_GROUPS
        try:
            walk.statement(function.body)
            walked.append(walk)
        except ApartError as apart:
            left, operator, right = apart.test
            groups += [(*group, (left, each, right)) for each in (operator, OPPOSITE[operator])]
    escaped = {name for walk in walked for name in walk.escaped}
    found: dict[str, Ways] = {}
    for walk in walked:
        for name in walk.found.keys() - escaped:
            ways = found.setdefault(name, Ways())
            ways.reads += walk.found[name].reads
            ways.writes += walk.found[name].writes
    return found


class _Walk(ExpressionWalk):
    def __init__(
        self,
        functions: Mapping[str, Sequence[tree.Function]],
        macros: Mapping[str, tree.Macro],
        geometry: Geometry,
        declared: Declared,
        facts: KnownFacts,
    ) -> None:
        super().__init__(functions, macros, geometry, declared)
        self._facts = facts

    def begin(
        self,
        function: tree.Function,
        numbers: Mapping[str, int],
        pointers: Mapping[str, bool],
        group: Sequence[Test],
    ) -> bool:
        """Take the work-items of which some comparisons hold; False: there are none."""
        if not all(self.axes.cut(*test) is Cut.SURE for test in group):
            return False
        self.group = self.axes.copy()
        for parameter in function.parameters:
            number = numbers.get(parameter.name)
            address = pointers.get(parameter.name)
            if parameter.type.pointers != 1 or parameter.type.array:
                self.known[parameter.name] = None if number is None else Sum(number)
            elif address is False:
                self.known[parameter.name] = Sum(0)
            else:
                self.known[parameter.name] = Place(parameter.name, Sum(0), self.declared.sizes.get(parameter.name))
                self.found[parameter.name] = Ways()
                self.present.update([parameter.name] if address else [])
        for template in function.templates:
            number = numbers.get(template.name)
            self.known[template.name] = None if number is None else Sum(number)
        return True

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
            self.either(node.condition, lambda: self.statement(node.then), lambda: self.statement(node.otherwise), node)
        elif isinstance(node, tree.For):
            self._for(node)
        elif isinstance(node, tree.While | tree.DoWhile):
            self._loop(node, [node.condition], node.body)
        elif isinstance(node, tree.Return):
            if node.value is not None:
                self.returned = self.value(node.value)
            self.left = True
        elif isinstance(node, tree.Break | tree.Continue):
            self.left = True
        else:
            raise NotFollowedError

    def _variable(self, node: tree.Variable) -> None:
        value = self.value(node.initializer) if node.initializer is not None else None
        if node.arguments or node.bindings or node.type.reference:
            raise NotFollowedError
        if node.device:
            self.shared.add(node.name)
        self.known[node.name] = value if not node.type.array else None

    def either(
        self, condition: tree.Expression, then: Callable[[], object], otherwise: Callable[[], object], node: object
    ) -> None:
        """Follow the two branches, each with the work-items that take it."""
        axes, known, sure = self.axes, self.known, self.sure
        stay: list[tuple[bool, Axes, dict[str, Value]]] = []
        possible = 0
        for truth, branch in ((True, then), (False, otherwise)):
            self.axes, self.known, self.sure, self.left = axes.copy(), dict(known), sure, False
            self._assume(condition, truth)
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
        if self.may_part and len(stay) == 2 and self._differs(node, *(each for _, _, each in stay)):
            self.part_at(self.test_of(condition))
        self._forget(node)
        if len(stay) == 1:
            # The others have left: what is known of those that go on holds from here.
            self._assume(condition, stay[0][0])

    def _differs(self, node: object, one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
        """Tell whether a number that two branches assign is not the same behind them: `if (x < 0) x += width;`."""
        names = self._facts.of(node).assigned
        pairs = [(one.get(name), other.get(name)) for name in names]
        return any(first != second and isinstance(first, Sum) and isinstance(second, Sum) for first, second in pairs)

    def _assume(self, condition: tree.Expression, truth: bool) -> None:
        """Go on with the work-items for which a condition is so; without surety where nobody knows which these are."""
        if isinstance(condition, tree.Unary) and condition.operator == "!":
            self._assume(condition.operand, not truth)
            return
        if isinstance(condition, tree.Binary) and condition.operator in ("&&", "||"):
            if (condition.operator == "&&") is truth:
                self._assume(condition.left, truth)
                if not self.left:
                    self._assume(condition.right, truth)
                return
            self.value(condition.left)
            self.value(condition.right)
            self.sure = False
            return
        if isinstance(condition, tree.Binary) and condition.operator in OPPOSITE:
            left, right = self.value(condition.left), self.value(condition.right)
            operator = condition.operator if truth else OPPOSITE[condition.operator]
            self._cut(left, operator, right)
            return
        self._cut(self.value(condition), "!=" if truth else "==", Sum(0))

    def _is_present(self, value: Value) -> bool:
        return isinstance(value, Place) and value.parameter in self.present

    def _cut(self, left: Value, operator: str, right: Value) -> None:
        if operator in ("==", "!=") and right == Sum(0) and self._is_present(left):
            self.left = self.left or operator == "=="
            return
        done = self.axes.cut(left, operator, right) if isinstance(left, Sum) and isinstance(right, Sum) else Cut.UNSURE
        self.left = self.left or done is Cut.NONE
        self.sure = self.sure and done is not Cut.UNSURE

    def _forget(self, node: object) -> None:
        for name in self._facts.of(node).assigned:
            held = self.known.get(name)
            self.known[name] = self.each_place(held, _anywhere) if leads(held) else None

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
        number = self.axes.unused()
        self.axes.put(number, replace(axis, roots=axis.roots | {number}))
        self.known[name] = Sum(0, ((number, 1),))
        sure, axes = self.sure, self.axes.copy()
        if self._facts.of(node.body).leaves:
            self.sure = False
        self.statement(node.body)
        self._after_loop(node, sure, axes)

    def _counted(self, node: tree.For) -> tuple[str, Axis] | None:
        """Return the variable of a loop that counts upwards, and the numbers that it takes."""
        condition, step = node.condition, node.step
        if not isinstance(condition, tree.Binary) or condition.operator not in ("<", "<=", "!="):
            return None
        if not isinstance(condition.left, tree.Name) or step is None:
            return None
        name = condition.left.name
        assigned = name in self._facts.of(node.body).assigned
        by = self._step(step, name)
        start, end = self.known.get(name), self.value(condition.right)
        if assigned or by is None or not isinstance(start, Sum) or not isinstance(end, Sum):
            return None
        (low, most), (least, high) = self.axes.bounds(start), self.axes.bounds(end)
        last = high if condition.operator == "<=" else high - 1
        fixed = low == most and least == high
        if condition.operator == "!=" and not (fixed and by == 1):
            return None
        if by == most - low + 1 and least == high and self.axes.is_dense(start):
            # Each work-item begins at a number of its own, and goes on by as many as there are: together they take all.
            return name, Axis(low, last, True, self.axes.roots_of(start))
        if by > 1 and fixed:
            return name, Axis(low, low + (last - low) // by * by if last >= low else last, False, frozenset())
        return name, Axis(low, last, fixed and by == 1, frozenset())

    def _step(self, step: tree.Expression, name: str) -> int | None:
        if isinstance(step, tree.Unary) and step.operator in ("++", "post++"):
            return 1 if isinstance(step.operand, tree.Name) and step.operand.name == name else None
        if isinstance(step, tree.Assign) and step.operator == "+=" and isinstance(step.target, tree.Name):
            value = self.value(step.value)
            if step.target.name == name and isinstance(value, Sum) and not value.terms and value.constant > 0:
                return value.constant
        return None

    def _loop(self, node: tree.Statement, parts: list[tree.Expression | None], body: tree.Statement) -> None:
        """A loop of which nobody knows how often it turns."""
        sure, axes = self.sure, self.axes.copy()
        self._forget(node)
        self.sure = False
        for part in parts:
            if part is not None:
                self.value(part)
        self.statement(body)
        self._after_loop(node, sure, axes)

    def _after_loop(self, node: tree.Statement, sure: bool, axes: Axes) -> None:
        self._forget(node)
        self.axes.restore(axes)
        self.left = False
        self.sure = sure and not self._facts.of(node).returns


def _anywhere(place: Place) -> Place:
    return replace(place, offset=None)
