"""Processes of this machine, Dask and Ray: a killed worker loses nothing, and the report is that of one process.

Nothing of the product knows that it is tested: workers do a task of the test's own, which waits until one of them is
killed, and then does what it was given to do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from checking.fleets import checked_by, fleet_traces, same
from checking.latched_tasks import AfterLatch, Deadly, Wrapped
from streamsan.checking.engines.cluster_address import cluster_at
from streamsan.checking.engines.local_processes import LocalProcesses

TRACES, WORKERS = 40, 2
TESTS = Path(__file__).parents[1]
CLUSTERS = [pytest.param("dask", marks=pytest.mark.deep), pytest.param("ray", marks=pytest.mark.deep)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    fleet_traces.make(folder, TRACES, 5)
    return folder


@pytest.fixture(params=["processes", *CLUSTERS])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An engine of two processes."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))  # for the tasks of the tests
    if request.param == "processes":
        yield LocalProcesses(WORKERS)
        return
    pytest.importorskip({"dask": "distributed"}.get(request.param, request.param))
    with cluster_at(f"{request.param}://", WORKERS) as cluster:
        yield cluster


@contextmanager
def one_is_killed(folder: Path) -> Iterator[partial[AfterLatch]]:
    """Kill one of the workers as soon as all wait with a path, then let them go on. Gives what makes them wait."""
    announced, latch = str(folder / "announced"), str(folder / "latch")
    for name in (announced, latch):
        os.mkfifo(name)
    # Both ends are open here: nobody waits for the test, and the test reads what comes.
    with open(os.open(announced, os.O_RDWR), encoding="ascii") as stream, ThreadPoolExecutor(1) as thread:

        def kill() -> int:
            waiting = {int(stream.readline()) for _ in range(WORKERS)}
            os.kill(min(waiting), signal.SIGKILL)
            return os.open(latch, os.O_RDWR)

        opened = thread.submit(kill)
        yield partial(AfterLatch, announced=announced, latch=latch)
        os.close(opened.result())


def test_a_killed_worker_loses_nothing(engine: Any, fleet: Path, tmp_path: Path) -> None:
    with one_is_killed(tmp_path) as wait:
        report, checked = checked_by(fleet, Wrapped(engine, wait))
    assert checked.unreadable == []
    assert same(report, checked_by(fleet, None)[0])


def test_a_trace_that_kills_each_worker_is_named_and_the_rest_is_whole(engine: Any, fleet: Path) -> None:
    report, checked = checked_by(fleet, Wrapped(engine, partial(Deadly, end="c/rank-0003.sst")))
    (problem,) = checked.unreadable
    assert problem.file == str(fleet / "c" / "rank-0003.sst")
    assert problem.message.startswith("not checked: 3 processes that checked it ended, the last one ")
    assert report["summary"]["files"] == TRACES - 1


@pytest.mark.parametrize("scheme", CLUSTERS)
def test_the_command_says_the_same_on_a_cluster(scheme: str, fleet: Path) -> None:
    pytest.importorskip({"dask": "distributed"}.get(scheme, scheme))

    def said(*options: str) -> tuple[int, bytes, bytes]:
        command = [sys.executable, "-m", "streamsan", "check", fleet.name, "--format", "json", *options]
        ran = subprocess.run(command, cwd=fleet.parent, capture_output=True, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    assert said("--on", f"{scheme}://", "--jobs", "2") == said("--jobs", "1")
