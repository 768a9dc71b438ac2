"""Loops that ask whether work is done: those that turn until it is, and those that end in another way, too.

A loop that ends after so many turns, or by a `break`, is no wait. One path finds the work done; another one gives up,
and goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.polls import OpenLoop
from streamsan.cuda_source.values.approaches import WATCHED, Nearing
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes, parts
from streamsan.effects import Effect

_QUERIES = frozenset({Effect.STREAM_QUERY, Effect.EVENT_QUERY})


class QueryLoop:
    """One run of a loop that may ask whether work is done. `run`: None where it is known how often it turns."""

    def __init__(
        self, machine: Machine, run: OpenLoop | None, condition: tree.Expression | None, body: tree.Statement
    ) -> None:
        self._machine = machine
        self._run = run
        self._condition = condition
        self._body = body
        self._refused = self._worked = 0
        self._nearing: Nearing | None = None
        """looked at from the first turn on behind one that was told that work is not done"""
        self._is_patient = False
        """its latest turn came nearer to an end of the loop that no query decides"""

    @cached_property
    def may_give_up(self) -> bool:
        """Whether it may end before the work is done."""
        condition = self._condition
        return condition is not None and (_is_conjunction(condition) or _leaves(self._body))

    def begin_turn(self) -> None:
        """A turn begins, with its condition."""
        polls = self._machine.polls
        if self._run is not None:
            self._refused, self._worked = polls.refused, polls.worked
            if self._nearing is not None:
                self._nearing.begin_turn()

    def end_turn(self) -> None:
        """A turn ends. Where it came to nothing, but was told that work is not done, the loop waits for that."""
        run, polls, approaches = self._run, self._machine.polls, self._machine.approaches
        if run is None:
            return
        run.waits = self._is_patient = False
        if polls.refused == self._refused:
            return
        if self._nearing is None:
            self._nearing = Nearing()
            approaches.watched.append(self._nearing)
            return
        if polls.worked == self._worked and self._nearing.turns_seen >= WATCHED:
            nearer = self._nearing.nearer()
            self._is_patient = not nearer.isdisjoint(self._ends)
            run.waits = nearer <= self._own - self._ends
            run.lasts |= run.waits and self._nearing.turns_seen >= self.most_turns // 2

    @property
    def most_turns(self) -> int:
        """How many turns are run of it."""
        limits = self._machine.limits
        is_long = self._condition is not None or self._machine.in_thread
        return limits.iterations if is_long else limits.endless_iterations

    @cached_property
    def _ends(self) -> frozenset[int]:
        """What the loop's own text computes to decide whether it ends."""
        found = [] if self._condition is None else list(nodes(self._condition))
        for each in nodes(self._body):
            if isinstance(each, tree.If) and (_leaves(each.then) or _leaves(each.otherwise)):
                found += nodes(each.condition)
        return frozenset(map(id, found))

    @cached_property
    def _own(self) -> frozenset[int]:
        """What the loop's own text computes."""
        return frozenset(map(id, nodes(self._body))) | self._ends

    def is_left(self) -> None:
        """The loop ends by what it knows: the program surely can take this path, whatever its queries say."""
        run, polls = self._run, self._machine.polls
        if run is not None and run.is_sure(polls.doubts):
            self._machine.decisions.either_way.update(run.choices)

    def is_cut(self) -> None:
        """What ends the loop was not seen. One whose turns came nearer to an end, without the work, comes there."""
        if self._is_patient:
            self.is_left()
        else:
            self._machine.polls.doubts += 1

    def end(self) -> None:
        """The loop is over, however it ended."""
        if self._nearing is not None:
            self._machine.approaches.ends(self._nearing)


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


def _leaves(branch: tree.Statement | None) -> bool:
    """Tell whether a branch may leave the loop that it stands in."""
    return branch is not None and (_breaks(branch) or _returns(branch))


def _returns(node: tree.Statement) -> bool:
    """Tell whether a statement may leave all loops that it stands in."""
    return any(
        isinstance(each, tree.Return | tree.Goto) or (isinstance(each, tree.Unary) and each.operator == "throw")
        for each in nodes(node)
    )


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
