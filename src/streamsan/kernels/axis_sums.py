"""Numbers that work-items compute with: sums of axes, each between two bounds and times a factor.

An axis is the number of a work-item in one dimension, the turn of a loop, or a number of which only bounds are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

LARGEST: Final = 1 << 40
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


class NotFollowedError(Exception):
    """The body does, or may do, what is not followed here."""


class Axis(Struct, frozen=True):
    """Numbers between two bounds."""

    low: int
    high: int
    dense: bool
    """each number between the bounds occurs, whatever those of other axes are"""
    roots: frozenset[int]
    """the axes that it was made of"""


class Sum(Struct, frozen=True):
    """A number."""

    constant: int
    terms: tuple[tuple[int, int], ...] = ()
    """axes with their factors"""


class Rows(Struct, frozen=True):
    """How numbers lie."""

    width: int
    """of the numbers of a row there is none between the first and the last one that is left out"""
    pitch: int
    """from the beginning of a row to that of the next one; 0: there is one row"""


class Cut(Enum):
    """What a comparison does to the work-items that go on."""

    SURE = "those go on whose numbers the axes have now"
    UNSURE = "nobody knows which go on"
    NONE = "none goes on"


def added(left: Sum, right: Sum, factor: int) -> Sum:
    """Return a number, and another one times a factor."""
    terms = dict(left.terms)
    for name, own in right.terms:
        terms[name] = terms.get(name, 0) + own * factor
    kept = tuple((name, own) for name, own in sorted(terms.items()) if own)
    return Sum(left.constant + right.constant * factor, kept)


class Axes:
    """The axes by their names, which are numbers. Work-items of one branch have their own."""

    def __init__(self, by_name: Mapping[int, Axis]) -> None:
        self.by_name = dict(by_name)

    def copy(self) -> Axes:
        """Return the same axes, which change apart from these."""
        return Axes(self.by_name)

    def __getitem__(self, name: int) -> Axis:
        return self.by_name[name]

    def has(self, number: Sum) -> bool:
        """Tell whether a number is made of these axes: others were those of one branch."""
        return all(name in self.by_name for name, _ in number.terms)

    def put(self, name: int, axis: Axis) -> None:
        """Set an axis."""
        self.by_name[name] = axis

    def unused(self) -> int:
        """Return a name that no axis has."""
        return max(self.by_name) + 1

    def restore(self, before: Axes) -> None:
        """Let axes be again what they were; new ones stay."""
        self.by_name.update(before.by_name)

    def bounds(self, number: Sum) -> tuple[int, int]:
        """Return between which numbers one lies."""
        low = high = number.constant
        for name, factor in number.terms:
            axis = self.by_name[name]
            ends = sorted((axis.low * factor, axis.high * factor))
            low, high = low + ends[0], high + ends[1]
        if max(abs(low), abs(high)) > LARGEST:
            raise NotFollowedError
        return low, high

    def between(self, low: int, high: int, made_of: Sum | None) -> Sum:
        """Return a number of which only bounds are known."""
        return self.new(low, high, False, made_of)

    def new(self, low: int, high: int, dense: bool, made_of: Sum | None) -> Sum:
        """Return a new axis, as a number; `made_of`: the number that it comes from."""
        roots = frozenset[int]() if made_of is None else self.roots_of(made_of)
        name = self.unused()
        self.by_name[name] = Axis(low, high, dense, roots)
        return Sum(0, ((name, 1),))

    def roots_of(self, number: Sum) -> frozenset[int]:
        """Return the axes that a number was made of in the end."""
        return frozenset[int]().union(*(self.by_name[name].roots for name, _ in number.terms))

    def is_dense(self, number: Sum, width: int = 1) -> bool:
        """Tell whether every number between its bounds occurs; or, with a `width`, lies less behind one that does."""
        rows = self.rows(number, width)
        return rows is not None and not rows.pitch and self.is_free(number)

    def is_free(self, number: Sum) -> bool:
        """Tell whether each of its axes takes every number between its bounds, whatever the others take."""
        roots: set[int] = set()
        for name, _ in number.terms:
            axis = self.by_name[name]
            if not axis.dense or roots & axis.roots:
                return False
            roots |= axis.roots
        return True

    def rows(self, number: Sum, width: int) -> Rows | None:
        """Return how the numbers lie that occur where the axes are free, each with so many from it on.

        None: with gaps that are not even. Where the axes are not free, no others occur.
        """
        reach, pitch, apart = width, 0, 0
        for name, factor in sorted(number.terms, key=lambda term: abs(term[1])):
            axis = self.by_name[name]
            step, turns = abs(factor), axis.high - axis.low
            if turns <= 0:
                continue
            if not pitch and step > reach:
                pitch = apart = step
            if not pitch:
                reach += step * turns
            elif step % pitch or step > apart:
                return None
            else:
                apart += step * turns
        return Rows(reach, pitch)

    def by_constant(self, operator: str, left: Sum, number: int) -> Sum | None:
        """Return a number that is multiplied, divided or shifted; None: not followed."""
        if operator == "<<" and 0 <= number < 32:
            operator, number = "*", 1 << number
        if operator == "*":
            return added(Sum(0), left, number)
        low, high = self.bounds(left)
        if operator == ">>" and 0 <= number < 32:
            operator, number = "/", 1 << number
        if operator not in ("/", "%") or number <= 0 or low < 0:
            return None
        least, most = low // number, high // number
        if operator == "/":
            return Sum(least) if least == most else self.between(least, most, left)
        # A ring's elements in their order, where they do not go on at its beginning.
        return added(left, Sum(least * number), -1) if least == most else self.between(0, number - 1, left)

    def limited(self, one: Sum, other: Sum, least: bool) -> Sum | None:
        """Return the smaller, or the larger, of two numbers."""
        if one.terms and other.terms:
            return None
        if not other.terms:
            one, other = other, one
        low, high = self.bounds(other)
        limit = one.constant
        if not other.terms:
            return Sum(min(limit, low) if least else max(limit, low))
        if (least and high <= limit) or (not least and low >= limit):
            return other
        if (least and low >= limit) or (not least and high <= limit):
            return one
        dense = self.is_dense(other)
        return self.new(low if least else limit, limit if least else high, dense, other)

    def cut(self, left: Sum, operator: str, right: Sum) -> Cut:
        """Go on with the work-items for which a comparison of two numbers holds."""
        difference = added(left, right, -1)
        low, high = self.bounds(difference)
        decided = {
            "<": (high < 0, low >= 0),
            "<=": (high <= 0, low > 0),
            ">": (low > 0, high <= 0),
            ">=": (low >= 0, high < 0),
            "==": (low == high == 0, low > 0 or high < 0),
            "!=": (low > 0 or high < 0, low == high == 0),
        }[operator]
        if decided[0]:
            return Cut.SURE
        if decided[1]:
            return Cut.NONE
        if len(difference.terms) != 1 or abs(difference.terms[0][1]) != 1:
            return Cut.UNSURE
        name, factor = difference.terms[0]
        sure = True
        # axis compared with a constant
        constant = -difference.constant * factor
        if factor < 0:
            operator = _MIRRORED[operator]
        axis = self.by_name[name]
        low, high = axis.low, axis.high
        if operator == "<":
            high = min(high, constant - 1)
        elif operator == "<=":
            high = min(high, constant)
        elif operator == ">":
            low = max(low, constant + 1)
        elif operator == ">=":
            low = max(low, constant)
        elif operator == "==":
            low = high = constant
        elif constant == low:
            low += 1
        elif constant == high:
            high -= 1
        else:
            sure = False
        # Of an axis that was made of others it is not known which of those are cut.
        sure = sure and axis.dense and axis.roots == {name}
        self.by_name[name] = replace(axis, low=low, high=high)
        for other, made in list(self.by_name.items()):
            if other != name and name in made.roots:
                self.by_name[other] = replace(made, dense=False)
        return Cut.SURE if sure else Cut.UNSURE
