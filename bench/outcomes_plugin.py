"""A plugin of pytest: one part of a suite's tests, and how each ended, a line of JSON at a time.

`bench/framework_suites.py` loads it into the processes that run a suite. A process that crashes or is stopped leaves
the lines so far; the next one goes on behind them. It says in the environment:

STREAMSAN_OUTCOMES: the file of lines, `{"begun": TEST}` and `{"test": TEST, "outcome": WORD, "seconds": S, "why": ..}`
STREAMSAN_PART: `2/5` for the second fifth, every fifth test
STREAMSAN_ONLY, STREAMSAN_LEAVE_OUT: regular expressions for the tests' names
STREAMSAN_BEFORE: Python to run before any test is imported
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

import pytest
from suite_results import DEVICE_LOST

OUTCOMES = os.environ["STREAMSAN_OUTCOMES"]
exec(os.environ.get("STREAMSAN_BEFORE", ""), {})
_seen: dict[str, tuple[str, float, str]] = {}
"""of tests under way: the worst of set-up, call and tear-down, seconds, why"""


def _write(line: dict[str, Any]) -> None:
    with open(OUTCOMES, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _begun() -> set[str]:
    """Return the tests that earlier processes began."""
    try:
        with open(OUTCOMES, encoding="utf-8") as file:
            return {line["begun"] for line in map(json.loads, file) if "begun" in line}
    except OSError:
        return set()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this part."""
    only, leave_out = (re.compile(os.environ.get(f"STREAMSAN_{name}") or other) for name, other in _PATTERNS)
    chosen = [item for item in items if only.search(item.nodeid) and not leave_out.search(item.nodeid)]
    part, parts = map(int, os.environ.get("STREAMSAN_PART", "1/1").split("/"))
    begun = _begun()
    kept = [item for item in chosen[part - 1 :: parts] if item.nodeid not in begun]
    there = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in there])
    items[:] = kept


_PATTERNS = (("ONLY", ""), ("LEAVE_OUT", r"(?!)"))


def pytest_runtest_logstart(nodeid: str, location: object) -> None:
    """Say which test begins: one that never ends is known by it."""
    _write({"begun": nodeid})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the worst of a test's phases, and write it down after the last."""
    word, seconds, why = _seen.get(report.nodeid, ("passed", 0.0, ""))
    if report.failed or (report.skipped and word == "passed"):
        word, why = report.outcome, _last_line(report)
        if hasattr(report, "wasxfail"):
            word = "xfailed" if report.skipped else "failed"
    _seen[report.nodeid] = word, seconds + report.duration, why
    if report.when == "teardown":
        word, seconds, why = _seen.pop(report.nodeid)
        _write({"test": report.nodeid, "outcome": word, "seconds": round(seconds, 2), "why": why})
        if word == "failed" and _is_device_lost():
            pytest.exit("the device is lost", returncode=DEVICE_LOST)


def _is_device_lost() -> bool:
    """Tell whether a kernel went wrong: the process's context takes no more work, for any of its later tests."""
    torch, cupy = (sys.modules.get(name) for name in ("torch", "cupy"))
    try:
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.synchronize()
        elif cupy is not None:
            cupy.cuda.runtime.deviceSynchronize()
    except Exception:
        return True
    return False


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported counts as a test that failed."""
    if report.failed:
        _write({"test": report.nodeid, "outcome": "failed", "seconds": 0.0, "why": _last_line(report)})


def _last_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("E ")]
    return (said or lines or [""])[-1].strip()[:300]
