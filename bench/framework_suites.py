"""The frameworks' own tests of streams, events, memory and graphs: do they end as unrecorded, what is reported?

    python bench/framework_suites.py --suites FOLDER --out FOLDER [--only WORD ...] [--at-once N] [--seconds N]

`framework_suites.toml` lists the suites and the files of their tests. FOLDER has a checkout of each suite that is to
run, in a folder of its table's name; nothing of them is in this repository. A suite whose tests come with the installed
package needs none. Each part of a suite runs plainly and under `streamsan run`, in processes of their own; a test that
ended differently runs again, both ways, with nothing beside it. Each recording is checked. Needs a GPU, or two for some
groups, pytest and pytest-timeout. Prints a table, and writes into `--out`:

results.json: how each test ended in both ways, and every error and warning whole
reports.tar.gz: the reports with one, as text and JSON, and the end of what the programs printed
traces.tar.gz: the recordings behind these, as far as they are small

Exits with 1 where a recorded test behaved differently. What is reported must be looked at: many of these tests make
mistakes on purpose.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from published_programs import STREAMSAN, Clock, Ran, ran  # noqa: E402
from suite_results import DEVICE_LOST, GroupResult, PartResult, Run, outcomes, table, write_results  # noqa: E402

TEST_SECONDS = 90
"""a test may take so long, by pytest-timeout"""
MOST_STARTS = 4
"""a part's process is started so often: it goes on behind a test that crashed, or took the device with it"""
AGAIN = 40
"""of a group so many differing tests run again"""


@dataclass(frozen=True, slots=True)
class Group:
    """Some files of a suite's tests, which run in so many parts."""

    name: str
    folder: Path | None
    """where the suite is; None: an installed package"""
    words: tuple[str, ...]
    """what pytest is to collect"""
    scripts: tuple[str, ...] = ()
    """programs that are run as tests instead, relative to the folder, with their arguments"""
    parts: int = 1
    only: str = ""
    leave_out: str = ""
    before: str = ""
    alone: bool = False
    devices: int = 1
    plugins: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def listed(suites: Path) -> Iterator[Group]:
    """Yield the groups of all suites that are there, in the order of the list."""
    tables = tomllib.loads((HERE / "framework_suites.toml").read_text(encoding="utf-8"))
    for suite, entry in tables.items():
        checkout = suites / suite
        for name, group in entry["groups"].items():
            packages = group.get("packages")
            if packages is None and not checkout.is_dir():
                continue
            folder = None if packages else checkout / entry["folder"]
            scripts = _scripts(folder, group.get("scripts", ()))
            yield Group(
                f"{suite}/{name}",
                folder,
                _words(packages, group.get("files", ())),
                tuple(scripts),
                group.get("parts", 1),
                group.get("only", ""),
                group.get("leave_out", ""),
                entry.get("before", "") + group.get("before", ""),
                group.get("alone", False),
                group.get("devices", 1),
                tuple(group.get("plugins", ())),
                group.get("environment", {}),
            )


def _scripts(folder: Path | None, patterns: Sequence[str]) -> Iterator[str]:
    """Yield the programs that patterns name, each with the arguments that stand behind its pattern."""
    for pattern, *arguments in map(str.split, patterns) if folder else ():
        for path in sorted(folder.glob(pattern)) if folder else ():
            yield " ".join([str(path.relative_to(folder)), *arguments])


def _words(packages: Sequence[str] | None, files: Sequence[str]) -> tuple[str, ...]:
    """Return what pytest is to collect: installed packages, files, or the scripts."""
    if packages:
        return ("--pyargs", *packages)
    return tuple(files) or ("-c", os.devnull, "--rootdir", ".", str(HERE / "script_tests.py"))


def devices() -> int:
    """Return how many GPUs the programs will see."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return len([each for each in chosen.split(",") if each])
    try:
        said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    return said.stdout.count("UUID: GPU")


class Bench:
    """All groups: parts beside each other, then what wants to be alone."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._clock = Clock(given.seconds)
        self._lock = threading.Lock()

    def results(self, groups: Sequence[Group]) -> list[GroupResult]:
        """Run all groups; return what came of each, in their order."""
        results = {group.name: GroupResult(group.name) for group in groups}
        beside = [(group, part) for group in groups if not group.alone for part in range(1, group.parts + 1)]
        alone = [(group, part) for group in groups if group.alone for part in range(1, group.parts + 1)]
        with ThreadPoolExecutor(self._given.at_once) as workers:
            jobs = [
                (group, part, *(workers.submit(self._run, group, part, way) for way in ("plain", "recorded")))
                for group, part in beside
            ]
            for group, part, plain, recorded in jobs:
                results[group.name].parts.append(PartResult(part, plain.result(), recorded.result()))
        for group, part in alone:
            both = (self._run(group, part, way) for way in ("plain", "recorded"))
            results[group.name].parts.append(PartResult(part, *both))
        for group in groups:
            self._again(group, results[group.name])
        return list(results.values())

    def _again(self, group: Group, result: GroupResult) -> None:
        """Run the tests that ended differently again, with nothing beside them."""
        names = [each.test for each in result.differing()][:AGAIN]
        if not names or self._clock.left() < 20:
            return
        only = "|".join(rf"(?:{re.escape(name)}$)" for name in names)
        plain, recorded = (self._run(group, 1, way, only) for way in ("plain", "recorded"))
        result.again = PartResult(0, plain, recorded)

    def _run(self, group: Group, part: int, way: str, again: str = "") -> Run:
        """Run a part of a group in one way; go on behind a test at which its process ended."""
        name = f"{group.name.replace('/', '.')}.{'again' if again else part}.{way}"
        folder = self._folder / name
        folder.mkdir()
        lines, log = folder / "outcomes.jsonl", folder / "output.txt"
        run = Run(name)
        done = Ran(None, "", "", 0.0)
        begin = time.monotonic()
        for start in range(MOST_STARTS):
            left = min(self._given.limit * (2 if way == "recorded" else 1), self._clock.left())
            if left < 5:
                run.unfinished = "no time left"
                break
            trace = folder / f"run{start}.sst"
            environment = self._environment(group, part, lines, again)
            done = ran(self._command(group, way, trace), group.folder or self._folder, left, environment)
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{done.output[-40_000:]}\n--- standard error ---\n{done.errors[-20_000:]}\n")
            if trace.exists():
                run.traces.append(trace)
            before = set(run.tests.open)
            run.tests = outcomes(lines)
            ended_in = next((test for test in run.tests.open if test not in before), "")
            if done.status is None:
                run.stopped, run.unfinished = ended_in, f"took too long, in {ended_in}"
            if done.status == DEVICE_LOST:
                run.crashes.append(f"the device is lost after {next(reversed(run.tests.ended), '')}")
                continue
            if done.status is None or not ended_in:
                break
            run.crashes.append(f"ended with {done.status} in {ended_in}")
        if not run.tests.ended:
            run.unfinished = run.unfinished or f"no test ran: {(done.output + done.errors).strip()[-200:]}"
        if way == "recorded" and not run.traces:
            run.problems.append("nothing was recorded")
        run.seconds = time.monotonic() - begin
        for trace in run.traces:
            self._check(run, trace)
        with self._lock:
            said = f"; {', '.join(run.loud()) or 'nothing reported'}" if way == "recorded" else ""
            print(
                f"{name}: {len(run.tests.ended)} tests, {run.seconds:.0f} s {run.unfinished}{said}",
                flush=True,
            )
        return run

    def _command(self, group: Group, way: str, trace: Path) -> list[str]:
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "outcomes_plugin"]
        pytest += ["-p", "pytest_timeout", f"--timeout={TEST_SECONDS}", "--continue-on-collection-errors"]
        pytest += ["-o", "consider_namespace_packages=true"]
        for plugin in group.plugins:
            pytest += ["-p", plugin]
        pytest += group.words
        if way == "plain":
            return pytest
        return [*STREAMSAN, "--no-config", "run", "--no-check", "-o", str(trace), "--", *pytest]

    def _environment(self, group: Group, part: int, lines: Path, again: str) -> dict[str, str]:
        path = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            **os.environ,
            **group.environment,
            "PYTHONPATH": os.pathsep.join(path),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "STREAMSAN_OUTCOMES": str(lines),
            "STREAMSAN_PART": "1/1" if again else f"{part}/{group.parts}",
            "STREAMSAN_ONLY": again or group.only,
            "STREAMSAN_LEAVE_OUT": group.leave_out,
            "STREAMSAN_BEFORE": group.before,
            "STREAMSAN_SCRIPTS": json.dumps(group.scripts),
        }

    def _check(self, run: Run, trace: Path) -> None:
        """Check a recording; keep the report, and its text where it says something."""
        report = trace.with_suffix(".json")
        words = [*STREAMSAN, "--no-config", "check", "--exit-zero", "--no-fixes"]
        left = max(self._clock.left() + self._given.grace, 1)
        checked = ran([*words, "--format", "json", "--report", str(report), str(trace)], trace.parent, left)
        if checked.status != 0 or not report.exists():
            why = "took too long" if checked.status is None else f"ended with {checked.status}"
            run.problems.append(f"check {why}: {checked.errors.strip()[-300:]}")
            return
        document: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        run.add(document)
        if any(each["severity"] != "note" for each in document["findings"]):
            run.kept.append(trace)
            ran([*words, "--report", str(trace.with_suffix(".txt")), str(trace)], trace.parent, left)


def main() -> int:
    """Run the suites; return 1 where a recorded test behaved differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="groups with one of these in their name")
    parser.add_argument("--at-once", type=int, default=12, metavar="N", help="so many processes beside each other")
    parser.add_argument(
        "--limit", type=float, default=240, metavar="SECONDS", help="of a plain process; recorded: twice"
    )
    parser.add_argument("--seconds", type=float, default=3600, metavar="N", help="stop running tests after so long")
    parser.add_argument("--grace", type=float, default=60, metavar="SECONDS", help="checks may take so long then")
    given = parser.parse_args()
    there = devices()
    groups = [
        group
        for group in listed(given.suites.resolve())
        if group.devices <= there and (not given.only or any(word in group.name for word in given.only))
    ]
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="streamsan-suites-") as folder:
        results = Bench(given, Path(folder)).results(groups)
        write_results(results, Path(folder), given.out)
    print("\n".join(table(results)))
    return int(any(each.steady for result in results for each in result.differing()))


if __name__ == "__main__":
    sys.exit(main())
