"""What was not read of inputs: findings that are not there may be there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from streamsan.findings.finding import Place

MOST_PLACES = 3
"""Places that are named of each sort."""


@dataclass(frozen=True, slots=True)
class Unread:
    """What was not read, in one input or in all. Falsy where all was read."""

    includes: frozenset[Place] = frozenset()
    """directives whose file was not found, or could not be read"""
    macros: frozenset[Place] = frozenset()
    """macros used outside functions with a word of CUDA in them, of which it was not understood what they make"""
    stopped: frozenset[str] = frozenset()
    """sources that were not read to their end: a budget was spent, or the text could not be followed"""
    without_functions: frozenset[str] = frozenset()
    """sources that look as if they had functions, of which none was understood"""
    missed: frozenset[Place] = frozenset()
    """calls and launches that no path came to"""
    reached: frozenset[Place] = frozenset()
    """those that a path came to: they count as read where another input does not reach them"""
    recordings: frozenset[str] = frozenset()
    """recordings that are not whole"""
    absent: frozenset[str] = frozenset()
    """sources that a build lists, and that are not there"""

    @classmethod
    def merged(cls, inputs: Iterable[Unread]) -> Unread:
        """Return what was not read of several inputs: what one of them read was read."""
        inputs = list(inputs)
        reached = frozenset(_real(place) for each in inputs for place in each.reached)
        missed = {_real(place): place for each in inputs for place in sorted(each.missed)}
        return cls(
            includes=frozenset({_real(place): place for each in inputs for place in each.includes}.values()),
            macros=frozenset({_real(place): place for each in inputs for place in each.macros}.values()),
            stopped=frozenset().union(*(each.stopped for each in inputs)),
            without_functions=frozenset().union(*(each.without_functions for each in inputs)),
            missed=frozenset(place for real, place in missed.items() if real not in reached),
            reached=frozenset().union(*(each.reached for each in inputs)),
            recordings=frozenset().union(*(each.recordings for each in inputs)),
            absent=frozenset().union(*(each.absent for each in inputs)),
        )

    def __bool__(self) -> bool:
        """Tell whether something was not read."""
        return any(found for found, _, _ in self._sorts())

    @property
    def summary(self) -> str:
        """The counts, as the line of counts has them; "" where all was read."""
        return ", ".join(_counted(len(found), noun, what) for found, noun, what in self._sorts() if found)

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
            (_lines(self.missed), "call", "not reached"),
            (sorted(self.recordings), "recording", "not whole"),
            (sorted(self.absent), "source", "not found"),
        )


def _lines(places: Iterable[Place]) -> list[str]:
    return [f"{place.file}:{place.line}" for place in sorted(places)]


def _first(words: list[str]) -> str:
    named = list(dict.fromkeys(words))
    return ", ".join(named[:MOST_PLACES]) + (", ..." if len(named) > MOST_PLACES else "")


def _counted(number: int, noun: str, what: str) -> str:
    return f"{number} {noun} {what}" if number == 1 else f"{number} {noun}s {what}"


def _real(place: Place) -> Place:
    """Return a place under the one name of its file."""
    return Place(real_path(place.file), place.line, place.column)


@lru_cache(maxsize=4096)
def real_path(path: str) -> str:
    """Return the one name of a file: two sources reach a header by different ways."""
    return os.path.realpath(path)
