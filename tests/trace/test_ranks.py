"""Ranks: what the files of a job's processes say of themselves, and how several are named."""

from __future__ import annotations

import pytest

from streamsan.trace.ranks import rank_of, ranks_by_process
from streamsan.vocabulary.rank_words import ranks_in_words


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ((), ""),
        ((3,), "rank 3"),
        ((0, 1), "ranks 0, 1"),
        (tuple(range(8)), "ranks 0-7"),
        ((0, 2, 3, 4, 9, 10), "ranks 0, 2-4, 9, 10"),
    ],
)
def test_ranks_are_named_by_runs(ranks: tuple[int, ...], words: str) -> None:
    assert ranks_in_words(ranks) == words


def test_the_rank_of_one_file_counts_where_the_job_has_more() -> None:
    assert ranks_by_process({"rank": 2, "world_size": 4}) == {0: 2}
    assert ranks_by_process({"rank": 0, "world_size": 1}) == {}
    assert ranks_by_process({"rank": 0}) == {}
    assert ranks_by_process({"world_size": 4}) == {}


def test_the_ranks_of_several_files_are_by_process() -> None:
    assert ranks_by_process({"process_ranks": [-1, 0, 1, 1]}) == {1: 0, 2: 1, 3: 1}
    assert ranks_by_process({"process_ranks": [0, 0]}) == {}
    assert ranks_by_process({"process_ranks": [-1, 0], "world_size": 2}) == {1: 0}


@pytest.mark.parametrize("value", [None, True, -1, 1 << 40, "3", [3], 1.0])
def test_what_is_no_number_is_no_rank(value: object) -> None:
    assert rank_of({"rank": value}) is None
    assert ranks_by_process({"process_ranks": [value, 0], "world_size": 2}) == {1: 0}
