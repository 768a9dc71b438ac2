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


def _number(value: Any) -> int | None:
    """Return a number of an untrusted header, None for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < MOST_RANKS else None
