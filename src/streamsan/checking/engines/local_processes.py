"""Processes of this machine. One that takes its process down, for lack of memory say, takes no other path with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from typing import cast

from msgspec import Struct
from pebble import ProcessExpired, ProcessPool

from streamsan.checking.engines.worker_engine import Value, WorkerLost

_LOADED = ("streamsan.checking.engines.worker_tasks", "streamsan.cuda_source", "streamsan.evidence.second_pass")
"""what every process needs: loaded once, and there in each"""


class LocalProcesses(Struct, frozen=True):
    """An engine of up to so many processes, which are there while they have work."""

    most: int

    def outcomes(self, task: Callable[[str], Value], paths: Sequence[str]) -> Iterator[tuple[str, Value | WorkerLost]]:
        """Do a task with each path, and yield what comes of each, as they come."""
        # Not forked of this process, for it may have threads.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(_LOADED))
        pool = ProcessPool(min(self.most, len(paths)), context=context, initializer=_begin, initargs=[task])
        try:
            # The largest begin first: one that takes long does not keep the others waiting at the end.
            ordered = sorted(paths, key=_size, reverse=True)
            waiting: dict[Future[object], str] = {pool.schedule(_do, args=[path]): path for path in ordered}
            for future in as_completed(list(waiting)):
                path = waiting.pop(future)  # what came of it is not kept
                try:
                    yield path, cast("Value", future.result())
                except ProcessExpired as error:
                    yield path, WorkerLost(_end(error.exitcode))
            pool.close()
        finally:
            pool.stop()
            pool.join()


class _Given:
    """What a process was given to do with all its paths, once: options may name thousands of sources."""

    task: Callable[[str], object]


def _begin(task: Callable[[str], object]) -> None:
    _Given.task = task


def _do(path: str) -> object:
    return _Given.task(path)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):  # who checks it says why
        return 0


def _end(status: int) -> str:
    """Return how a process ended, of its status: negative where a signal ended it."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}" + (": out of memory?" if -status == signal.SIGKILL else "")
