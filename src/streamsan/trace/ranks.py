"""Which process of a trace is which rank of its job: launchers (torchrun, mpirun, srun) start many and number them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RANK = "rank"
WORLD_SIZE = "world_size"
PROCESS_RANKS = "process_ranks"
"""member of the metadata of a trace of several files: the rank of each process by its index, -1 where it has none"""
MOST_RANKS = 1 << 31


def rank_of(metadata: Mapping[str, Any]) -> int | None:
    """Return the rank that a file says its process had, None where it says none."""
    return _number(metadata.get(RANK))


def ranks_by_process(metadata: Mapping[str, Any]) -> dict[int, int]:
    """Return the ranks of the processes of a trace by their indices; nothing where the job had no second process."""
    told = metadata.get(PROCESS_RANKS)
    ranks: Sequence[Any] = told if isinstance(told, list) else [metadata.get(RANK)]
    found = {index: rank for index, value in enumerate(ranks) if (rank := _number(value)) is not None}
    world_size = _number(metadata.get(WORLD_SIZE)) or 0
    return found if world_size > 1 or len(set(found.values())) > 1 else {}


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


def _number(value: Any) -> int | None:
    """Return a number of an untrusted header, None for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < MOST_RANKS else None
