"""The paths of an entry that are still to take, in their order: each turns off one that was taken, at one choice."""

from __future__ import annotations

import heapq
from collections.abc import Hashable

from msgspec import Struct

from streamsan.cuda_source.program.prospects import Goal

MOST_CONTRARY = 8
"""paths of one entry that go against what is known"""
MOST_FRUITLESS = 4
"""paths of one entry, one after the other, that came to nothing new: then those against what is known are due"""


class Alternative(Struct, frozen=True):
    """A way that a path left unexplored."""

    prefix: tuple[bool, ...]
    goal: Goal | None
    """what it leads to; None: nothing that is known"""
    leaves: bool = False
    """it leaves the function or the program at once"""
    against: frozenset[int] = frozenset()
    """conditions that are known, by their numbers on the path: it goes the other way there"""
    place: Hashable = 0
    """which branch, or call, is meant by the last of them"""


class Turn(Struct):
    """A path to take. Those that come first are the lesser ones.

    First what leads to calls that no path has come to, and goes on; then what does and leaves at once; then the others,
    alike. Among them paths with the fewest turns off the first path: each branch is seen both ways before combinations.
    What goes against a known condition comes last, or when the others come to nothing, and only while it leads to
    something new.
    """

    prefix: tuple[bool, ...] = ()
    against: frozenset[int] = frozenset()
    goal: Goal | None = None
    leads_on: bool = True
    exits: int = 0
    turns: int = 0
    number: int = 0
    weight: int = 0
    """where it is the first to go against a condition: how many calls stand in its goal that no path has come to"""

    def __lt__(self, other: Turn) -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[int, int, bool, bool, int, int, int]:
        known = len(self.against)
        return known, -self.weight, not self.leads_on, self.exits > 0, self.exits, self.turns, self.number

    def look_again(self) -> bool:
        """Tell whether other paths have come to all in its goal meanwhile, and note that."""
        if not self.leads_on or self.goal is None or self.goal.has_new():
            return False
        self.leads_on = False
        return True


class Agenda:
    """What is still to do for one entry."""

    def __init__(self) -> None:
        self._pending = [Turn()]
        self._number = 0
        self._tried: set[Hashable] = set()
        """branches and calls of which what is known was or will be gone against"""
        self._gone_against = 0
        """paths that were taken, each the first to go against a condition"""
        self._fruitless = 0
        """paths that were taken since one came to anything new, those aside that go against what is known"""
        self._is_regular = True
        """the latest path goes against nothing"""

    def next(self) -> Turn | None:
        """Take the path that comes next; None: there is none."""
        self._settle()
        if not self._pending:
            return None
        due = self._contrary() if self._fruitless >= MOST_FRUITLESS else None
        if due is None:
            due = heapq.heappop(self._pending)
        else:
            self._pending.remove(due)
            heapq.heapify(self._pending)
        if due.weight:
            self._gone_against += 1
            if self._gone_against == MOST_CONTRARY:
                self._pending = [each for each in self._pending if not each.weight]
                heapq.heapify(self._pending)
        self._is_regular = not due.against
        return due

    def _contrary(self) -> Turn | None:
        """Return the first path that goes against what is known, and leads to something new."""
        found = [each for each in self._pending if each.weight and each.goal is not None and each.goal.has_new()]
        return min(found, default=None)

    def came_to_new(self, anything: bool) -> None:
        """Note whether the path that was taken came to calls that none before it had come to."""
        if self._is_regular:
            self._fruitless = 0 if anything else self._fruitless + 1

    @property
    def is_empty(self) -> bool:
        """There is no further path."""
        self._settle()
        return not self._pending

    @property
    def leads_on(self) -> bool:
        """The next path leads to calls that no path has come to."""
        self._settle()
        return bool(self._pending) and self._pending[0].leads_on

    def add(self, taken: Turn, alternatives: list[Alternative]) -> None:
        """Add the paths that turn off one that was taken."""
        for each in alternatives:
            leads_on = each.goal is not None and each.goal.has_new()
            against = taken.against | each.against
            if against and not leads_on:
                continue
            if each.against:
                if each.place in self._tried or self._gone_against >= MOST_CONTRARY:
                    continue
                self._tried.add(each.place)
            self._number += 1
            exits = taken.exits + each.leaves
            weight = 1 + each.goal.count_new() if each.against and each.goal is not None else 0
            turn = Turn(each.prefix, against, each.goal, leads_on, exits, taken.turns + 1, self._number, weight)
            heapq.heappush(self._pending, turn)

    def give_up(self, everything: bool) -> None:
        """Leave out what is pending; or all but what goes against known conditions, of which there are few."""
        self._pending = [] if everything else [each for each in self._pending if each.against]
        heapq.heapify(self._pending)

    def _settle(self) -> None:
        pending = self._pending
        while pending and pending[0].look_again():
            if pending[0].against:
                heapq.heappop(pending)
            else:
                heapq.heapreplace(pending, pending[0])
