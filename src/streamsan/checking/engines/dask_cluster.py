"""Workers of a Dask cluster: of one that runs, or of one that is made on this machine for the check."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from tempfile import TemporaryDirectory
from typing import cast
from uuid import uuid4

import dask
from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, as_completed
from msgspec import Struct

from streamsan.checking.engines.remote_call import call, cannot_check, packed
from streamsan.checking.engines.worker_engine import ClusterLostError, UnreachableError, Value, WorkerLost
from streamsan.vocabulary.version import VERSION

SECONDS_TO_CONNECT = 10
SECONDS_TO_BEGIN = 5
_OWN_CLUSTER = {
    # What killed its worker is tried again by whoever asks.
    "distributed.scheduler.allowed-failures": 0,
    # A worker of this machine that does not answer is dead: what it had is done again.
    "distributed.comm.timeouts.connect": "2s",
    # Nobody looks at samples of what workers do.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.preload": ["streamsan.checking.engines.dask_preload"],
    # Workers are as quiet as this process from their first moment on.
    "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical",
}


@contextmanager
def cluster(place: str, jobs: int) -> Iterator[DaskWorkers]:
    """Give the workers of the scheduler at a place, "": `jobs` processes on this machine, which end with the block.

    Raises UnreachableError.
    """
    with ExitStack() as ends:
        ends.enter_context(_quiet())
        try:
            if not place:
                folder = ends.enter_context(TemporaryDirectory(prefix="streamsan-"))
                place = ends.enter_context(_processes(jobs, folder)).scheduler_address
            client = Client(place, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise UnreachableError(f"no Dask scheduler answers: {' '.join(str(error).split())}") from error
        ends.enter_context(client)
        yield DaskWorkers(client)


@contextmanager
def _processes(jobs: int, folder: str) -> Iterator[LocalCluster]:
    with dask.config.set(_OWN_CLUSTER):
        with warnings.catch_warnings(action="ignore"):
            made = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                local_directory=folder,
                silence_logs=logging.CRITICAL,
            )
        with made:
            try:
                yield made
            finally:
                with suppress(TimeoutError):  # a worker that is ended while it begins complains
                    made.wait_for_workers(jobs, timeout=SECONDS_TO_BEGIN)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from writing what happens to workers and connections to standard error: a line of ours says it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class DaskWorkers(Struct, frozen=True):
    """An engine of the workers of a Dask cluster."""

    client: Client

    def outcomes(self, task: Callable[[str], Value], paths: Sequence[str]) -> Iterator[tuple[str, Value | WorkerLost]]:
        """Do a task with each path, and yield what comes of each, as they come."""
        work = partial(call, VERSION, packed(task))
        waiting = dict(zip(self.client.map(work, paths, key=_keys(len(paths))), paths, strict=True))
        try:
            for future in as_completed(list(waiting), loop=self.client.loop):
                path = waiting.pop(future)  # what came of it is not kept
                yield path, cast("Value | WorkerLost", _outcome(future))
        finally:
            if waiting:
                with suppress(Exception):  # nobody is there
                    self.client.cancel(list(waiting))


def _keys(count: int) -> list[str]:
    """Return names for tasks, which nobody has had: a cluster gives what it did under a name before."""
    return [f"streamsan-{uuid4().hex}" for _ in range(count)]


def _outcome(future: Future) -> object:
    try:
        return future.result()
    except KilledWorker as error:
        return WorkerLost(f"was {error.last_worker.address}: out of memory?", error.allowed_failures + 1)
    except (CancelledError, OSError) as error:
        raise ClusterLostError("the Dask scheduler is gone") from error
    except Exception as error:
        raise ClusterLostError(cannot_check(error)) from error
