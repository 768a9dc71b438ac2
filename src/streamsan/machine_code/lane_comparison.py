"""Comparisons of values in all threads, and where to cut a launch so that they have one answer.

Where the answer depends on a counter, the launch is cut: `Split` says at which of its values the answer changes, and
`Spread` asks for the counter's values one by one, as threads of their own.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from streamsan.machine_code.lane_values import (
    Counter,
    Half,
    Mask,
    Number,
    Sum,
    Value,
    Wide,
    among,
    bounds,
    difference,
    every,
    greatest,
    inverse,
    least,
    mask_of,
    some,
    total,
)

_MOST_CUTS = 6
_MOST_PARTED = 64
"""values of a counter that are looked at one by one, each in a part of the launch of its own"""


class Split(Exception):  # noqa: N818
    """The launch must be cut: `counter` has the parts that begin at `cuts`."""

    def __init__(self, counter: Counter, cuts: list[int]):
        super().__init__(counter, cuts)
        self.counter = counter
        self.cuts = cuts


class Spread(Exception):  # noqa: N818
    """The values of `counter` must be looked at one by one."""

    def __init__(self, counter: Counter):
        super().__init__(counter)
        self.counter = counter


class Fact(Struct, frozen=True, eq=False):
    """What follows for a sum: that it is `LT` 0, `GE` 0, `EQ` to 0 or `NE` to it."""

    relation: str
    distance: Sum


class Truth(Struct, frozen=True, eq=False):
    """What a predicate is: the threads where it may be true, and those where it may be false."""

    true: Mask
    false: Mask
    addends: tuple[tuple[Value, bool], ...] = ()
    """it is the carry of this sum of registers (the second: subtracted)"""
    under: tuple[Truth, bool] | None = None
    """it is that only where this guard holds"""
    lower: tuple[str, Value, Value] | None = None
    """it compares, by this relation, these two: the lower halves of numbers of 64 bits"""
    if_true: tuple[Fact, ...] = ()
    if_false: tuple[Fact, ...] = ()


TRUE = Truth(True, False)
FALSE = Truth(False, True)
EITHER = Truth(True, True)


def not_(truth: Truth) -> Truth:
    """The opposite."""
    return Truth(truth.false, truth.true, if_true=truth.if_false, if_false=truth.if_true)


def and_(first: Truth, second: Truth) -> Truth:
    """Both."""
    return Truth(
        first.true & second.true,
        first.false | second.false,
        if_true=first.if_true + second.if_true,
        if_false=first.if_false if second.false is False else second.if_false if first.false is False else (),
    )


def or_(first: Truth, second: Truth) -> Truth:
    """One of them."""
    return not_(and_(not_(first), not_(second)))


def xor_(first: Truth, second: Truth) -> Truth:
    """Just one of them."""
    return Truth(
        (first.true & second.false) | (first.false & second.true),
        (first.true & second.true) | (first.false & second.false),
    )


class Cutting(Struct):
    """Which cuts are still allowed."""

    splits: bool = True
    axes: frozenset[int] = frozenset({0, 1, 2})
    """of the block's index, that may be spread"""

    def spread(self, *values: Value | Wide) -> None:
        """A result cannot be said as a sum: raise `Spread` if one by one it can."""
        for value in values:
            whole = value.whole if isinstance(value, Half) else value
            if isinstance(whole, Sum):
                for counter, _ in whole.terms:
                    if counter.exact and (counter.axis < 0 or counter.axis in self.axes):
                        raise Spread(counter)

    def part(self, *values: Value | Wide) -> None:
        """A result is another one for each value of a counter: raise what gives it one."""
        for value in values:
            whole = value.whole if isinstance(value, Half) else value
            for counter, _ in whole.terms if isinstance(whole, Sum) else ():
                if counter.exact and counter.axis < 0:
                    raise Spread(counter)
                if counter.exact and self.splits and counter.high - counter.low < _MOST_PARTED:
                    raise Split(counter, list(range(counter.low + 1, counter.high + 1)))

    def compared(self, relation: str, first: Wide, second: Wide, threads: Mask) -> Truth:
        """Whether `first` is `LT`, `LE`, `GT`, `GE`, `EQ` or `NE` to `second`."""
        if relation in ("GE", "GT", "NE"):
            return not_(self.compared({"GE": "LT", "GT": "LE", "NE": "EQ"}[relation], first, second, threads))
        if relation not in ("LT", "LE", "EQ"):
            return {"T": TRUE, "F": FALSE}.get(relation, EITHER)
        distance = difference(first, second)
        if relation == "LE":
            distance = total(distance, -1)
        if distance is None or (isinstance(distance, Sum) and distance.base is not None):
            return EITHER
        limits = bounds(distance)
        if limits is None:
            return EITHER
        low, high = limits
        if relation == "EQ":
            true = mask_of(low <= 0) & mask_of(high >= 0)
            false = inverse(mask_of(low == 0) & mask_of(high == 0))
        else:
            true, false = mask_of(low < 0), mask_of(high >= 0)
        if isinstance(distance, Sum):
            undecided = true & false & threads
            if some(undecided):
                self._cut(distance, undecided, equal=relation == "EQ")
                pair = ("EQ", "NE") if relation == "EQ" else ("LT", "GE")
                one, other = (Fact(each, distance) for each in pair)
                return Truth(true, false, if_true=(one,), if_false=(other,))
        return Truth(true, false)

    def _cut(self, distance: Sum, undecided: Mask, *, equal: bool) -> None:
        exact = [(counter, factor) for counter, factor in distance.terms if counter.exact]
        # A loop's counter first: it is only an offer.
        exact.sort(key=lambda term: (term[0].axis >= 0, -max(abs(least(term[1])), abs(greatest(term[1])))))
        for counter, factor in exact:
            if not self.splits and counter.axis >= 0:
                continue
            cuts = _cuts(distance, counter, factor, undecided, equal=equal)
            if cuts:
                raise Split(counter, cuts)
        self.spread(distance)


def narrower(fact: Fact, threads: Mask) -> tuple[Counter, Counter | None] | None:
    """The counter of which a fact says more than was known, and what it is then (None: it can be nothing)."""
    inexact = [(counter, factor) for counter, factor in fact.distance.terms if not counter.exact]
    if len(inexact) != 1:
        return None
    counter, factor = inexact[0]
    if not isinstance(factor, int):
        return None
    terms = tuple(term for term in fact.distance.terms if term[0] is not counter)
    limits = bounds(Sum(None, fact.distance.constant, terms))
    if limits is None:
        return None
    least_rest: int = least(among(limits[0], threads))
    most_rest: int = greatest(among(limits[1], threads))
    low: int = counter.low
    high: int = counter.high
    # rest + factor * counter, for one rest between the two
    if fact.relation in ("LT", "EQ"):
        top = (-1 if fact.relation == "LT" else 0) - least_rest
        low, high = (low, min(high, top // factor)) if factor > 0 else (max(low, -(top // -factor)), high)
    if fact.relation in ("GE", "EQ"):
        low, high = (max(low, -(most_rest // factor)), high) if factor > 0 else (low, min(high, most_rest // -factor))
    if fact.relation == "NE" and least_rest == most_rest and least_rest % factor == 0:
        hole = -least_rest // factor
        low, high = low + (hole == low), high - (hole == high)
    if (low, high) == (counter.low, counter.high):
        return None
    return counter, Counter(low, high, exact=False) if low <= high else None


def _cuts(distance: Sum, counter: Counter, factor: Number, threads: Mask, *, equal: bool) -> list[int]:
    rest = Sum(None, distance.constant, tuple(term for term in distance.terms if term[0] is not counter))
    limits = bounds(rest)
    if limits is None:
        return []
    step = among(factor, threads)
    low, high = among(limits[0], threads), among(limits[1], threads)
    if not (every(step > 0) or every(step < 0)):
        return []
    rises = every(step > 0)
    if equal and rises:
        edges = [-(high // step), (-low) // step + 1]
    elif equal:
        edges = [-((-low) // -step), high // -step + 1]
    elif rises:
        edges = [-(low // step), -(high // step)]
    else:
        edges = [low // -step + 1, high // -step + 1]
    found: set[int] = set()
    for edge in edges:
        values = {edge} if isinstance(edge, int) else set(np.unique(edge).tolist())
        if len(values) > _MOST_CUTS:
            inside = [each for each in values if counter.low < each <= counter.high]
            values = {min(values), max(values), *((min(inside), max(inside)) if inside else ())}
        found |= values
    return sorted(each for each in found if counter.low < each <= counter.high)
