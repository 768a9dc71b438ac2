from __future__ import annotations

from itertools import pairwise

import numpy as np

from streamsan.replay.replayed_steps import Access, Memory
from streamsan.replay.word_layout import MOST_ROWS, MOST_WORDS, Layout
from streamsan.trace.rows import Rows
from streamsan.vocabulary import MemoryKind


def memory(size: int) -> Memory:
    return Memory(1, 1, MemoryKind.PLAIN, 0x1000, size, 0, 0)


def access(of: Memory, begin: int, end: int) -> Access:
    of.cuts.update((begin, end))
    if not end:
        of.starts.add(begin)
    return Access(of, begin, end, reads=True, writes=True)


def test_small_memory_has_the_words_that_it_has() -> None:
    small = memory(100)
    head, rest = access(small, 0, 40), access(small, 40, 0)
    layout = Layout(small)
    assert layout.words == 25
    assert layout.range(head) == (0, 10)
    assert layout.range(rest) == (10, 25)


def test_large_memory_has_some_words_for_every_range() -> None:
    large = memory(1 << 30)
    parts = [access(large, number << 20, (number + 1) << 20) for number in range(64)]
    layout = Layout(large)
    ranges = [layout.range(part) for part in parts]
    assert layout.words <= MOST_WORDS + 64
    assert all(begin < end for begin, end in ranges)
    assert all(end == begin for (_, end), (begin, _) in pairwise(ranges))
    assert layout.range(access(large, 0, 64 << 20)) == (0, ranges[-1][1])


def test_ranges_overlap_as_they_do_in_the_program() -> None:
    large = memory(1 << 24)
    one, two, apart = access(large, 0, 5000), access(large, 4000, 9000), access(large, 9000, 10000)
    layout = Layout(large)
    (a, b), (c, d), (e, f) = (layout.range(each) for each in (one, two, apart))
    assert a < c < b < d <= e < f


def test_an_access_of_unknown_extent_ends_where_another_begins() -> None:
    large = memory(1 << 24)
    first, second = access(large, 0, 0), access(large, 1 << 20, 0)
    layout = Layout(large)
    assert layout.range(first)[1] == layout.range(second)[0]
    assert layout.range(second)[1] == layout.words


def test_memory_of_unknown_size_has_words() -> None:
    unknown = memory(0)
    layout = Layout(unknown)
    assert layout.words == MOST_WORDS
    assert layout.range(access(memory(0), 0, 0)) == (0, MOST_WORDS)


def access_of_rows(of: Memory, begin: int, rows: Rows) -> Access:
    of.cuts.update((begin, begin + rows.extent))
    of.rows.add((begin, rows))
    return Access(of, begin, begin + rows.extent, reads=False, writes=True, rows=rows)


def test_rows_beside_each_other_share_no_word() -> None:
    for rows in (Rows(128, 256, 4), Rows(512, 1024, 512), Rows(3, 7, 20, 200, 3)):
        image = memory(rows.extent + rows.width)
        left, right = access_of_rows(image, 0, rows), access_of_rows(image, rows.width, rows)
        layout = Layout(image)
        mine, theirs = layout.rows(left), layout.rows(right)
        assert mine is not None
        assert theirs is not None
        assert len(mine) >= rows.count * rows.slices
        assert not np.isin(mine, theirs).any()
        first, end = layout.range(left)
        assert (mine[0], mine[-1]) == (first, end - 1)


def test_rows_that_overlap_share_words() -> None:
    image = memory(1 << 20)
    left, right = access_of_rows(image, 0, Rows(520, 1024, 1000)), access_of_rows(image, 512, Rows(512, 1024, 1000))
    layout = Layout(image)
    mine, theirs = layout.rows(left), layout.rows(right)
    assert mine is not None
    assert theirs is not None
    assert np.isin(mine, theirs).sum() >= 1000


def test_too_many_rows_are_taken_for_their_range() -> None:
    image = memory(1 << 40)
    few, many = Rows(8, 64, 10), Rows(8, 64, 1 << 30)
    told, whole = access_of_rows(image, 0, few), access_of_rows(image, 0, many)
    layout = Layout(image)
    assert layout.rows(told) is not None
    assert layout.rows(whole) is None
    assert layout.words <= MOST_WORDS + 2 * MOST_ROWS
