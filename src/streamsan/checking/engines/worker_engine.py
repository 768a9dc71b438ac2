"""What an engine is: it lets workers do a task with many paths, and says which of them were lost with their worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

Value = TypeVar("Value")


class WorkerLost(Struct, frozen=True):
    """What comes of a path whose worker died while it had it."""

    reason: str
    """how the worker ended, as the end of a sentence"""
    workers: int = 1
    """how many workers died while they had the path, where the engine tried by itself"""


class UnreachableError(Exception):
    """A cluster cannot be reached or begun. `str()` is one line with the reason."""


class ClusterLostError(Exception):
    """There is nobody left who could do the work. `str()` is one line with the reason."""


class WorkerEngine(Protocol):
    """Spreads paths over workers."""

    def outcomes(self, task: Callable[[str], Value], paths: Sequence[str]) -> Iterator[tuple[str, Value | WorkerLost]]:
        """Let workers do a task, which can be pickled, with each path; yield what comes of each, as they come.

        Whoever stops listening stops the work. Raises ClusterLostError when no workers are left, and what the task
        raises.
        """
