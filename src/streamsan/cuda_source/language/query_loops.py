"""Loops that ask whether work is done, and that end in another way, too: after so many turns, or by a `break`.

Such a loop is no wait. One path finds the work done; another one gives up, and goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Value
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes, parts
from streamsan.effects import Effect

_QUERIES = frozenset({Effect.STREAM_QUERY, Effect.EVENT_QUERY})


class QueryLoop:
    """One run of a loop whose condition may ask whether work is done."""

    def __init__(self, machine: Machine, condition: tree.Expression | None, body: tree.Statement) -> None:
        self._machine = machine
        self._decisions = machine.decisions
        self._condition = condition
        self._body = body
        self._given_up_at: int | None = None

    @cached_property
    def may_give_up(self) -> bool:
        """Whether it may end before the work is done."""
        condition = self._condition
        return condition is not None and (_is_conjunction(condition) or _breaks(self._body))

    def goes_on(self, value: Value, count: int) -> bool:
        """Decide a condition that asks, after so many turns: on one path the work is done, on another it is not.

        On that one it is done in the end, if the loop goes on by what nobody knows: a clock, a flag of another thread.
        """
        if self._given_up_at is not None:
            limits = self._machine.limits
            on = count < (limits.unknown_iterations if self._undecided else limits.iterations - 1)
            self._machine.assume(value, on)
            return on
        position = len(self._decisions.taken)
        on, _ = self._machine.decide(value, likely=False)
        self._decisions.given_up.discard(position)  # that is known when the loop ends
        if on:
            self._given_up_at = position
        return on

    def ends(self) -> None:
        """The loop ends by what it knows: the path that gave up is one that the program surely can take."""
        if self._given_up_at is not None and not self._undecided:
            self._machine.decisions.given_up.add(self._given_up_at)

    @property
    def _undecided(self) -> bool:
        return self._given_up_at is not None and len(self._decisions.taken) > self._given_up_at + 1


def counted_part(condition: tree.Expression | None) -> tree.Expression | None:
    """Return the part of a loop's condition that counts its turns, where the other asks whether work is done."""
    if not isinstance(condition, tree.Binary) or condition.operator != "&&":
        return condition
    sides = [condition.left, condition.right]
    asking = [side for side in sides if any(_is_query(each) for each in nodes(side))]
    return next((side for side in sides if side not in asking), condition) if len(asking) == 1 else condition


def _is_query(node: object) -> bool:
    if not isinstance(node, tree.Call) or not isinstance(node.callee, tree.Name):
        return False
    api = known_apis.find(last_name(node.callee.name))
    return api is not None and api.effect in _QUERIES


def _is_conjunction(condition: tree.Expression) -> bool:
    """Tell whether something else than the first operand ends a loop as well."""
    if not isinstance(condition, tree.Binary) or condition.operator != "&&":
        return False
    return not any(isinstance(side, tree.Literal_) for side in (condition.left, condition.right))


def _breaks(body: tree.Statement) -> bool:
    """Tell whether a `break` in a body leaves the loop."""
    return any(isinstance(each, tree.Break) for each in _of_this_loop(body))


def _of_this_loop(node: object) -> Iterator[object]:
    pending = [node]
    while pending:
        each = pending.pop()
        yield each
        if not isinstance(each, tree.Expression | tree.For | tree.RangeFor | tree.While | tree.DoWhile | tree.Switch):
            pending.extend(parts(each))
