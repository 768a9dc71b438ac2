"""The paths of an entry that are still to take, in their order: each turns off one that was taken, at one choice."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable

from msgspec import Struct

from streamsan.cuda_source.program.prospects import Goal

MOST_CONTRARY = 8
"""paths of one entry that go against what is known"""
MOST_FRUITLESS = 4
"""paths of one entry, one after the other, that came to nothing new: then those against what is known are due"""
MOST_ALIKE = 3
"""paths of one entry that came to nothing new, and turn off at one branch, the same way, in the same calls: a loop's
turns come to it again and again"""
MOST_AT_A_BRANCH = 12
"""the same, from whatever calls"""


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
    """where it turns off, and which way: a branch in certain calls; or which branch, or call, it is `against`"""
    branch: Hashable = None
    """the same, from whatever calls"""


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
    place: Hashable = None
    branch: Hashable = None
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
        self.leaves_out = False
        """there were more paths: the budget was spent, or they turn off where others did in vain"""
        self._is_thrifty = False
        self._pending = [Turn()]
        self._number = 0
        self._tried: set[Hashable] = set()
        """branches and calls of which what is known was or will be gone against"""
        self._in_vain: Counter[Hashable] = Counter()
        """place, or branch -> how many paths turned off there and came to nothing new"""
        self._latest = Turn()
        self._gone_against = 0
        """paths that were taken, each the first to go against a condition"""
        self._fruitless = 0
        """paths that were taken since one came to anything new, those aside that go against what is known"""

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
        self._latest = due
        return due

    def _contrary(self) -> Turn | None:
        """Return the first path that goes against what is known, and leads to something new."""
        found = [each for each in self._pending if each.weight and each.goal is not None and each.goal.has_new()]
        return min(found, default=None)

    def came_to_new(self, anything: bool) -> None:
        """Note whether the path that was taken came to calls that none before it had come to."""
        latest = self._latest
        if latest.against:
            return
        self._fruitless = 0 if anything else self._fruitless + 1
        if not anything:
            self._in_vain[latest.place] += 1
            self._in_vain[latest.branch] += 1

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
            turn = Turn(
                each.prefix,
                against,
                each.goal,
                leads_on,
                exits,
                taken.turns + 1,
                self._number,
                each.place,
                each.branch,
                weight,
            )
            heapq.heappush(self._pending, turn)

    def be_thrifty(self) -> None:
        """Leave out from now on what turns off where others did in vain."""
        self._is_thrifty = True

    def give_up(self, everything: bool) -> None:
        """Leave out what is pending; or all but what goes against known conditions, of which there are few."""
        kept = [] if everything else [each for each in self._pending if each.against]
        self.leaves_out |= len(kept) < len(self._pending)
        self._pending = kept
        heapq.heapify(self._pending)

    def _settle(self) -> None:
        pending = self._pending
        while pending:
            first = pending[0]
            if self._is_one_of_many(first):
                self.leaves_out = True
                heapq.heappop(pending)
            elif not first.look_again():
                return
            elif first.against:
                heapq.heappop(pending)
            else:
                heapq.heapreplace(pending, first)

    def _is_one_of_many(self, turn: Turn) -> bool:
        """Tell whether paths enough turned off where this one does, and came to nothing new."""
        if not self._is_thrifty or turn.against:
            return False
        return self._in_vain[turn.place] >= MOST_ALIKE or self._in_vain[turn.branch] >= MOST_AT_A_BRANCH
