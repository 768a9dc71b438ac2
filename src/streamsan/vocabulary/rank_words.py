"""Ranks of a job in words, for traces and reports."""

from __future__ import annotations

from collections.abc import Sequence


def rank_ranges(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each row of neighbours among ranks, which are sorted and there once each."""
    ranges: list[tuple[int, int]] = []
    for rank in ranks:
        if ranges and rank == ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], rank
        else:
            ranges.append((rank, rank))
    return ranges


def ranks_in_words(ranks: Sequence[int]) -> str:
    """Return ranks, sorted and each there once, in words: "rank 3", "ranks 0-7", "ranks 0, 2-5"; "" for none."""
    words = ", ".join(_range(first, last) for first, last in rank_ranges(ranks))
    if not words:
        return ""
    return f"rank {words}" if len(ranks) == 1 else f"ranks {words}"


def _range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}" if last > first + 1 else f"{first}, {last}"
