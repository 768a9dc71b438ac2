"""Ranks of a job in words, for traces and reports."""

from __future__ import annotations

from collections.abc import Sequence


def ranks_in_words(ranks: Sequence[int]) -> str:
    """Return ranks, sorted and each there once, in words: "rank 3", "ranks 0-7", "ranks 0, 2-5"; "" for none."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    words = ", ".join(_run(run) for run in runs)
    if not words:
        return ""
    return f"rank {words}" if len(ranks) == 1 else f"ranks {words}"


def _run(run: Sequence[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]}-{run[-1]}" if len(run) > 2 else f"{run[0]}, {run[-1]}"
