"""Compiles the graph scenarios with the recorder's sources and a fake driver, under sanitizers, and runs them."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from trace_writer_driver import COMPILER, NATIVE, SANITIZERS, run

from streamsan.analysis import Checked, analyse_trace
from streamsan.findings import Severity
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
COMMON = """\
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/recorder.hpp"
"""


def build(folder: Path, sanitizer: str) -> Path:
    """Compile the scenarios; the headers that all sources share are parsed once."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    options = [option for option in SANITIZERS[sanitizer] if not option.startswith("-O")]
    compiler = [COMPILER, "-std=c++20", "-O0", *options, "-pthread", "-I", str(NATIVE)]
    probe = folder / "probe.cpp"
    probe.write_text("int main() {}\n")
    if subprocess.run([*compiler, probe, "-o", folder / "probe"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer")
    common = folder / "common.hpp"
    common.write_text(COMMON)
    subprocess.run([*compiler, "-x", "c++-header", common, "-o", f"{common}.gch"], check=True)

    def compiled(source: Path) -> Path:
        target = folder / f"{source.parent.name}_{source.stem}.o"
        subprocess.run([*compiler, "-include", common, "-c", source, "-o", target], check=True)
        return target

    sources = [path for pattern in PATTERNS for path in sorted(NATIVE.glob(pattern)) if path.name != ENTRY]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, sources))
    program = folder / "scenarios"
    subprocess.run([*compiler, *objects, "-o", program, "-ldl"], check=True)
    return program


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
