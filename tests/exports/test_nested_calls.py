"""Calls of host threads as slices that lie behind each other, or in each other."""

from __future__ import annotations

import numpy as np

from streamsan.exports.nested_calls import nested_calls


def told(*calls: tuple[int, int], threads: tuple[int, ...] = ()) -> list[tuple[int, bool, int]]:
    begin, duration = np.array(calls, np.uint64).T
    return list(nested_calls(np.array(threads or [0] * len(calls), np.uint16), begin, duration))


def test_calls_behind_each_other() -> None:
    assert told((0, 5), (5, 0), (7, 2)) == [
        (0, True, 0), (0, False, 5), (1, True, 5), (1, False, 5), (2, True, 7), (2, False, 9)
    ]  # fmt: skip


def test_a_duration_that_was_rounded_up_ends_where_the_next_call_begins() -> None:
    assert told((0, 2048), (2046, 10)) == [(0, True, 0), (0, False, 2046), (1, True, 2046), (1, False, 2056)]


def test_a_call_in_another_one_ends_with_it_at_the_latest() -> None:
    assert told((0, 100), (60, 50), (70, 10)) == [
        (0, True, 0), (1, True, 60), (2, True, 70), (2, False, 80), (1, False, 100), (0, False, 100)
    ]  # fmt: skip


def test_of_two_that_begin_together_the_longer_one_is_around() -> None:
    assert told((3, 4), (3, 9)) == [(1, True, 3), (0, True, 3), (0, False, 7), (1, False, 12)]


def test_threads_know_nothing_of_each_other() -> None:
    assert told((0, 9), (4, 9), threads=(0, 1)) == [(0, True, 0), (1, True, 4), (0, False, 9), (1, False, 13)]
