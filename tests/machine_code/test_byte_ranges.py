"""Boxes of bytes against sets of bytes."""

from __future__ import annotations

import random

import numpy as np

from streamsan.machine_code.byte_ranges import NOTHING, Box, Extent, box, boxes_of, extent_of


def bytes_of(boxes: list[Box]) -> set[int]:
    found: set[int] = set()
    for each in boxes:
        begins = [each.begin]
        for distance, count in each.steps:
            begins = [begin + distance * place for begin in begins for place in range(count)]
        for begin in begins:
            found.update(range(begin, begin + each.width))
    return found


def bytes_said(extent: Extent) -> set[int]:
    if extent.dense:
        return set(range(extent.begin, extent.end))
    return bytes_of(
        [Box(extent.begin, extent.width, ((extent.pitch, extent.rows), (extent.slice_pitch, max(1, extent.slices))))]
    )


def test_boxes_are_the_bytes_that_they_are_made_of() -> None:
    chance = random.Random(3)
    exact = 0
    for _ in range(1500):
        begins = np.array([chance.randint(0, 30) * chance.choice((1, 4)) for _ in range(chance.randint(1, 6))])
        width = chance.choice((1, 4, 8))
        steps = [(chance.randint(-40, 40), chance.randint(1, 4)) for _ in range(chance.randint(0, 2))]
        plain = set()
        for begin in begins.tolist():
            plain |= {
                begin + at + sum(d * i for (d, _), i in zip(steps, places, strict=True))
                for places in np.ndindex(*(count for _, count in steps))
                for at in range(width)
            }
        boxes = boxes_of(begins, width, steps)
        assert boxes is not None
        assert bytes_of(boxes) == plain
        extent = extent_of(boxes, ())
        assert (extent.begin, extent.end) == (min(plain), max(plain) + 1)
        assert extent.sure
        if extent.dense or extent.rows:
            exact += 1
            assert bytes_said(extent) == plain
    assert exact > 400


def test_what_may_be_touched_makes_the_whole_unsure() -> None:
    assert extent_of([Box(0, 8)], [Box(16, 8)]) == Extent(0, 24, False, False)
    assert extent_of([], [Box(16, 8)]) == Extent(16, 24, False, False)
    assert extent_of([Box(0, 64)], [Box(16, 8)]) == Extent(0, 64, True, True)
    assert extent_of([], []) == NOTHING


def test_rows_of_rows_are_slices() -> None:
    found = extent_of([box(8, 16, [(4096, 3), (64, 10)])], ())
    assert found == Extent(8, 8 + 2 * 4096 + 9 * 64 + 16, True, False, 16, 64, 10, 4096, 3)


def test_columns_of_one_matrix_that_touch_become_one() -> None:
    parts = [box(0, 64, [(1024, 100)]), box(64, 32, [(1024, 100)]), box(0, 96, [(1024, 20)])]
    last = box(100 * 1024, 96, [(1024, 7)])
    assert extent_of([*parts, last], ()) == Extent(0, 106 * 1024 + 96, True, False, 96, 1024, 107)


def test_millions_of_pieces_are_not_counted() -> None:
    found = extent_of([box(0, 4, [(8, 1 << 40)]), box(2, 1, [(24, 1 << 38)])], ())
    assert found.sure
    assert not found.dense
    assert found.rows == 0
