"""What came of the frameworks' tests: plain beside recorded, what was reported, and the files that keep it."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEVICE_LOST = 86
"""the status of a process whose device refuses all further work: what it tested from then on would fail for that"""
KEEP_BYTES = 12 << 20
"""so much is kept of recordings, packed, and so much of reports"""

COLUMNS = (
    "group",
    "tests",
    "passed",
    "skipped",
    "failed",
    "not reached recorded",
    "differ",
    "differ only once",
    "operations",
    "errors and warnings",
)


@dataclass(slots=True)
class Tests:
    """The tests of one process or a chain of them."""

    ended: dict[str, str] = field(default_factory=dict)
    """test -> passed, failed, skipped or xfailed"""
    why: dict[str, str] = field(default_factory=dict)
    """test -> the last line of its error"""
    open: list[str] = field(default_factory=list)
    """begun and never ended: the process ended in them, or was stopped"""


def outcomes(lines: Path) -> Tests:
    """Read what the plugin wrote, also if the last line was cut off."""
    tests = Tests()
    if not lines.exists():
        return tests
    begun: dict[str, None] = {}
    for text in lines.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if "begun" in line:
            begun[line["begun"]] = None
        else:
            tests.ended[line["test"]] = line["outcome"]
            if line["why"]:
                tests.why[line["test"]] = line["why"]
    tests.open = [test for test in begun if test not in tests.ended]
    return tests


@dataclass(slots=True)
class Run:
    """One part of a group, in one way."""

    name: str
    tests: Tests = field(default_factory=Tests)
    seconds: float = 0.0
    unfinished: str = ""
    """why tests of it may be missing"""
    stopped: str = ""
    """the test in which it was stopped: its time was over"""
    crashes: list[str] = field(default_factory=list)
    traces: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    """the recordings of which something is reported"""
    findings: list[dict[str, Any]] = field(default_factory=list)
    """errors and warnings"""
    notes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    operations: int = 0

    def add(self, document: dict[str, Any]) -> None:
        """Take what a report in JSON says."""
        for one in document["findings"]:
            if one["severity"] == "note":
                self.notes[one["code"]] += 1
            else:
                self.findings.append(one)
        summary = document["summary"]
        self.operations += summary.get("operations", 0)
        self.problems += [
            each["message"] if isinstance(each, dict) else str(each) for each in summary.get("problems", ())
        ]

    def loud(self) -> list[str]:
        """Return `CODE severity file:line` of each error and warning, once, with how often it is there."""
        said = Counter(_place(one) for one in self.findings)
        return [f"{count} x {line}" if count > 1 else line for line, count in said.items()]


def _place(one: dict[str, Any]) -> str:
    place = one.get("location") or {}
    return f"{one['code']} {one['severity']} {Path(place.get('file', '')).name}:{place.get('line', '')}"


@dataclass(slots=True)
class PartResult:
    """A part in both ways."""

    part: int
    plain: Run
    recorded: Run


@dataclass(frozen=True, slots=True)
class Differing:
    """A test that ended differently when it was recorded."""

    test: str
    plain: str
    recorded: str
    why: str
    again: tuple[str, str] | None = None
    """both ways once more, with nothing beside"""

    @property
    def steady(self) -> bool:
        """Whether it differs again; a test that was not run again counts as one that does."""
        return self.again is None or self.again[0] != self.again[1]


@dataclass(slots=True)
class GroupResult:
    """What came of a group."""

    name: str
    parts: list[PartResult] = field(default_factory=list)
    again: PartResult | None = None

    def differing(self) -> list[Differing]:
        """Return the tests that ended differently. What only one way came to is none of them."""
        found = []
        for part in self.parts:
            plain, recorded = part.plain.tests, part.recorded.tests
            for test in (*plain.ended, *plain.open):
                pair = tuple(_word(run, test) for run in (part.plain, part.recorded))
                if None in pair or pair[0] == pair[1]:
                    continue
                found.append(Differing(test, *map(str, pair), recorded.why.get(test, ""), self._again(test)))
        return found

    def _again(self, test: str) -> tuple[str, str] | None:
        if self.again is None:
            return None
        pair = _word(self.again.plain, test), _word(self.again.recorded, test)
        return None if None in pair else (str(pair[0]), str(pair[1]))

    def runs(self) -> list[Run]:
        """Return the recorded runs, those again too."""
        return [part.recorded for part in (*self.parts, *([self.again] if self.again else []))]


def _word(run: Run, test: str) -> str | None:
    """Return how a test ended in a run, `crashed` where its process did; None where it did not come to it."""
    if test in run.tests.open:
        return None if test == run.stopped else "crashed"
    return run.tests.ended.get(test)


def table(results: Sequence[GroupResult]) -> list[str]:
    """Return the lines of the table, and below it what has to be looked at."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    below = []
    for result in results:
        plain: Counter[str] = Counter()
        missing = 0
        for part in result.parts:
            words = {test: _word(part.plain, test) for test in (*part.plain.tests.ended, *part.plain.tests.open)}
            plain.update(word for word in words.values() if word)
            missing += sum(_word(part.recorded, test) is None for test, word in words.items() if word)
        differing = result.differing()
        steady = [each for each in differing if each.steady]
        runs = result.runs()
        said = sum((Counter(one["code"] for one in run.findings) for run in runs), Counter[str]())
        codes = ", ".join(f"{code} x{count}" for code, count in sorted(said.items())) or "none"
        passed = plain["passed"] + plain["xfailed"]
        counts = (
            plain.total(),
            passed,
            plain["skipped"],
            plain["failed"],
            missing,
            len(steady),
            len(differing) - len(steady),
        )
        lines.append(f"| {' | '.join(map(str, (result.name, *counts, sum(run.operations for run in runs), codes)))} |")
        for each in differing:
            once = f", again {each.again[0]} and {each.again[1]}" if each.again else ""
            below.append(f"{result.name}: {each.test}: {each.plain}, recorded {each.recorded}{once}: {each.why}")
        for part in result.parts:
            for run in (part.plain, part.recorded):
                below += [f"{run.name}: {why}" for why in (*run.crashes, run.unfinished) if why]
        for run in runs:
            below += [f"{run.name}: {problem}" for problem in dict.fromkeys(run.problems)]
            below += [f"{run.name}: {line}" for line in run.loud()]
    return [*lines, "", *below]


def write_results(results: Sequence[GroupResult], folder: Path, out: Path) -> None:
    """Write results.json, reports.tar.gz and traces.tar.gz into `out`; `folder` has what the runs left."""
    document = {"groups": [_document(result) for result in results], "table": table(results)}
    (out / "results.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    reports = [path for path in sorted(folder.glob("*/*")) if path.suffix in (".txt", ".json", ".jsonl")]
    loud = {trace.parent for result in results for run in result.runs() for trace in run.kept}
    _pack(out / "reports.tar.gz", [path for path in reports if path.suffix != ".json" or path.parent in loud], folder)
    traces = [path for result in results for run in result.runs() for trace in run.kept for path in _files(trace)]
    _pack(out / "traces.tar.gz", sorted(set(traces), key=lambda path: path.stat().st_size), folder)


def _document(result: GroupResult) -> dict[str, Any]:
    tests = {}
    for part in result.parts:
        both = (part.plain.tests, part.recorded.tests)
        for test in dict.fromkeys(test for tests_of in both for test in (*tests_of.ended, *tests_of.open)):
            tests[test] = [_word(part.plain, test), _word(part.recorded, test), part.plain.tests.why.get(test, "")]
    return {
        "name": result.name,
        "tests": tests,
        "differing": [
            {"test": each.test, "plain": each.plain, "recorded": each.recorded, "why": each.why, "again": each.again}
            for each in result.differing()
        ],
        "recorded": [
            {
                "name": run.name,
                "seconds": round(run.seconds, 1),
                "operations": run.operations,
                "unfinished": run.unfinished,
                "crashes": run.crashes,
                "problems": list(dict.fromkeys(run.problems)),
                "notes": dict(run.notes),
                "findings": run.findings,
            }
            for run in result.runs()
        ],
        "plain": [
            {"name": part.plain.name, "seconds": round(part.plain.seconds, 1), "unfinished": part.plain.unfinished}
            for part in result.parts
        ],
    }


def _files(trace: Path) -> list[Path]:
    """Return all files of a recording: its other processes', and its machine code."""
    return [path for path in trace.parent.rglob(f"{trace.stem}*") if path.is_file() and path.suffix != ".json"]


def _pack(target: Path, files: Sequence[Path], folder: Path) -> None:
    """Pack files as long as the archive is not too large; say in it what was left out."""
    left_out = []
    with (
        target.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in files:
            if raw.tell() + path.stat().st_size // 3 > KEEP_BYTES:
                left_out.append(f"{path.relative_to(folder)} {path.stat().st_size}\n")
            else:
                archive.add(path, str(path.relative_to(folder)))
        text = "".join(left_out).encode()
        entry = tarfile.TarInfo("left_out.txt")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
