"""What is done with the paths that a worker had when it died: others try them, and one that kills each is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from streamsan.checking.engines.worker_engine import Value, WorkerEngine, WorkerLost

MOST_DEATHS = 3
"""workers that may die while they have a path; the last one has nothing beside it, so that no other is to blame"""


def outcomes(
    engine: WorkerEngine, task: Callable[[str], Value], paths: Sequence[str]
) -> Iterator[tuple[str, Value | WorkerLost]]:
    """Let workers do a task with each path, and yield what comes of each, as they come.

    A path that is lost in the end killed its workers: `WorkerLost.workers` says how many.
    """
    deaths: Counter[str] = Counter()
    waiting, suspects = list(paths), list[str]()
    while waiting:
        lost = []
        for path, outcome in engine.outcomes(task, waiting):
            if isinstance(outcome, WorkerLost):
                deaths[path] += outcome.workers
                lost.append(path)
            else:
                yield path, outcome
        waiting = [path for path in lost if deaths[path] < MOST_DEATHS - 1]
        suspects += [path for path in lost if deaths[path] >= MOST_DEATHS - 1]
    for path in suspects:
        for _, outcome in engine.outcomes(task, [path]):
            if isinstance(outcome, WorkerLost):
                yield path, WorkerLost(outcome.reason, deaths[path] + outcome.workers)
            else:
                yield path, outcome
