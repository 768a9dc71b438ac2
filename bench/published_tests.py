"""NVIDIA's own tests of cuda.bindings on the simulated device: how many pass, and what is found on them.

    python bench/published_tests.py PATH/cuda-python
    python bench/published_tests.py PATH/cuda-python --only cudart --failures

The folder is a checkout of github.com/NVIDIA/cuda-python; nothing of it is in this repository. Each file of tests runs
by itself, on two devices. A test that fails since a call or a module is not simulated counts as not supported. The
tests of cuda.core do not run: cuda.core calls the driver from compiled code. Needs no network and no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from published_helpers import kernels_file  # noqa: E402

TESTS = Path("cuda_bindings", "tests")
CORE = Path("cuda_core", "tests")
EXAMPLES = "test_examples.py"
"""runs the examples: `bench/published_examples.py` does"""
UNSUPPORTED = ("is not simulated", "NOT_SUPPORTED", "NotSupported", "No module named 'cuda.bindings._")
PASSED, SKIPPED, NOT_SUPPORTED, FAILED = "passed", "skipped", "not supported", "failed"
OUTCOMES = (PASSED, SKIPPED, NOT_SUPPORTED, FAILED)


@dataclass(slots=True)
class Outcome:
    """How the tests of one file went."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    """`test: last line of the error`, one each"""
    findings: Counter[str] = field(default_factory=Counter)
    """codes of errors and warnings"""


def files(checkout: Path) -> Iterator[Path]:
    """Yield the files of tests of cuda.bindings, relative to the checkout."""
    for path in sorted((checkout / TESTS).rglob("test_*.py")):
        if "cython" not in path.parts and path.name != EXAMPLES:
            yield path.relative_to(checkout)


def run(checkout: Path, test: Path, schedule: str, limit: float) -> Outcome:
    """Run one file of tests on the simulated device."""
    helpers = [checkout / "cuda_python_test_helpers", checkout / TESTS]
    paths = [str(ROOT / "src"), *(str(path) for path in helpers)]
    with tempfile.TemporaryDirectory(prefix="streamsan-") as place:
        (Path(place) / "include").mkdir()
        environment = {"CUDA_HOME": place, **os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        results, report = Path(place) / "results.xml", Path(place) / "report.json"
        command = [sys.executable, "-m", "streamsan", "--no-config", "sim", "--devices", "2", "--schedule", schedule,
                   "--no-fixes",
                   "--kernels", str(kernels_file(checkout, Path(place))), "--format", "json", "--report", str(report),
                   "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={results}", str(test)]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=checkout, env=environment, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return Outcome(Counter({FAILED: 1}), [f"{test}: it took more than {limit:.0f} seconds"])
        if not results.exists():  # a conftest.py could not be imported
            return _without_results(test, done.stdout + done.stderr)
        return _outcome(test, results, report)


def _without_results(test: Path, output: str) -> Outcome:
    reason = next((line.strip() for line in output.splitlines() if "Error: " in line), "pytest gave no results")
    kind = NOT_SUPPORTED if any(word in output for word in UNSUPPORTED) else FAILED
    return Outcome(Counter({kind: 1}), [f"{test}: {kind}: {reason[:100]}"])


def _outcome(test: Path, results: Path, report: Path) -> Outcome:
    found = Outcome()
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        if wrong is None:
            found.counts[PASSED if case.find("skipped") is None else SKIPPED] += 1
            continue
        text = f"{wrong.get('message', '')}\n{wrong.text or ''}"
        kind = NOT_SUPPORTED if any(word in text for word in UNSUPPORTED) else FAILED
        found.counts[kind] += 1
        reason = next((line[4:] for line in text.splitlines() if line.startswith("E   ")), "").strip()
        found.failures.append(f"{case.get('name') or test}: {kind}: {reason[:100]}")
    try:
        findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
    except (OSError, ValueError, KeyError):
        findings = []
    found.findings.update(one["code"] for one in findings if one["severity"] != "note")
    return found


def main() -> int:
    """Print the table; return 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--schedule", default="0", help="as of `streamsan sim`")
    parser.add_argument("--only", default="", help="run the files with this word in their name")
    parser.add_argument("--failures", action="store_true", help="list the tests that did not pass")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for each file")
    given = parser.parse_args()
    checkout = given.checkout.resolve()
    if not (checkout / TESTS).is_dir():
        parser.error(f"{given.checkout}: no checkout of cuda-python: there is no {TESTS}")
    whole = Outcome()
    print(f"| tests | {' | '.join(OUTCOMES)} | findings |\n|---|{'---|' * len(OUTCOMES)}---|")
    for test in files(checkout):
        if given.only.lower() in test.name.lower():
            one = run(checkout, test, given.schedule, given.limit)
            _print_row(str(test.relative_to(TESTS)), one)
            whole.counts += one.counts
            whole.findings += one.findings
            if given.failures:
                print("\n".join(f"    {line}" for line in one.failures), flush=True)
    _print_row("all", whole)
    core = len(list((checkout / CORE).rglob("test_*.py")))
    print(f"{core} files of {CORE} not run: cuda.core calls the driver from compiled code, and is not simulated")
    return int(bool(whole.counts[FAILED]))


def _print_row(name: str, one: Outcome) -> None:
    counts = " | ".join(str(one.counts[kind]) for kind in OUTCOMES)
    findings = ", ".join(f"{code} x{count}" for code, count in sorted(one.findings.items())) or "none"
    print(f"| {name} | {counts} | {findings} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
