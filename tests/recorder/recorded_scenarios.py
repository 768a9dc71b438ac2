"""Scenarios of synthetic calls, recorded in a program of their own.

Under sanitizers it is linked with the recorder's sources, and sees what the recorder holds inside. Without, scenarios
that need not see that are recorded by the installed recorder, which takes a tenth of the time to compile.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fake_device import FakeDevice
from sanitized_programs import CORE, ENVIRONMENT, NATIVE, build, run
from streamsan.analysis.checked import Checked
from streamsan.analysis.traces import analyse_trace
from streamsan.findings.finding import Severity
from streamsan.recorder.injection import recorder_library
from streamsan.trace import Trace
from streamsan.trace.reader import read
from streamsan.trace.references import Reference
from streamsan.trace.rows import Rows
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import OperationKind, SlotFlag

FAKE_DRIVER = " ".join(f"recorder/tests/fake/{name}.cpp" for name in ("tool", "model", "driver_*", "activity"))
HOST = " ".join(f"recorder/host/{name}.cpp" for name in ("access_notes", "fault_chain", "host_memory", "protection"))
SCENARIOS = " ".join(
    f"recorder/tests/recorded/{name}.cpp"
    for name in ("main", "linked_recorder", "code", "core", "graphs", "shapes", "times", "work")
)
UNITS = (
    f"recorder/cuda/*.cpp {HOST} recorder/accesses/*.cpp",
    "recorder/sites/modules.cpp",
    *CORE,
    f"{FAKE_DRIVER} {SCENARIOS}",
)
LOADED = " ".join(f"recorder/tests/recorded/{name}.cpp" for name in ("main", "loaded_recorder", "code", "shapes"))
GRAPHS = (NATIVE / "recorder/tests/recorded/graphs.cpp").read_text()
OF_THE_PROCESS = {
    *(OperationKind.THREAD_START, OperationKind.MAIN_BEGIN),
    *(OperationKind.CONTEXT_CREATE, OperationKind.CONTEXT_CURRENT),
}


@dataclass(frozen=True)
class Recorded:
    """One operation, as short as a test can say it."""

    kind: OperationKind | int
    api: str
    label: str
    view: OperationView

    @property
    def references(self) -> list[tuple[int, int, str, int]]:
        """Address, size, mode and flags of each. Those of the first are in the slot's own flags."""
        found = [of(reference) for reference in self.view.references]
        if found and self.view.address == found[0][0]:
            found[0] = (*found[0][:3], self.view.flags & SlotFlag.STRIDED)
        return found

    @property
    def rows(self) -> list[Rows | None]:
        """Which bytes of each reference are touched, where not all are."""
        return [each.rows for each in self.view.references]


def of(reference: Reference) -> tuple[int, int, str, int]:
    """Return a reference as a test writes it."""
    return reference.address, reference.size, reference.mode.name, int(reference.flags)


@dataclass(frozen=True)
class Scenarios:
    """The compiled program, and where recordings of one family of scenarios go."""

    program: Path
    family: str
    folder: Path
    device: FakeDevice | None = None
    """whose driver loads the installed recorder; None: the recorder is linked"""

    def record(self, name: str, settings: str = "") -> tuple[Path, str]:
        """Record a scenario; return the file, and what was printed."""
        path = self.folder / f"{name}.sst"
        environment: dict[str, str] = {}
        if self.device:
            driver = self.device.older_driver if name.startswith("older_driver") else self.device.driver
            libraries = Path(self.device.driver).parent
            settings = f"cupti={libraries}\n{settings}"
            environment["LD_LIBRARY_PATH"] = f"{Path(driver).parent}:{libraries}"
            environment["CUDA_INJECTION64_PATH"] = str(recorder_library())
        return path, run(self.program, self.family, name, path, settings, environment=environment)

    def trace(self, name: str, settings: str = "") -> Trace:
        """Record a scenario and read it back."""
        return read(self.record(name, settings)[0])

    def check(self, name: str, settings: str = "") -> Checked:
        """Record a scenario and check it."""
        return analyse_trace(str(self.record(name, settings)[0]))

    def operations(self, name: str, *kinds: OperationKind) -> list[Recorded]:
        """Record a scenario once; return its operations of these kinds, of all that a call made when none is named."""
        path = self.folder / f"{name}.sst"
        trace = read(path) if path.exists() else self.trace(name)
        return [each for each in _operations(trace) if each.kind in kinds or not kinds]

    def names(self, symbols: Sequence[str]) -> list[str]:
        """Return what the recorder reads in symbols of kernels: label|typed|one character for each parameter."""
        command = [self.program, "symbols", "names", self.folder / "names.sst"]
        said = subprocess.run(
            command, input="\n".join(symbols) + "\n", capture_output=True, text=True, check=True, env=ENVIRONMENT,
            timeout=60,
        )  # fmt: skip
        assert said.stderr == ""
        return said.stdout.splitlines()


def _operations(trace: Trace) -> Iterator[Recorded]:
    for view in iterate(trace):
        if view.kind not in OF_THE_PROCESS:
            yield Recorded(view.kind, trace.apis[view.api], trace.site(view.site).label if view.site else "", view)


def scenarios(folders: pytest.TempPathFactory, sanitizer: str, family: str) -> Scenarios:
    """Compile the program with the recorder, under a sanitizer, once for all families."""
    return Scenarios(build(folders, sanitizer, UNITS), family, folders.mktemp(f"{family}_{sanitizer}"))


def scenarios_in_all_ways(request: pytest.FixtureRequest, folders: pytest.TempPathFactory, family: str) -> Scenarios:
    """The same under the sanitizer that is a fixture's parameter; with `plain` the installed recorder records."""
    if request.param != "plain":
        return scenarios(folders, request.param, family)
    device: FakeDevice = request.getfixturevalue("fake_device")
    program = build(folders, "plain", [LOADED], [device.driver])
    return Scenarios(program, family, folders.mktemp(f"{family}_plain"), device)


# -- what the scenarios of graphs say of themselves -----------------------------------------------
def loud(checked: Checked) -> set[tuple[int, str]]:
    """Return line and code of all findings that are no notes."""
    return {(each.location.line, each.code) for each in checked.findings if each.severity is not Severity.NOTE}


def names() -> list[str]:
    """Return all scenarios of graphs."""
    return re.findall(r"^SCENARIO\((\w+)\)", GRAPHS, re.MULTILINE)


def expected(name: str) -> set[tuple[int, str]]:
    """Return line and code of what a scenario's comments say."""
    found, inside = set(), False
    for number, line in enumerate(GRAPHS.splitlines(), 1):
        inside = line.startswith(f"SCENARIO({name})") or (inside and line != "}")
        if inside and (match := re.search(r"// expect: (SS\d+)", line)):
            found.add((number, match[1]))
    return found


def line_of(text: str) -> int:
    """Return the number of the one line of the scenarios of graphs that has `text`."""
    (number,) = (number for number, line in enumerate(GRAPHS.splitlines(), 1) if text in line)
    return number
