"""What the host is told on one path when it asks whether work is done, and the loops that ask until it is.

Nothing runs, so each answer is a choice of the path. But of all choices only some can be met:
- What was done stays done until more is issued.
- What was not done is not done yet where the same place asks again: turns of a loop are no new choices.
- A loop of which a turn came to nothing but such answers turns until work is done: what it asks for next.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from streamsan.cuda_source.known_apis import changes_nothing
from streamsan.cuda_source.values.terms import symbols_of
from streamsan.effects import Api, Effect
from streamsan.model.values import Symbol

MOST_TOGETHER = 8
"""queries of one condition that are not decided: more than these are decided before"""


class OpenLoop:
    """One run of a loop that ends by what nobody knows: it may ask for work until it is done."""

    def __init__(self, doubts: int) -> None:
        self.waits = False
        """its latest turn came to nothing: what is asked for next is done"""
        self.lasts = False
        """it has waited for long: all that is asked for is done"""
        self.choices: list[int] = []
        """positions among the path's choices: whether work was done, and whether the time for that has passed"""
        self._doubts = doubts

    def gets_an_answer(self) -> bool:
        """Tell whether work is done because the loop waits for it."""
        waited, self.waits = self.waits, False
        return waited or self.lasts

    def is_sure(self, doubts: int) -> bool:
        """Tell whether all that has happened in it is known, but for what queries and clocks answered."""
        return doubts == self._doubts


class Polls:
    """Those of one path."""

    def __init__(self) -> None:
        self.worked = 0
        """calls that do more than ask, and launches"""
        self.refused = 0
        """how often work was not done"""
        self.doubts = 0
        """what was chosen or supposed that no query answers, and no clock"""
        self.times: set[Symbol] = set()
        """what clocks said: any time may have passed"""
        self._done: dict[Any, int] = {}
        """what was asked -> how much had been issued when its work was done"""
        self._not_done: set[Hashable] = set()
        """places, what they asked, and how much had been issued: it was not done"""

    def calls(self, api: Api) -> None:
        """A function is called. Which device is current says nothing of work."""
        self.worked += not (changes_nothing(api) or api.effect is Effect.SET_DEVICE)

    def rests_on_time(self, value: Any) -> bool:
        """Tell whether a clock says what a value is."""
        return not self.times.isdisjoint(symbols_of(value))

    def open(self) -> OpenLoop:
        """Return a loop's run that begins."""
        return OpenLoop(self.doubts)

    def succeeded(self, handle: Any) -> None:
        """All work that a query asked for is done."""
        self._done[handle] = self.worked

    def are_done(self, handles: tuple[Any, ...]) -> bool:
        """Tell whether work is known to be done: it was, and nothing was issued since."""
        return all(self._done.get(handle) == self.worked for handle in handles)

    def not_done(self, place: Hashable, handles: tuple[Any, ...]) -> None:
        """Note that a place was told that work is not done."""
        self._not_done.add((place, handles, self.worked))

    def are_not_done_yet(self, place: Hashable, handles: tuple[Any, ...]) -> bool:
        """Tell whether the place was told so before, and nothing was issued since."""
        return (place, handles, self.worked) in self._not_done


def handles_of(asked: dict[Symbol, Any]) -> tuple[Any, ...]:
    """Return what queries asked about, each once."""
    return tuple(dict.fromkeys(asked.values()))
