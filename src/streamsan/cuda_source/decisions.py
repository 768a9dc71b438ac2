"""Which way undecided branches go: each path is a prefix of choices, then the first choice everywhere."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from streamsan.cuda_source.agenda import Alternative
from streamsan.cuda_source.program.prospects import Goal


class Decisions:
    """The choices of one path. After it has run, `alternatives` are the prefixes that it left unexplored."""

    def __init__(self, prefix: tuple[bool, ...] = (), against: frozenset[int] = frozenset()) -> None:
        self.prefix = prefix
        self.against = against
        """known conditions, by their numbers, at which the path goes the other way all the same"""
        self.taken: list[bool] = []
        self._places: list[tuple[int, ...]] = []
        """of each choice: where the path stood, in each activation"""
        self.either_way: set[int] = set()
        """positions in `taken`: whether work was done when the program asked, or what was thrown a loop goes on from.
        Each may be in every run"""
        self.leaving: set[int] = set()
        """positions in `taken`: the other way leaves the function or the program at once"""
        self.goals: dict[int, Goal] = {}
        """position in `taken` -> what the other way leads to"""
        self.behind: dict[int, Goal] = {}
        """position in `taken` -> what comes behind the branch, either way"""
        self.supposes_pointers = False
        """the condition under evaluation rests on an unknown pointer or handle being something: nobody decided that"""
        self._remembered: dict[Any, bool] = {}
        self._known = 0
        self._goes_past_exceptions = False
        """from here on, what a library throws ends no path"""
        self._refused: dict[Hashable, Alternative] = {}
        """branch or call -> the first time that what is known kept the path from what it leads to"""

    def recall(self, question: Any) -> bool | None:
        """Return how the same condition was decided before on this path."""
        return self._remembered.get(question)

    def remember(self, question: Any, answer: bool) -> None:
        """Fix a condition without a fork."""
        self._remembered[question] = answer

    def forget(self, question: Any) -> None:
        """Take back a fixed condition."""
        self._remembered.pop(question, None)

    def choose(self, question: Any, first: bool = True, place: tuple[int, ...] = ()) -> bool:
        """Decide a condition that is not known; `first` is the answer that the first path takes.

        `place`: where the path stands, in each activation, the innermost last.
        """
        position = len(self.taken)
        answer = self.prefix[position] if position < len(self.prefix) else first
        self.taken.append(answer)
        self._places.append(place)
        self._remembered[question] = answer
        return answer

    def leads_to(self, goal: Goal, behind: Goal) -> None:
        """Note what the other way of the latest choice leads to, and what comes behind both."""
        self.goals[len(self.taken) - 1] = goal
        self.behind[len(self.taken) - 1] = behind

    def goes_against(self, branch: object, goal: Goal) -> bool:
        """A branch's condition is known. Tell whether the path goes the other way all the same, to its goal.

        What the reader knows may be wrong: a library's effect that it does not model, a loop's length that it supposed.
        """
        return self._goes_against(id(branch), goal)

    def _goes_against(self, place: Hashable, goal: Goal) -> bool:
        number, self._known = self._known, self._known + 1
        if number in self.against:
            return True
        if place not in self._refused and goal.has_new():
            self._refused[place] = Alternative(tuple(self.taken), goal, against=frozenset([number]), place=place)
        return False

    def goes_past_exception(self, call: Hashable, goal: Goal) -> bool:
        """A library's function ends by an exception, as far as is known. Tell whether the path goes on all the same.

        A path that does so once does so from there on: what the reader misses in a library, it misses in each call.
        """
        if not self._goes_past_exceptions:
            self._goes_past_exceptions = self._goes_against(call, goal)
        return self._goes_past_exceptions

    def alternatives(self, cut_off: bool) -> list[Alternative]:
        """Return the paths that branch off this one, the earliest turn first.

        `cut_off`: this one came to no good end. What it did not come to for that, the others lead to as well.
        """
        turns = [self._turn(position, cut_off) for position in range(len(self.prefix), len(self.taken))]
        return [*turns, *self._refused.values()]

    def _turn(self, position: int, cut_off: bool) -> Alternative:
        answer, place = not self.taken[position], self._places[position]
        return Alternative(
            (*self.taken[:position], answer),
            self._goal(position, cut_off),
            position in self.leaving,
            place=(place, answer),
            branch=(place[-1:], answer),
        )

    def _goal(self, position: int, cut_off: bool) -> Goal | None:
        goal = self.goals.get(position)
        behind = self.behind.get(position) if cut_off else None
        return goal if goal is None or behind is None else goal.and_also(behind)
