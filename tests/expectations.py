"""Expected findings, written in the programs themselves.

A line with `// expect: SS102` (in Python `# expect: SS102`) carries an error or warning of that code; all errors and
warnings of a program must be expected, by line and code. A line with `// expect-note: SS501` carries a note that must
be there; further notes are free. Several codes are separated by commas.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamsan.analysis.inputs import analyse_path
from streamsan.cli import main
from streamsan.findings.finding import Confidence, Finding, Location, Severity

_EXPECTATION = re.compile(r"(?://|#)\s*expect(?P<note>-note)?:\s*(?P<codes>[^/#\n]*?)\s*$", re.MULTILINE)
_CODE = re.compile(r"SS\d{3}\Z")

Mark = tuple[int, str]
"""line and code"""


@dataclass(frozen=True)
class Expectations:
    """What a program says of itself."""

    loud: frozenset[Mark]
    notes: frozenset[Mark]

    @classmethod
    def of(cls, text: str) -> Expectations:
        """Read the expectations of a program. Raises ValueError for a code that is none."""
        marks: dict[bool, set[Mark]] = {False: set(), True: set()}
        for match in _EXPECTATION.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            for code in match["codes"].split(","):
                if not _CODE.match(code.strip()):
                    raise ValueError(f"line {line}: {code.strip()!r} is no code")
                marks[match["note"] is not None].add((line, code.strip()))
        return cls(frozenset(marks[False]), frozenset(marks[True]))


def check_text(text: str, folder: Path, name: str = "example.cu") -> list[Finding]:
    """Check a program given as text; it is written to a file in `folder`."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return check_file(path)


def check_file(path: Path) -> list[Finding]:
    """Check a program in a file."""
    return list(analyse_path(path).findings)


check_unchanged = functools.cache(check_file)
"""the same for a file that stays as it is: many tests ask about one analysis"""


def pair_name(path: Path) -> str:
    """Return what a litmus program and its twin are called."""
    return path.name.split(".")[0]


@dataclass(frozen=True)
class Simulated:
    """One run of a Python program on the simulated device."""

    status: int
    """the program's exit status"""
    findings: list[Finding]
    problems: list[str]
    """what limits the report"""


def simulate(path: Path, folder: Path, schedule: str) -> Simulated:
    """Run a Python program in a process of its own. Its report goes to `folder`."""
    report = folder / f"{path.stem}.{schedule}.json"
    status = main(["sim", "--schedule", schedule, "--format", "json", "--report", str(report), str(path)])
    if not report.exists():
        raise AssertionError(f"no report of {path.name} ({schedule}): status {status}")
    document = json.loads(report.read_text(encoding="utf-8"))
    findings = [_finding(entry) for entry in document["findings"]]
    problems = [f"{problem['file']}: {problem['message']}" for problem in document["summary"]["problems"]]
    return Simulated(status, findings, problems)


def _finding(entry: dict[str, Any]) -> Finding:
    """Return a finding as far as expectations look at it."""
    where = entry["location"]
    return Finding(
        code=entry["code"],
        name=entry["name"],
        severity=Severity(entry["severity"]),
        confidence=Confidence(entry["confidence"]),
        message=entry["message"],
        location=Location(where["file"], where["line"], where["column"], where["function"]),
    )


def differences(text: str, findings: Iterable[Finding], silent: Iterable[str] = ()) -> list[str]:
    """Return how findings differ from a program's expectations, one readable line each.

    `silent` are codes that may not appear at all, not even as notes: those of a right program's own rule.
    """
    expected = Expectations.of(text)
    lines = text.split("\n")
    found = list(findings)
    loud = {(f.location.line, f.code): f for f in found if f.severity is not Severity.NOTE}
    notes = {(f.location.line, f.code): f for f in found if f.severity is Severity.NOTE}
    complaints = [_missing(mark, lines, notes.get(mark)) for mark in sorted(expected.loud - loud.keys())]
    complaints += [_missing(mark, lines, loud.get(mark)) for mark in sorted(expected.notes - notes.keys())]
    complaints += [f"not expected: {_described(loud[mark], lines)}" for mark in sorted(loud.keys() - expected.loud)]
    complaints += [
        f"not silent: {_described(note, lines)}" for mark, note in sorted(notes.items()) if mark[1] in silent
    ]
    return complaints


def _missing(mark: Mark, lines: list[str], other: Finding | None) -> str:
    line, code = mark
    found = f" (found as {other.severity}, {other.confidence})" if other is not None else ""
    return f"missing: {code} at line {line}{found}: {lines[line - 1].strip()}"


def _described(finding: Finding, lines: list[str]) -> str:
    line = finding.location.line
    source = lines[line - 1].strip() if 0 < line <= len(lines) else "?"
    return f"{finding.severity}[{finding.code}] {finding.confidence} at line {line}: {finding.message}\n    {source}"
