"""Which way undecided branches go: each path is a prefix of choices, then the first choice everywhere."""

from __future__ import annotations

from typing import Any


class Decisions:
    """The choices of one path. After it has run, `alternatives` are the prefixes that it left unexplored."""

    def __init__(self, prefix: tuple[bool, ...] = ()) -> None:
        self.prefix = prefix
        self.taken: list[bool] = []
        self.given_up: set[int] = set()
        """positions in `taken`: a loop that waited for work by asking gave up there, as it may in every run"""
        self.leaving: set[int] = set()
        """positions in `taken`: the other way leaves the function or the program at once"""
        self.supposes_pointers = False
        """the condition under evaluation rests on an unknown pointer or handle being something: nobody decided that"""
        self._remembered: dict[Any, bool] = {}

    def recall(self, question: Any) -> bool | None:
        """Return how the same condition was decided before on this path."""
        return self._remembered.get(question)

    def remember(self, question: Any, answer: bool) -> None:
        """Fix a condition without a fork."""
        self._remembered[question] = answer

    def forget(self, question: Any) -> None:
        """Take back a fixed condition."""
        self._remembered.pop(question, None)

    def choose(self, question: Any, first: bool = True) -> bool:
        """Decide a condition that is not known; `first` is the answer that the first path takes."""
        position = len(self.taken)
        answer = self.prefix[position] if position < len(self.prefix) else first
        self.taken.append(answer)
        self._remembered[question] = answer
        return answer

    def alternatives(self) -> list[tuple[bool, tuple[bool, ...]]]:
        """Return the prefixes of the paths that branch off this one, the earliest turn first, and which only leave."""
        return [
            (position in self.leaving, (*self.taken[:position], not self.taken[position]))
            for position in range(len(self.prefix), len(self.taken))
        ]
