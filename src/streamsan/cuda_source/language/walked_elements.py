"""Which elements of a buffer loops walk over that are done at once: `rows[first + i * width + j] = x`.

An index is followed as a sum: what the loops do not change, and their variables with a factor each. Any other index may
be of any element.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.relevance import walk
from streamsan.cuda_source.values.cells import Cell
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_syntax import tree

Factors = dict[str, Any]
"""By variables of loops."""
DEEPEST = 16
"""parts of an index in each other"""


class Walked(Struct, frozen=True):
    """Elements of a buffer: from the first one on, so many. None: nobody knows how many, or that there are gaps."""

    first: Any
    count: int | None


class Axis(Struct, frozen=True):
    """What the variable of a loop that counts takes."""

    begin: Any
    step: int
    count: int | None
    """None: nobody knows how often the loop turns"""


class _Line(Struct, frozen=True):
    """An index: a number that the loops do not change, and factors of their variables."""

    constant: Any
    factors: Factors


def step_of(step: tree.Expression | None) -> tuple[str, tree.Expression | None, int] | None:
    """Return a loop step's variable, amount (None: 1) and direction."""
    if isinstance(step, tree.Unary) and isinstance(step.operand, tree.Name):
        if step.operator in ("++", "post++"):
            return step.operand.name, None, 1
        if step.operator in ("--", "post--"):
            return step.operand.name, None, -1
    if isinstance(step, tree.Assign) and isinstance(step.target, tree.Name) and step.operator in ("+=", "-="):
        return step.target.name, step.value, 1 if step.operator == "+=" else -1
    return None


def turns_of(condition: tree.Binary, begin: Any, bound: Any, step: int) -> int | None:
    """Return how often a loop turns that counts; None if that is not known, or never."""
    if not isinstance(bound, int) or not isinstance(begin, int):
        return None
    if condition.operator in ("<=", ">="):
        bound += 1 if step > 0 else -1
    count = -(-(bound - begin) // step)
    return count if count > 0 else None


class WalkedElements:
    """Those of the loops among some statements. `varying`: the names that these assign to or declare."""

    def __init__(
        self,
        machine: Machine,
        parts: Sequence[Any],
        running: tree.For | None,
        varying: set[str],
        begins: Mapping[str, tree.Expression],
    ) -> None:
        """`running`: the loop that the statements are of, begun already. `begins`: variables that keep their values."""
        self._machine = machine
        self._parts = parts
        self._running = running
        self._varying = varying
        self._begins = begins
        self._axes: dict[str, Axis] = {}

    @cached_property
    def _of_loops(self) -> dict[str, Axis]:
        inner = [part for node in self._parts for part in walk(node) if isinstance(part, tree.For)]
        return self._all_axes([*([self._running] if self._running is not None else []), *inner], self._running)

    @cached_property
    def _counters(self) -> dict[str, tuple[Axis, tree.Unary]]:
        return self._all_counters(self._parts)

    def of(self, index: tree.Expression) -> Walked | None:
        """Return the elements that an index takes in turn; None: nobody knows where they are."""
        self._axes = self._counters_of(index) | self._of_loops
        line = self._line(index, 0)
        if line is None:
            return None
        first, counts, span = line.constant, [], 1
        for name, factor in line.factors.items():
            axis = self._axes[name]
            forward = not isinstance(factor, int) or factor * axis.step > 0
            if not forward and axis.count is None:
                return None
            lowest = axis.begin if forward else combine("+", axis.begin, axis.step * ((axis.count or 1) - 1))
            first = combine("+", first, combine("*", factor, lowest))
            if first is None:
                return None
            counts.append(axis.count if isinstance(factor, int) else None)
            span += abs(factor * axis.step) * ((axis.count or 1) - 1) if isinstance(factor, int) else 0
        is_dense = None not in counts and math.prod(each for each in counts if each is not None) == span
        return Walked(first, span if is_dense else None)

    def _all_counters(self, parts: Sequence[Any]) -> dict[str, tuple[Axis, tree.Unary]]:
        """Return the variables that grow by one at one place, `out[count++] = x`, and that place."""
        machine = self._machine
        declared = {name for node in parts for name in machine.relevance.declares(node)}
        changes: dict[str, list[object]] = {}
        for part in (part for node in parts for part in walk(node)):
            target = part.target if isinstance(part, tree.Assign) else None
            if isinstance(part, tree.Unary) and part.operator in ("++", "--", "post++", "post--"):
                target = part.operand
            if isinstance(target, tree.Name) and target.name not in declared:
                changes.setdefault(target.name, []).append(part)
        found: dict[str, tuple[Axis, tree.Unary]] = {}
        for name, (first, *others) in changes.items():
            cell = machine.find(name)
            begin = machine.known(cell.value) if isinstance(cell, Cell) else None
            if not others and isinstance(first, tree.Unary) and "++" in first.operator and begin is not None:
                found[name] = Axis(begin, 1, None), first
        return found

    def _counters_of(self, index: tree.Expression) -> dict[str, Axis]:
        """Return the counters that have not grown yet where an index is first used."""
        inside = {id(part) for part in walk(index)}
        place = (index.span.line, index.span.column)
        return {
            name: axis
            for name, (axis, change) in self._counters.items()
            if id(change) in inside or (change.span.line, change.span.column) > place
        }

    def _all_axes(self, loops: Iterable[tree.For], running: tree.For | None) -> dict[str, Axis]:
        found: dict[str, Axis | None] = {}
        for loop in loops:
            step = step_of(loop.step)
            if step is not None:
                name, amount, sign = step
                axis = self._axis(loop, name, amount, sign, self._begin_of(loop, name, loop is running))
                found[name] = axis if found.get(name, axis) == axis else None
        return {name: axis for name, axis in found.items() if axis is not None}

    def _axis(
        self, loop: tree.For, name: str, amount_node: tree.Expression | None, sign: int, begin: Any
    ) -> Axis | None:
        machine, condition = self._machine, loop.condition
        assigned = machine.relevance.assigned(loop.body)
        if begin is None or any(isinstance(each, tree.Name) and each.name == name for each in assigned):
            return None
        amount = 1 if amount_node is None else self._fixed(amount_node)
        if not isinstance(amount, int) or amount <= 0:
            return None
        count = None
        if isinstance(condition, tree.Binary) and condition.operator in ("<", "<=", ">", ">=", "!="):
            left = condition.left
            if isinstance(left, tree.Name) and left.name == name:
                count = turns_of(condition, begin, self._fixed(condition.right), sign * amount)
        return Axis(begin, sign * amount, count)

    def _begin_of(self, loop: tree.For, name: str, is_running: bool) -> Any:
        """Return what the variable of a loop begins with."""
        machine = self._machine
        if is_running:
            cell = machine.expressions.operand(tree.Name(loop.span, name)).cell
            return None if cell is None else machine.known(cell.value)
        for part in loop.init:
            if isinstance(part, tree.Variable) and part.name == name and part.initializer is not None:
                return self._fixed(part.initializer)
            made = part.expression if isinstance(part, tree.ExpressionStatement) else None
            if isinstance(made, tree.Assign) and made.operator == "=" and isinstance(made.target, tree.Name):
                return self._fixed(made.value) if made.target.name == name else None
        return None

    def _fixed(self, node: tree.Expression) -> Any:
        """Return what an expression is in all turns; None: it varies, or nobody knows."""
        machine = self._machine
        if self._varies(node) or machine.relevance.expression_acts(node):
            return None
        return machine.known(machine.expressions.value(node))

    def _varies(self, node: tree.Expression) -> bool:
        return not self._varying.isdisjoint(self._machine.relevance.names_in(node))

    def _line(self, node: tree.Expression, depth: int) -> _Line | None:
        if not self._varies(node):
            constant = self._fixed(node)
            return None if constant is None else _Line(constant, {})
        if depth > DEEPEST:
            return None
        if isinstance(node, tree.Name):
            if node.name in self._axes:
                return _Line(0, {node.name: 1})
            begin = self._begins.get(node.name)
            return None if begin is None else self._line(begin, depth + 1)
        if isinstance(node, tree.Cast) and not node.type.pointers:
            return self._line(node.operand, depth + 1)
        if isinstance(node, tree.Unary) and node.operator in ("++", "post++"):
            counter = self._line(node.operand, depth + 1)
            ahead = 1 if node.operator == "++" else 0
            return None if counter is None else _sum(counter, _Line(ahead, {}), 1)
        if not isinstance(node, tree.Binary) or node.operator not in ("+", "-", "*"):
            return None
        left, right = self._line(node.left, depth + 1), self._line(node.right, depth + 1)
        if left is None or right is None:
            return None
        return _product(left, right) if node.operator == "*" else _sum(left, right, 1 if node.operator == "+" else -1)


def _sum(left: _Line, right: _Line, sign: int) -> _Line | None:
    factors = dict(left.factors)
    for name, factor in right.factors.items():
        factors[name] = combine("+", factors.get(name, 0), combine("*", sign, factor))
    constant = combine("+", left.constant, combine("*", sign, right.constant))
    return None if constant is None or None in factors.values() else _Line(constant, factors)


def _product(left: _Line, right: _Line) -> _Line | None:
    if left.factors and right.factors:
        return None
    line, times = (left, right.constant) if left.factors else (right, left.constant)
    factors = {name: combine("*", factor, times) for name, factor in line.factors.items()}
    constant = combine("*", line.constant, times)
    return None if constant is None or None in factors.values() else _Line(constant, factors)
