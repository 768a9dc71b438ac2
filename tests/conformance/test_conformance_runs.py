"""All cases on the simulated device; and in processes of their own, what a crash or a hang of one is."""

from __future__ import annotations

import json
import os
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from conformance.observer import GpuObserver, Pending, UnclearError
from conformance.registry import Case, Observations, all_cases

from conformance import comparison, results, runner, worker

RECORDED = Path(__file__).resolve().parents[2] / "conformance" / "results" / "h200.json"
FAMILIES = sorted({case.family for case in all_cases().values()})
QUICK = set(FAMILIES) - {"capture", "context-end", "copy", "free", "graph", "ipc", "pool"}
"""families that default runs take; the largest are deep"""


def run(cases: list[Case], plan: runner.Plan, work: object = worker.main) -> dict[str, Observations]:
    found: dict[str, Observations] = {}
    runner.run(cases, plan, found.__setitem__, work)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("driver", ["h200", pytest.param("contract", marks=pytest.mark.deep)])
@pytest.mark.parametrize(
    "family", [family if family in QUICK else pytest.param(family, marks=pytest.mark.deep) for family in FAMILIES]
)
def test_the_simulated_device_does_what_was_measured(family: str, driver: str, tmp_path: Path) -> None:
    """In this process: simulated devices are independent, and only a real one is broken by a case."""
    cases = [case for case in all_cases().values() if case.family == family]
    output = tmp_path / "observed.jsonl"
    worker.run(worker.Job("sim", tuple(case.name for case in cases), str(output), driver))
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    found = {line["end"]: line["observed"] for line in lines if "end" in line}
    assert set(found) == {case.name for case in cases}
    compared = comparison.of_results(results.read(str(RECORDED)), found, driver)
    assert [str(difference) for difference in compared.unexplained] == []
    assert compared.compared


def fake_case(name: str, fresh: bool = False) -> Case:
    return Case(name, "a case of this test", ("F-01",), lambda lab: {}, fresh=fresh)


def pretend(job: worker.Job, clock: str = os.devnull) -> None:
    """Be a process that crashes in one case, hangs in another, and ends early after a third.

    Time passes while it hangs only: a byte of the clock is a minute.
    """
    os.setsid()
    with open(job.path, "a", encoding="utf-8") as output:
        for name in job.names:
            output.write(json.dumps({"begin": name}) + "\n")
            output.flush()
            if name.endswith("crashes"):
                os.abort()
            if name.endswith("leaves"):
                os._exit(3)
            if name.endswith("hangs"):
                while True:
                    with open(clock, "a", encoding="utf-8") as minutes:
                        minutes.write(".")
                    time.sleep(0.01)
            unclear = name.endswith("unclear") and len(job.lengths) > 1
            observed = {worker.UNCLEAR: True} if unclear else {"length": job.lengths[0]}
            output.write(json.dumps({"end": name, "observed": observed}) + "\n")
            output.flush()
            if name.endswith("last"):
                break


@pytest.mark.parametrize("fresh", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_what_goes_wrong_in_one_case_is_its_observation(
    fresh: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "clock"
    clock.touch()
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: clock.stat().st_size * 60.0))
    names = ["a", "crashes", "b", "leaves", "c", "hangs", "d", "last", "e"]
    work = partial(pretend, clock=str(clock))
    found = run([fake_case(name, fresh) for name in names], runner.Plan("sim", jobs=1), work)
    assert found == {
        **{name: {"length": 40} for name in ("a", "b", "c", "d", "last", "e")},
        "crashes": {"crashed": "SIGABRT"},
        "leaves": {"crashed": "exit 3"},
        "hangs": {"timed out": True},
    }


def test_an_unclear_case_is_run_again_with_longer_kernels() -> None:
    assert run([fake_case("unclear", fresh=True)], runner.Plan("sim", jobs=1), pretend) == {"unclear": {"length": 640}}


@pytest.mark.parametrize(
    ("took", "is_done", "waited"),
    [(0.040, True, True), (0.030, True, True), (0.001, False, False), (0.030, False, False), (0.5, False, False)],
)
def test_a_wait_is_judged_by_ratio(took: float, is_done: bool, waited: bool) -> None:
    import numpy as np

    pending = Pending(np.array([is_done], np.uint32), 0, launched=10.0, seconds=0.040)
    assert GpuObserver().waited(pending, 10.001, 10.001 + took) is waited


@pytest.mark.parametrize(
    ("began", "took", "is_done"),
    [(10.001, 0.005, True), (10.001, 0.2, True), (10.039, 0.001, True), (10.5, 0.0, False)],
)
def test_a_duration_that_tells_nothing_is_unclear(began: float, took: float, is_done: bool) -> None:
    import numpy as np

    pending = Pending(np.array([is_done], np.uint32), 0, launched=10.0, seconds=0.040)
    with pytest.raises(UnclearError):
        GpuObserver().waited(pending, began, began + took)
