"""Builds the OpenCL programs of the tests once, and runs them under `streamsan run` on a runtime that works on any CPU.

The loader and PoCL are those of the package `pyopencl[pocl]`, which the extra `test` installs; where that is missing,
the machine's own.
"""

from __future__ import annotations

import ctypes.util
import fcntl
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from expectations import Expectations
from fake_device import Ran
from forked import streamsan
from host_compiler import COMPILER
from opencl_header import header
from shared_folders import shared_folder

PROGRAMS = Path(__file__).with_name("opencl") / "programs.c"
SECONDS = 120
_FOREIGN = ("CUDA_INJECTION64_PATH", "LD_PRELOAD", "STREAMSAN_RECORD", "OPENCL_LAYERS")


@dataclass(frozen=True)
class OpenclMachine:
    """A folder with the programs, and a runtime."""

    folder: Path
    loader: Path
    home: str
    """folder of the package that has the loader and PoCL, "" for the system's"""

    @property
    def programs(self) -> str:
        """The binary with all programs."""
        return str(self.folder / "programs")

    def environment(self, **changes: str) -> dict[str, str]:
        """Return an environment in which PoCL is the machine's runtime."""
        variables = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        if self.home:
            # The package's loader looks there for PoCL, and at no other of the machine's runtimes.
            (runtime,) = Path(self.home, ".libs").glob("libpocl*.so*")
            variables |= {"PYOPENCL_HOME": self.home, "OCL_ICD_VENDORS": str(runtime)}
        # One thread of the runtime: what is compiled once serves all programs.
        return {**variables, "POCL_CACHE_DIR": str(self.folder / "kernels"), "POCL_MAX_PTHREAD_COUNT": "2", **changes}

    def alone(self, *command: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run a program without a recorder."""
        environment = self.environment(**changes)
        return subprocess.run(
            [self.programs, *command], env=environment, capture_output=True, text=True, timeout=SECONDS
        )

    def run(
        self,
        folder: Path,
        command: Sequence[str],
        *options: str,
        environment: Mapping[str, str] | None = None,
        checked: bool = True,
    ) -> Ran:
        """Run a program under `streamsan run` in a folder; with `checked`, its report is read from its JSON."""
        report = folder / "report.json"
        asked = ("--format", "json", "--report", str(report)) if checked else ()
        words = ("run", *asked, *options, "--", *command)
        done = streamsan(folder, *words, environment=self.environment(**(environment or {})))
        assert "Traceback" not in done.stderr or command[0] == sys.executable, done.stderr
        found = json.loads(report.read_text()) if checked and report.exists() else {}
        return Ran(done.returncode, done.stdout, done.stderr, found)


def _runtime() -> tuple[Path, str] | None:
    """Return a loader, and the folder of the package that it is of; None where there is none."""
    package = importlib.util.find_spec("pyopencl")
    if package is not None and package.origin is not None:
        libraries = Path(package.origin).parent / ".libs"
        loaders = sorted(libraries.glob("libOpenCL*.so*"))
        if loaders and (libraries / "pocl.icd").is_file():
            return loaders[0], str(libraries.parent)
    if (name := ctypes.util.find_library("OpenCL")) and any(Path("/etc/OpenCL/vendors").glob("*.icd")):
        return Path(name), ""
    return None


def build(folder: Path) -> OpenclMachine | None:
    """Build the programs in a folder, unless they are there; several processes may ask at once. None: no runtime."""
    found = _runtime()
    if found is None:
        return None
    machine = OpenclMachine(folder, *found)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not Path(machine.programs).exists():
            (folder / "CL").mkdir(exist_ok=True)
            (folder / "CL" / "cl.h").write_text(header())
            compile_program(machine, PROGRAMS, machine.programs)
    return machine


def compile_program(machine: OpenclMachine, source: Path, output: str, own_header: bool = True) -> None:
    """Compile a program of C, or C++ by its name, that includes CL/cl.h: ours, or with the rest of the machine's."""
    if COMPILER is None:
        raise RuntimeError("these tests need a C++ compiler, as the package itself does")
    loader = str(machine.loader) if machine.loader.is_absolute() else f"-l:{machine.loader}"
    folders = [f"-Wl,-rpath,{machine.loader.parent}"] if machine.loader.is_absolute() else []
    language = ["-x", "c++", "-std=c++17"] if source.suffix == ".cpp" else ["-x", "c", "-std=c11"]
    flags = [*language, "-g", "-O0", "-Wall", "-Wno-deprecated-declarations"]
    if own_header:
        flags.append(f"-I{machine.folder}")
    command = [COMPILER, *flags, str(source), "-x", "none", "-pthread", "-o", output, loader, *folders]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def opencl_machine(tmp_path_factory: pytest.TempPathFactory) -> OpenclMachine:
    """Return the machine, built once for all processes of a test run."""
    machine = build(shared_folder(tmp_path_factory, "opencl-machine"))
    if machine is None:
        pytest.skip("no OpenCL runtime: pip install 'pyopencl[pocl]'")
    return machine


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
    for match in re.finditer(r"^PROGRAM\((\w+)\) \{.*?^\}$", text, re.M | re.S):
        bodies[match[1]] = (text.count("\n", 0, start), text[start : match.end()])
        start = match.end()
    return bodies
