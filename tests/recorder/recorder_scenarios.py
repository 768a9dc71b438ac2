"""Compiles the graph scenarios with the recorder's sources and a fake driver, under sanitizers, and runs them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from trace_writer_driver import NATIVE, run
from trace_writer_driver import build as link

from streamsan.analysis.checked import Checked
from streamsan.analysis.traces import analyse_trace
from streamsan.findings.finding import Severity
from streamsan.trace import Trace
from streamsan.trace.reader import read

FOLDER = NATIVE / "recorder" / "tests" / "cuda_graphs"
SCENARIOS = FOLDER / "scenarios.cpp"
PATTERNS = (
    "recorder/trace_writer/*.cpp",
    "recorder/memory/*.cpp",
    "recorder/cuda/*.cpp",
    "recorder/tests/cuda_graphs/*.cpp",
)
ENTRY = "injection.cpp"
"""what the driver calls: here the scenarios are the driver"""


def build(folders: pytest.TempPathFactory, sanitizer: str) -> Scenarios:
    """Compile the scenarios under a sanitizer."""
    return Scenarios(link(folders, sanitizer, PATTERNS, without=ENTRY), folders.mktemp(f"graphs_{sanitizer}"))


@dataclass(frozen=True)
class Scenarios:
    """A compiled program, and where its recordings go."""

    program: Path
    folder: Path

    def record(self, name: str, limit: int = 0) -> tuple[Path, str]:
        """Run a scenario; return its recording, and what it printed."""
        path = self.folder / f"{name}.sst"
        printed = run(self.program, name, path, limit)
        return path, printed

    def check(self, name: str, limit: int = 0) -> Checked:
        """Record a scenario and check it."""
        return analyse_trace(str(self.record(name, limit)[0]))

    def trace(self, name: str) -> Trace:
        """Record a scenario and read it back."""
        return read(str(self.record(name)[0]))


def loud(checked: Checked) -> set[tuple[int, str]]:
    """Return line and code of all findings that are no notes."""
    return {(each.location.line, each.code) for each in checked.findings if each.severity is not Severity.NOTE}


def names() -> list[str]:
    """Return all scenarios."""
    return re.findall(r"^    SCENARIO\((\w+)\),$", SCENARIOS.read_text(), re.MULTILINE)


def expected(name: str) -> set[tuple[int, str]]:
    """Return line and code of what a scenario's comments say."""
    found, inside = set(), False
    for number, line in enumerate(SCENARIOS.read_text().splitlines(), 1):
        inside = line.startswith(f"void {name}(") or (inside and line != "}")
        if inside and (match := re.search(r"// expect: (SS\d+)", line)):
            found.add((number, match[1]))
    return found


def line_of(text: str) -> int:
    """Return the number of the one line of the scenarios that has `text`."""
    (number,) = (number for number, line in enumerate(SCENARIOS.read_text().splitlines(), 1) if text in line)
    return number
