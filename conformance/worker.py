"""Runs cases in this process, one after the other, and says of each when it begins and what it observed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.kernels import BODIES
from conformance.lab import FailedError, Lab
from conformance.observer import UnclearError
from conformance.registry import Case, Observations, all_cases

FAILED = "failed at"
UNCLEAR = "unclear"
LENGTHS = (40, 160, 640)
"""milliseconds of a busy kernel: the next is taken when a duration was unclear"""


@dataclass(frozen=True, slots=True)
class Job:
    """What a process is to run. It must travel to that process."""

    platform: str
    names: tuple[str, ...]
    path: str
    """of the file that gets a line of JSON for each beginning and each end"""
    driver: str = "h200"
    """of the simulated device"""
    devices: int = 1
    lengths: tuple[int, ...] = LENGTHS


def run(job: Job) -> None:
    """Run a job's cases. It ends early, with what is not run left to another process, when a context is lost."""
    cases = all_cases()
    with open(job.path, "a", encoding="utf-8") as output:
        for name in job.names:
            _say(output, {"begin": name})
            observed, usable = _run_case(job, cases[name])
            _say(output, {"end": name, "observed": observed})
            if not usable:
                break


def _say(output: Any, line: dict[str, object]) -> None:
    output.write(json.dumps(line) + "\n")
    output.flush()


def _run_case(job: Job, case: Case) -> tuple[Observations, bool]:
    for milliseconds in job.lengths:
        with _lab(job, case, milliseconds) as lab:
            try:
                if not case.bare:
                    lab.start()
                return _plain(case.body(lab)), _tidy(lab, case)
            except UnclearError:
                if case.fresh:
                    return {UNCLEAR: True}, False  # again in another process
                if not _tidy(lab, case):
                    return {UNCLEAR: True}, False
            except Exception as error:
                return {FAILED: _place(error)}, _tidy(lab, case)
    return {UNCLEAR: True}, True


_gpu: list[Lab] = []


@contextmanager
def _lab(job: Job, case: Case, milliseconds: int) -> Iterator[Lab]:
    image = os.path.join(os.path.dirname(job.path), "kernels.image")
    if job.platform == "gpu":
        if not _gpu:
            _gpu.append(_Started("gpu", milliseconds, job.devices, image))
        _gpu[0].milliseconds = milliseconds
        yield _gpu[0]
        return
    import streamsan.testing

    with (
        contextlib.redirect_stderr(io.StringIO()),
        streamsan.testing.device("lazy", job.driver, max(case.devices, 1), BODIES),
    ):
        yield Lab("sim", milliseconds, case.devices, image)


class _Started(Lab):
    """A lab for several cases of a process: it starts once."""

    started = False

    def start(self) -> None:
        if not self.started:
            self.started = True
            super().start()


def _plain(observed: Observations) -> Observations:
    """Return observations as JSON gives them back."""
    return json.loads(json.dumps(observed, default=_number))  # type: ignore[no-any-return]


def _number(value: object) -> object:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.bool_):
        return bool(value)
    raise TypeError(f"an observation of type {type(value).__name__}")


def _place(error: Exception) -> str:
    """Return where a case went wrong: its own line, without a path, and why."""
    here = os.path.dirname(os.path.abspath(__file__))
    line, file = 0, ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if os.path.join(here, "cases") in name:
            line, file = trace.tb_lineno, os.path.basename(name)
        trace = trace.tb_next
    why = str(error) if isinstance(error, FailedError) else f"{type(error).__name__}: {error}"
    return f"{file}:{line}: {why}"


def _tidy(lab: Lab, case: Case) -> bool:
    """Leave the device idle for the next case; return whether there can be one in this process."""
    if case.fresh or lab.platform != "gpu":
        return True
    rt = lab.rt
    if int(rt.cudaDeviceSynchronize()[0]) != 0:
        return False
    rt.cudaGetLastError()
    steps: Sequence[Any] = (
        lambda: rt.cudaSetDevice(0),
        lambda: rt.cudaMemPoolTrimTo(rt.cudaDeviceGetDefaultMemPool(0)[1], 0),
        lambda: rt.cudaDeviceGraphMemTrim(0),
        lambda: lab.cu.cuCtxGetCurrent(),
    )
    return all(int(step()[0]) == 0 for step in steps)


def main(job: Job) -> None:
    """Be the process of a job, with a process group of its own: whoever ends it ends all that it started."""
    os.setsid()
    if job.platform == "sim":
        sys.setswitchinterval(0.001)
    run(job)
