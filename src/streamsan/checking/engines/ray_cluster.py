"""Workers of a Ray cluster: of one that runs, or of one that is made on this machine for the check."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from itertools import islice
from typing import Any, cast

import ray
from msgspec import Struct
from ray import exceptions

from streamsan.checking.engines.remote_call import call, cannot_check, packed
from streamsan.checking.engines.worker_engine import ClusterLostError, UnreachableError, Value, WorkerLost
from streamsan.vocabulary.version import VERSION

AUTO = "auto"
MOST_WAITING = 256
"""tasks that a cluster is given at a time: to wait for one of many takes time for each"""
_SILENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""variables that keep Ray from telling its makers of its use, and users of its future"""


@contextmanager
def cluster(place: str, jobs: int) -> Iterator[RayWorkers]:
    """Give the workers of the cluster at a place, "": `jobs` processes on this machine, which end with the block.

    "auto" is the cluster that this machine belongs to. Raises UnreachableError.
    """
    os.environ.update({name: os.environ.get(name, value) for name, value in _SILENT.items()})
    # Ray prints what happens to workers to standard output, where the report goes.
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        _begin(place, jobs)
        try:
            yield RayWorkers()
        finally:
            ray.shutdown()


def _begin(place: str, jobs: int) -> None:
    quiet: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    try:
        with warnings.catch_warnings(action="ignore"):
            if place:
                ray.init(address=place if place == AUTO else f"ray://{place}", **quiet)
            else:
                ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)
    except ConnectionError as error:
        reason = "this machine belongs to none" if place == AUTO else " ".join(str(error).split())
        raise UnreachableError(f"no Ray cluster answers: {reason}") from error
    except (OSError, ValueError, RuntimeError, ImportError, exceptions.RayError) as error:
        raise UnreachableError(f"Ray does not begin: {' '.join(str(error).split())}") from error


class RayWorkers(Struct, frozen=True):
    """An engine of the workers of the Ray cluster that this process is connected to."""

    def outcomes(self, task: Callable[[str], Value], paths: Sequence[str]) -> Iterator[tuple[str, Value | WorkerLost]]:
        """Do a task with each path, and yield what comes of each, as they come."""
        work = ray.remote(call).options(num_cpus=1, max_retries=0, name="streamsan check")
        given = ray.put(packed(task))
        left = iter(paths)
        waiting: dict[Any, str] = {}
        try:
            while True:
                for path in islice(left, MOST_WAITING - len(waiting)):
                    waiting[work.remote(VERSION, given, path)] = path
                if not waiting:
                    return
                for each in _done(list(waiting)):
                    path = waiting.pop(each)  # what came of it is not kept
                    yield path, cast("Value | WorkerLost", _outcome(each))
        finally:
            with suppress(Exception):  # nobody is there
                for each in waiting:
                    ray.cancel(each)


def _done(references: Sequence[Any]) -> Sequence[Any]:
    """Wait until one of the tasks is done, and return which are."""
    try:
        done: Sequence[Any] = ray.wait(references, num_returns=1)[0]
    except (exceptions.RayError, OSError) as error:
        raise ClusterLostError(f"the Ray cluster is gone: {type(error).__name__}") from error
    return done


def _outcome(reference: Any) -> object:
    try:
        return ray.get(reference)
    except exceptions.OutOfMemoryError:
        return WorkerLost("was ended by Ray, out of memory")
    except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.ObjectLostError):
        return WorkerLost("crashed, or its machine did: out of memory?")
    except exceptions.RayTaskError as error:
        raise ClusterLostError(cannot_check(error.cause or error)) from error
    except (exceptions.RayError, OSError) as error:
        raise ClusterLostError(f"the Ray cluster is gone: {type(error).__name__}") from error
