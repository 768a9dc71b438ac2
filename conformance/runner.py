"""Runs cases in processes of their own, so that one that crashes or hangs is only that case's observation."""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext

from conformance import worker
from conformance.registry import Case, Observations

CRASHED = "crashed"
TIMED_OUT = "timed out"
_PATIENCE = {"gpu": 15.0, "sim": 60.0}
"""seconds without a sign of life after which a case has hung"""
_LONGEST_GROUP = 120
_PRELOADED = {"gpu": ["conformance.worker", "conformance.preload_gpu"], "sim": ["conformance.preload_sim"]}

Report = Callable[[str, Observations], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run how."""

    platform: str
    """"gpu" or "sim" """
    driver: str = "h200"
    """of the simulated device"""
    devices: int = 1
    jobs: int = 4
    """processes at a time, where nothing is timed"""


def run(cases: Iterable[Case], plan: Plan, report: Report, work: Callable[[worker.Job], None] = worker.main) -> None:
    """Run cases; `report` is called with each one's observations as they come, from one thread at a time.

    `work` is what a process does with its job.
    """
    chosen = [case for case in cases if case.devices <= plan.devices or plan.platform == "sim"]
    at_once = [case for case in chosen if plan.platform == "sim" or not case.timed]
    alone = [case for case in chosen if plan.platform != "sim" and case.timed]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED[plan.platform])
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        pool = _Pool(context, plan, folder, report, work)
        pool.run(_groups(at_once, plan.jobs), plan.jobs)
        pool.run(_groups(alone, 1), 1)


def _groups(cases: Sequence[Case], jobs: int) -> list[tuple[str, ...]]:
    """Put harmless cases together: a process takes as long to start as dozens of them to run."""
    harmless = [case.name for case in cases if not case.fresh]
    size = min(_LONGEST_GROUP, max(1, -(-len(harmless) // jobs)))
    groups = [tuple(harmless[start : start + size]) for start in range(0, len(harmless), size)]
    return [*groups, *((case.name,) for case in cases if case.fresh)]


class _Pool:
    """Runs groups of cases, some at a time."""

    def __init__(
        self,
        context: ForkServerContext,
        plan: Plan,
        folder: str,
        report: Report,
        work: Callable[[worker.Job], None],
    ) -> None:
        self._work_of_a_job = work
        self._context = context
        self._plan = plan
        self._folder = folder
        self._report = report
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[str, ...]] = queue.SimpleQueue()
        self._repeated: dict[tuple[str, ...], int] = {}
        """groups of one case whose durations were unclear -> how often it was run again, with longer kernels"""

    def run(self, groups: Sequence[tuple[str, ...]], jobs: int) -> None:
        for group in groups:
            self._waiting.put(group)
        threads = [threading.Thread(target=self._work) for _ in range(min(jobs, len(groups)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        while True:
            try:
                names = self._waiting.get_nowait()
            except queue.Empty:
                return
            while names:
                names = self._run(names)

    def _run_again(self, names: tuple[str, ...], observed: Observations) -> bool:
        """Return whether a case alone in its process is to be run again, with longer kernels."""
        again = self._repeated.get(names, 0) + 1
        if worker.UNCLEAR not in observed or len(names) != 1 or again >= len(worker.LENGTHS):
            return False
        self._repeated[names] = again
        self._waiting.put(names)
        return True

    def _run(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Run a group in one process; return what it did not come to."""
        handle, path = tempfile.mkstemp(suffix=".jsonl", dir=self._folder)
        os.close(handle)
        lengths = worker.LENGTHS[self._repeated.get(names, 0) :]
        job = worker.Job(self._plan.platform, names, path, self._plan.driver, self._plan.devices, lengths)
        process = self._context.Process(target=self._work_of_a_job, args=(job,))
        process.start()
        with open(path, encoding="utf-8") as lines:
            began, ended, how = self._follow(process, lines.readline, names)
        if process.exitcode is None:
            _end(process)
        done = len(ended)
        if began == done and done:
            return names[done:]
        # It died, or hung, in a case; or before its first.
        lost = names[done] if done < len(names) else None
        if lost is None:
            return ()
        with self._lock:
            self._report(lost, {how: _reason(process.exitcode)} if how == CRASHED else {how: True})
        return names[done + 1 :]

    def _follow(
        self, process: multiprocessing.process.BaseProcess, line: Callable[[], str], names: tuple[str, ...]
    ) -> tuple[int, list[str], str]:
        """Take what a process says until it ends; return how many cases began, which ended, and how it went wrong."""
        began, ended, last_sign, partial = 0, list[str](), time.monotonic(), ""
        while True:
            alive = process.is_alive()
            text = line()
            if text:
                last_sign = time.monotonic()
                partial += text
                if partial.endswith("\n"):
                    said, partial = json.loads(partial), ""
                    if "begin" in said:
                        began += 1
                    else:
                        ended.append(said["end"])
                        if not self._run_again(names, said["observed"]):
                            with self._lock:
                                self._report(said["end"], said["observed"])
                continue
            if not alive:
                return began, ended, CRASHED
            if time.monotonic() - last_sign > _PATIENCE[self._plan.platform]:
                return max(began, len(ended) + 1), ended, TIMED_OUT
            process.join(0.01)


def _end(process: multiprocessing.process.BaseProcess) -> None:
    """End a process that hangs, with all that it started."""
    if process.pid is not None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            process.kill()
    process.join()


def _reason(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit {code}"
