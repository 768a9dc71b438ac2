"""What was not read of inputs: findings that are not there may be there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct, field

from streamsan.findings.finding import Place

_CALL = "CUDA call"
MOST_PLACES = 3
"""Places that are named of each sort."""


class Obstacle(StrEnum):
    """Why no path came to a call. The texts are those of the line of counts."""

    INACTIVE = "in inactive #if"
    BUDGET = "behind a spent budget"
    UNCALLED = "in functions that nothing calls"
    UNSEEN_CALLER = "called from code that is not visible"
    UNPARSED = "not parsed"
    NO_PATH = "on paths not taken"


class NotReached(Struct, frozen=True):
    """Why no path came to one call."""

    obstacle: Obstacle
    reason: str
    """with the directive or function that it is about: `inactive #if USE_MPI`"""
    is_work: bool = False
    """the call issues work: a wait that follows may be for that"""


class Unread(Struct, frozen=True):
    """What was not read, in one input or in all. Falsy where all was read."""

    includes: frozenset[Place] = frozenset()
    """directives whose file was not found, or could not be read"""
    macros: frozenset[Place] = frozenset()
    """macros used outside functions with a word of CUDA in them, of which it was not understood what they make"""
    stopped: frozenset[str] = frozenset()
    """sources that were not read to their end: a budget was spent, or the text could not be followed"""
    without_functions: frozenset[str] = frozenset()
    """sources that look as if they had functions, of which none was understood"""
    missed: Mapping[Place, NotReached] = field(default_factory=dict)
    """calls and launches that no path came to"""
    reached: frozenset[Place] = frozenset()
    """those that a path came to: they count as read where another input does not reach them"""
    recordings: frozenset[str] = frozenset()
    """recordings that are not whole"""
    absent: frozenset[str] = frozenset()
    """sources that a build lists, and that are not there"""
    unchecked: frozenset[str] = frozenset()
    """inputs that nobody came to: the check was interrupted, or lost those who did it"""

    @classmethod
    def merged(cls, inputs: Iterable[Unread]) -> Unread:
        """Return what was not read of several inputs: what one of them read was read."""
        inputs = list(inputs)
        reached = frozenset(_real(place) for each in inputs for place in each.reached)
        missed = {_real(place): (place, each.missed[place]) for each in inputs for place in sorted(each.missed)}
        return cls(
            includes=frozenset({_real(place): place for each in inputs for place in each.includes}.values()),
            macros=frozenset({_real(place): place for each in inputs for place in each.macros}.values()),
            stopped=frozenset().union(*(each.stopped for each in inputs)),
            without_functions=frozenset().union(*(each.without_functions for each in inputs)),
            missed=dict(found for real, found in missed.items() if real not in reached),
            reached=reached,
            recordings=frozenset().union(*(each.recordings for each in inputs)),
            absent=frozenset().union(*(each.absent for each in inputs)),
            unchecked=frozenset().union(*(each.unchecked for each in inputs)),
        )

    def __bool__(self) -> bool:
        """Tell whether something of the program was not read. What an `#if` leaves out is no part of the program."""
        return any(found for found, _, _ in self._sorts())

    @property
    def summary(self) -> str:
        """The counts, as the line of counts has them; "" where all was read."""
        counts = [_counted(len(found), noun, what) for found, noun, what in self._sorts() if noun != _CALL]
        return ", ".join([*filter(None, counts), *self._reach()])

    def _reach(self) -> Iterable[str]:
        """Say how many calls were reached, and why not the others."""
        if not self.missed:
            return
        total = len(self.missed) + len(self.reached)
        obstacles = Counter(each.obstacle for each in self.missed.values())
        whys = ", ".join(f"{obstacles[each]} {each}" for each in Obstacle if obstacles[each])
        yield f"{len(self.reached)} of {total} CUDA calls were reached ({whys})"

    @property
    def places(self) -> str:
        """The counts, each with the first of its places."""
        return ", ".join(
            f"{_counted(len(found), noun, what)} ({_first(found)})" for found, noun, what in self._sorts() if found
        )

    def _sorts(self) -> tuple[tuple[list[str], str, str], ...]:
        return (
            (_lines(self.includes), "include", "not found"),
            (_lines(self.macros), "macro", "not read"),
            (sorted(self.stopped), "file", "stopped early"),
            (sorted(self.without_functions), "file", "not understood"),
            (_lines(self._of_the_program()), _CALL, "not reached"),
            (sorted(self.recordings), "recording", "not whole"),
            (sorted(self.absent), "source", "not found"),
            (sorted(self.unchecked), "input", "not checked"),
        )

    @property
    def has_work(self) -> bool:
        """Tell whether work may be issued that nobody read: by calls that no path came to, though they may be made."""
        return any(each.is_work and each.obstacle is not Obstacle.UNCALLED for each in self.missed.values())

    def _of_the_program(self) -> Iterable[Place]:
        return (place for place, why in self.missed.items() if why.obstacle is not Obstacle.INACTIVE)


def _lines(places: Iterable[Place]) -> list[str]:
    return [f"{place.file}:{place.line}" for place in sorted(places)]


def _first(words: list[str]) -> str:
    named = list(dict.fromkeys(words))
    return ", ".join(named[:MOST_PLACES]) + (", ..." if len(named) > MOST_PLACES else "")


def _counted(number: int, noun: str, what: str) -> str:
    """Return a count in words; "" for none."""
    if not number:
        return ""
    return f"{number} {noun} {what}" if number == 1 else f"{number} {noun}s {what}"


def _real(place: Place) -> Place:
    """Return a place under the one name of its file."""
    return Place(real_path(place.file), place.line, place.column)


@lru_cache(maxsize=4096)
def real_path(path: str) -> str:
    """Return the one name of a file: two sources reach a header by different ways."""
    return os.path.realpath(path)
