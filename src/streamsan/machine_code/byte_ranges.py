"""The bytes that a launch touches through one pointer: from boxes of equal steps to one range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

_MOST_BOXES = 256
_MOST_PAIRED = 32
"""boxes of which each is tried with each other"""
_MOST_PIECES = 1 << 19


class Extent(Struct, frozen=True):
    """Bytes, counted from the address in the word: from `begin` to `end` (exclusive).

    `sure`: what is said here is touched by every execution of this launch; else nothing outside of it is.
    `dense`: every byte of it. Else it has gaps: its first and its last byte are touched, and where `rows` is not 0 it
    is `rows` rows of `width` bytes each, `pitch` bytes from begin to begin, and that `slices` times, `slice_pitch`
    bytes apart. An extent of no byte: nothing is touched.
    """

    begin: int
    end: int
    sure: bool
    dense: bool
    width: int = 0
    pitch: int = 0
    rows: int = 0
    slice_pitch: int = 0
    slices: int = 0
    whole: bool = True
    """False: these bytes are touched for sure, and what else is, is not known"""


NOTHING = Extent(0, 0, True, True)


class Box(Struct, frozen=True):
    """`width` bytes at `begin`, and at every sum of it and `steps`: distances, and how many places are so far apart."""

    begin: int
    width: int
    steps: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """Behind the last byte."""
        return self.begin + self.width + sum(distance * (count - 1) for distance, count in self.steps)

    @property
    def pieces(self) -> int:
        """How many runs of bytes it is."""
        number = 1
        for _, count in self.steps:
            number *= count
        return number


def box(begin: int, width: int, steps: Sequence[tuple[int, int]]) -> Box:
    """The box with as few steps as can say it."""
    found: list[tuple[int, int]] = []
    for distance, count in steps:
        if distance < 0:
            begin += distance * (count - 1)
        if distance and count > 1:
            found.append((abs(distance), count))
    found.sort()
    merged: list[tuple[int, int]] = []
    for distance, count in found:
        if not merged and distance <= width:
            width += distance * (count - 1)
        elif merged and distance == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0], merged[-1][1] * count)
        elif merged and distance == merged[-1][0]:
            merged[-1] = (distance, merged[-1][1] + count - 1)
        else:
            merged.append((distance, count))
    return Box(begin, width, tuple(merged))


def boxes_of(begins: NDArray[np.int64], width: int, steps: Sequence[tuple[int, int]]) -> list[Box] | None:
    """The boxes that begin at each of `begins`; None: too many."""
    if len(begins) > 1 and (np.diff(begins) < 0).any():
        begins = np.sort(begins)
    begins, ends = _runs(begins, begins + width)
    widths = ends - begins
    if len(begins) > 1 and (widths == widths[0]).all():
        distances = np.diff(begins)
        if (distances == distances[0]).all():
            return [box(int(begins[0]), int(widths[0]), [(int(distances[0]), len(begins)), *steps])]
        # Rows of rows.
        breaks = np.flatnonzero(distances != distances[0]) + 1
        length = int(breaks[0])
        if len(begins) % length == 0:
            rows = begins.reshape(-1, length)
            apart = np.diff(rows[:, 0])
            if (rows - rows[:, :1] == rows[0] - rows[0, 0]).all() and (apart == apart[0]).all():
                inner = [(int(distances[0]), length), (int(apart[0]), len(rows))]
                return [box(int(begins[0]), int(widths[0]), [*inner, *steps])]
    if len(begins) > _MOST_BOXES:
        return None
    return [box(int(begin), int(size), steps) for begin, size in zip(begins, widths, strict=True)]


def reaches_zero(begins: NDArray[np.int64], steps: Sequence[tuple[int, int]]) -> bool:
    """Tell whether 0 is one of `begins`, or a sum of one and multiples of distances, as often as the `steps` say.

    Of distances that lie between each other it may be missed.

    >>> reaches_zero(np.array([-5, 3]), [(1, 4), (4, 2)]), reaches_zero(np.array([-5, 3]), [(4, 2)])
    (True, False)
    """
    left = -begins
    for distance, count in sorted(steps, key=lambda each: -abs(each[0])):
        if distance:
            times = np.clip(left // distance, 0, count - 1)
            left = np.unique(np.concatenate([left - np.clip(times - less, 0, None) * distance for less in (0, 1)]))
    return bool((left == 0).any())


def _runs(begins: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ranges in the order of their begins, those that touch made one."""
    reached = np.maximum.accumulate(ends)
    first = np.concatenate(([True], begins[1:] > reached[:-1]))
    last = np.concatenate((first[1:], [True]))
    return begins[first], reached[last]


def extent_of(sure: Sequence[Box], maybe: Sequence[Box]) -> Extent:
    """One extent of what is touched for sure and what may be."""
    certain = _extent(sure) if sure else None
    if not maybe:
        return certain or NOTHING
    begin, end = min(each.begin for each in maybe), max(each.end for each in maybe)
    if certain is not None and certain.dense and certain.begin <= begin and end <= certain.end:
        return certain
    if certain is not None:
        begin, end = min(begin, certain.begin), max(end, certain.end)
    return Extent(begin, end, False, False)


def _extent(boxes: Sequence[Box]) -> Extent:
    left = _united(boxes)
    begin, end = min(each.begin for each in left), max(each.end for each in left)
    if len(left) == 1:
        return _of_box(left[0])
    if sum(each.pieces for each in left) <= _MOST_PIECES:
        begins, ends = _expanded(left)
        if len(begins) == 1:
            return Extent(begin, end, True, True)
        widths, distances = ends - begins, np.diff(begins)
        if (widths == widths[0]).all() and (distances == distances[0]).all():
            return Extent(begin, end, True, False, int(widths[0]), int(distances[0]), len(begins))
    return Extent(begin, end, True, False)


def _of_box(whole: Box) -> Extent:
    steps = whole.steps
    if not steps:
        return Extent(whole.begin, whole.end, True, True)
    if len(steps) > 2 or any(distance < whole.width for distance, _ in steps):
        return Extent(whole.begin, whole.end, True, False)
    if len(steps) == 2 and steps[1][0] < steps[0][0] * (steps[0][1] - 1) + whole.width:
        # Its rows lie between each other.
        return Extent(whole.begin, whole.end, True, False)
    pitch, rows = steps[0]
    slice_pitch, slices = steps[1] if len(steps) == 2 else (0, 0)
    return Extent(whole.begin, whole.end, True, False, whole.width, pitch, rows, slice_pitch, slices)


def _expanded(boxes: Sequence[Box]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begins, ends = [], []
    for each in boxes:
        places = np.array([each.begin], np.int64)
        for distance, count in each.steps:
            places = (places[:, None] + distance * np.arange(count)).ravel()
        begins.append(places)
        ends.append(places + each.width)
    all_begins, all_ends = np.concatenate(begins), np.concatenate(ends)
    order = np.argsort(all_begins, kind="stable")
    return _runs(all_begins[order], all_ends[order])


def _united(boxes: Sequence[Box]) -> list[Box]:
    """The same bytes in fewer boxes, where two make one."""
    left = list(dict.fromkeys(boxes))
    while 1 < len(left) <= _MOST_BOXES:
        left.sort(key=lambda each: (each.steps, each.begin))
        found: list[Box] = []
        for each in left:
            union = _union(found[-1], each) if found else None
            if union is not None:
                found[-1] = union
            else:
                found.append(each)
        if len(found) == len(left) <= _MOST_PAIRED:
            found = _with_any(found)
        if len(found) == len(left):
            break
        left = found
    return left


def _with_any(boxes: list[Box]) -> list[Box]:
    """Unite the first two boxes that can be, wherever they stand."""
    for at, one in enumerate(boxes):
        for other in range(at + 1, len(boxes)):
            union = _union(one, boxes[other])
            if union is not None:
                return [union, *boxes[:at], *boxes[at + 1 : other], *boxes[other + 1 :]]
    return boxes


def _union(one: Box, two: Box) -> Box | None:
    """One box that is both, if there is."""
    if two.begin < one.begin:
        one, two = two, one
    if one.steps == two.steps:
        if two.begin <= one.begin + one.width:
            return box(one.begin, max(one.width, two.begin + two.width - one.begin), one.steps)
        distance = two.begin - one.begin
        if one.width == two.width and distance not in (step for step, _ in one.steps):
            united = box(one.begin, one.width, [*one.steps, (distance, 2)])
            return united if len(united.steps) <= len(one.steps) else None
    if not one.steps and one.begin <= two.begin and two.end <= one.end:
        return one
    if not two.steps and two.begin <= one.begin and one.end <= two.end:
        return two
    if one.width != two.width:
        return None
    # One more step of the same distance.
    mine, other = dict(one.steps), dict(two.steps)
    for distance in mine.keys() | other.keys():
        first, second = mine.get(distance, 1), other.get(distance, 1)
        if {key: count for key, count in mine.items() if key != distance} != {
            key: count for key, count in other.items() if key != distance
        }:
            continue
        gap = two.begin - one.begin
        if gap % distance == 0 and gap // distance <= first:
            count = max(first, gap // distance + second)
            rest = [(key, value) for key, value in mine.items() if key != distance]
            return box(one.begin, one.width, [*rest, (distance, count)])
    return None
