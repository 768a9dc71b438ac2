"""Allocations on rows, and what is alive when."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from streamsan.exports.memory_rows import alive, rows_of

bars = some.lists(some.tuples(some.integers(0, 30), some.integers(1, 9), some.integers(1, 5)), max_size=20)


def columns(given_bars: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ordered = sorted(given_bars)
    begin = np.array([first for first, _, _ in ordered], np.uint64)
    end = np.array([first + length for first, length, _ in ordered], np.uint64)
    return begin, end, np.array([size for _, _, size in ordered], np.uint64)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bars)
def test_no_row_has_two_bars_at_once_and_none_is_there_for_nothing(given_bars: list[tuple[int, int, int]]) -> None:
    begin, end, _ = columns(given_bars)
    rows = list(rows_of(begin, end))
    for one in range(len(rows)):
        for other in range(one):
            assert rows[one] != rows[other] or end[other] <= begin[one]
    most = max((int(np.sum((begin <= at) & (end > at))) for at in begin), default=0)
    assert len(set(rows)) <= max(most, 1)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bars)
def test_what_is_alive_is_the_sum_of_the_bars(given_bars: list[tuple[int, int, int]]) -> None:
    begin, end, size = columns(given_bars)
    moments, bytes_alive = alive(begin, end, size)
    assert sorted(set(moments.tolist())) == moments.tolist()
    for at, known in zip(moments.tolist(), bytes_alive.tolist(), strict=True):
        assert known == int(size[(begin <= at) & (end > at)].sum())
