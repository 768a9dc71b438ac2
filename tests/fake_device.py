"""Builds the fake device of native/recorder/tests/fake once, and runs its programs under `streamsan run`."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from expectations import Expectations, Mark
from forked import streamsan
from host_compiler import AT_LENGTH, COMPILER
from shared_folders import shared_folder

NATIVE = Path(__file__).resolve().parents[1] / "native"
FAKE = NATIVE / "recorder" / "tests" / "fake"
PROGRAMS = FAKE / "programs.cpp"
HOST_PROGRAMS = FAKE / "host_programs.cpp"
POOLS = NATIVE.parent / "src" / "streamsan" / "pools"
"""where streamsan.h is"""
_FLAGS = ("-std=c++20", "-O0", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
_DRIVER = ("tool.cpp", "model.cpp", "driver_calls.cpp", "driver_graphs.cpp", "driver_modules.cpp", "driver_queries.cpp")
_LATER_FUNCTIONS = (
    *("cuGraphGetEdges_v2", "cuGraphKernelNodeGetParams_v2", "cuKernelGetParamInfo", "cuFuncGetParamInfo"),
    *("cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3"),
)
_FOREIGN = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CUDA_PATH",
    "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION64_PATH",
    "NCCL_PROFILER_PLUGIN",
    "LD_PRELOAD",
    "STREAMSAN_RECORD",
)
"""variables that would lead to another CUDA than the fake one"""
SECONDS = 60
_ALWAYS = ("recorded: ", "a recording does not show ", "what the host itself did ", "what kernels read and write ")
"""begins what is said of every recording"""


@dataclass(frozen=True)
class Ran:
    """How a recorded program ended."""

    status: int
    output: str
    errors: str
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def codes(self) -> list[str]:
        """The codes of all findings."""
        return sorted(finding["code"] for finding in self.report["findings"])

    @property
    def problems(self) -> list[str]:
        """What limits the report, but for what limits every recording."""
        messages = [problem["message"] for problem in self.report["summary"]["problems"]]
        return [message for message in messages if not message.startswith(_ALWAYS)]

    @property
    def loud(self) -> set[Mark]:
        """Line and code of the warnings and errors."""
        return {mark(finding) for finding in self.report["findings"] if finding["severity"] != "note"}

    @property
    def notes(self) -> set[Mark]:
        """Line and code of the notes."""
        return {mark(finding) for finding in self.report["findings"] if finding["severity"] == "note"}


def mark(finding: Mapping[str, Any]) -> Mark:
    """Return the line and the code of a finding."""
    return finding["location"]["line"], finding["code"]


@dataclass(frozen=True)
class FakeDevice:
    """A folder with a driver, a CUPTI and programs."""

    folder: Path

    @property
    def programs(self) -> str:
        """The binary with all programs."""
        return str(self.folder / "bin" / "programs")

    @property
    def host_programs(self) -> str:
        """The binary with the programs whose host touches memory that work uses."""
        return str(self.folder / "bin" / "host_programs")

    def environment(self, **changes: str) -> dict[str, str]:
        """Return an environment in which the fake device is this machine's."""
        variables = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        libraries = str(self.folder / "lib64")
        return {**variables, "LD_LIBRARY_PATH": libraries, "CUDA_HOME": str(self.folder), **changes}

    @property
    def driver(self) -> str:
        """The driver's library."""
        return str(self.folder / "lib64" / "libcuda.so.1")

    @property
    def older_driver(self) -> str:
        """The library of a driver that lacks the later versions of its functions."""
        return str(self.folder / "older" / "libcuda.so.1")

    def compiled(self, source: Path, *libraries: str) -> str:
        """Return the binary of a program of a test's own, which includes `runtime.hpp`."""
        output = source.with_suffix("")
        runtime = str(self.folder / "lib64" / "libcudart.so.13")
        compile_fake(output, [str(source)], f"-I{FAKE}", f"-I{POOLS}", "-g", *libraries, runtime)
        return str(output)

    def alone(self, *command: str, program: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
        """Run a program without a recorder."""
        return subprocess.run(
            [program or self.programs, *command],
            env=self.environment(**changes),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            input="",
        )

    def run(
        self,
        folder: Path,
        command: Sequence[str],
        *options: str,
        environment: Mapping[str, str] | None = None,
        text: str = "",
        checked: bool = True,
    ) -> Ran:
        """Run programs under `streamsan run` in a folder; with `checked`, its report is read from its JSON."""
        report = folder / "report.json"
        asked = ("--format", "json", "--report", str(report)) if checked else ()
        words = ("run", *asked, *options, "--", *command)
        done = streamsan(folder, *words, environment=self.environment(**(environment or {})), text=text)
        assert "Traceback" not in done.stderr, done.stderr
        found = json.loads(report.read_text()) if checked and report.exists() else {}
        return Ran(done.returncode, done.stdout, done.stderr, found)


def compile_fake(output: Path, sources: Sequence[str], *flags: str) -> None:
    """Compile sources of the fake device, by name, or a test's own, by path."""
    # One translation unit: the headers are read once.
    unit = "".join(f'#include "{FAKE / source}"\n' for source in sources)
    _run_compiler(*AT_LENGTH, *_FLAGS, f"-I{NATIVE}", "-o", output, "-x", "c++", "-", "-x", "none", *flags, unit=unit)


def compile_cupti(folder: Path, *sources: str) -> None:
    """Compile the fake CUPTI: without `activity.cpp` it does not tell when work ran."""
    compile_fake(folder / "libcupti.so.13", sources, "-shared", "-ldl", "-Wl,-soname,libcupti.so.13")


def _run_compiler(*arguments: str | Path, unit: str = "") -> None:
    if COMPILER is None:
        raise RuntimeError("these tests need a C++ compiler, as the package itself does")
    done = subprocess.run([COMPILER, *arguments], input=unit, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _make_drivers(folder: Path) -> None:
    compile_fake(folder / "driver.o", _DRIVER, "-c")
    hidden = folder / "hidden"
    hidden.write_text("{ local: " + " ".join(f"{name};" for name in _LATER_FUNCTIONS) + " };\n")
    shared = ("-shared", "-Wl,-soname,libcuda.so.1", folder / "driver.o", "-o")
    _run_compiler(*shared, folder / "lib64" / "libcuda.so.1")
    (folder / "older").mkdir(exist_ok=True)
    _run_compiler(f"-Wl,--version-script={hidden}", *shared, folder / "older" / "libcuda.so.1")


def build(folder: Path) -> FakeDevice:
    """Build the fake device in a folder, unless it is there; several processes may ask at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            libraries, binaries = folder / "lib64", folder / "bin"
            libraries.mkdir(exist_ok=True)
            binaries.mkdir(exist_ok=True)
            with ThreadPoolExecutor(1) as beside:  # it takes as long as all others
                made = beside.submit(_make_drivers, folder)
                compile_cupti(libraries, "cupti.cpp", "activity.cpp")
                sanitizer = folder / "compute-sanitizer" / "libsanitizer-public.so"
                sanitizer.parent.mkdir(exist_ok=True)
                compile_fake(sanitizer, ["sanitizer.cpp"], "-shared", "-ldl")
                runtime = libraries / "libcudart.so.13"
                compile_fake(runtime, ["runtime.cpp", "tool.cpp"], "-shared", "-ldl", "-Wl,-soname,libcudart.so.13")
                for source in (PROGRAMS, HOST_PROGRAMS):
                    compile_fake(binaries / source.stem, [source.name], "-g", "-pthread", f"-I{POOLS}", str(runtime))
            made.result()
            (folder / "done").touch()
    return FakeDevice(folder)


@pytest.fixture(scope="session")
def fake_device(tmp_path_factory: pytest.TempPathFactory) -> FakeDevice:
    """Return the fake device, built once for all processes of a test run."""
    return build(shared_folder(tmp_path_factory, "fake-device"))


def program_names(source: Path = PROGRAMS) -> list[str]:
    """Return the names of the programs that say what is to be found in them."""
    return [name for name in _bodies(source) if name.endswith(("_wrong", "_right"))]


def expected(name: str, source: Path = PROGRAMS) -> Expectations:
    """Return what is to be found in a program, with the lines of the file."""
    first, body = _bodies(source)[name]
    return Expectations.of("\n" * first + body)


def _bodies(source: Path) -> dict[str, tuple[int, str]]:
    """Return the text of each program with the number of lines before it; helpers above it count as its own."""
    text = source.read_text()
    bodies: dict[str, tuple[int, str]] = {}
    start = 0
    for match in re.finditer(r"^PROGRAM\((\w+)\) \{.*?(?:^\}$|\}$)", text, re.M | re.S):
        bodies[match[1]] = (text.count("\n", 0, start), text[start : match.end()])
        start = match.end()
    return bodies
