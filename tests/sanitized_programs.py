"""Compiles native test programs under sanitizers, and runs them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from host_compiler import AT_LENGTH, COMPILER
from shared_folders import shared_folder
from streamsan.generate.__main__ import write_headers
from streamsan.trace import Trace
from streamsan.trace.layout import SLOT

NATIVE = Path(__file__).parents[1] / "native"
SANITIZERS: dict[str, list[str]] = {
    "plain": ["-O0"],
    "address": ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O0", "-g1", "-fsanitize=thread"],
}
UNDER_SANITIZERS = [pytest.param(name, marks=pytest.mark.deep) for name in ("address", "thread")]
"""what a test takes that is worth its time only under a sanitizer"""
# The thread sanitizer refuses threads in a child that a process with threads forked; what it checks is not that.
ENVIRONMENT = os.environ | {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1", "LC_ALL": "C"}


CORE = ("recorder/trace_writer/*.cpp", "recorder/memory/*.cpp recorder/run/*.cpp")
"""what every platform's recorder is made on"""
WRITER_SOURCES = ("recorder/tests/writer_driver.cpp", "recorder/trace_writer/*.cpp")


def build(folders: pytest.TempPathFactory, sanitizer: str, units: Sequence[str], libraries: Sequence[str] = ()) -> Path:
    """Link `units` with a sanitizer, and with the files of shared libraries.

    A unit is one pattern below `native/`, or several with spaces between: its files are compiled together, as the
    package's own build does it, once for all programs of a test run. Skips where the compiler has no such sanitizer.
    """
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    program = _built(shared_folder(folders, f"native_{sanitizer}"), sanitizer, tuple(units), tuple(libraries))
    if program is None:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer")
    return program


@cache
def _built(folder: Path, sanitizer: str, units: tuple[str, ...], libraries: tuple[str, ...]) -> Path | None:
    assert COMPILER
    compiler = [
        COMPILER,
        *AT_LENGTH,
        "-std=c++20",
        *SANITIZERS[sanitizer],
        "-pthread",
        "-I",
        str(NATIVE),
        "-I",
        str(folder),
    ]
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _available(compiler, folder):
            return None
        write_headers(folder / "generated")

        def compiled(unit: str) -> Path:
            files = [path for pattern in unit.split() for path in sorted(NATIVE.glob(pattern))]
            source = folder / f"{zlib.crc32(unit.encode()):08x}.cpp"
            target = source.with_suffix(".o")
            if not target.exists():
                source.write_text("".join(f'#include "{file}"\n' for file in files))
                unfinished = source.with_suffix(".part")
                subprocess.run([*compiler, "-c", source, "-o", unfinished], check=True)
                unfinished.rename(target)
            return target

        with ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(compiled, units))
        program = Path(mkdtemp(prefix="program_", dir=folder)) / "program"
        # The recorder and the tests look functions of a driver up by name.
        subprocess.run([*compiler, *objects, *libraries, "-o", program, "-rdynamic", "-ldl"], check=True)
    return program


def _available(compiler: Sequence[str], folder: Path) -> bool:
    """Whether the compiler can make a program with the sanitizer. One that was made and does not run is a failure."""
    source, target = folder / "nothing.cpp", folder / "nothing"
    if not target.exists():
        source.write_text("int main() {}\n")
        subprocess.run([*compiler, source, "-o", target], capture_output=True, check=False)
    return target.exists()


def run(program: Path, *arguments: object, status: int = 0, environment: Mapping[str, str] | None = None) -> str:
    """Run a test program and return its output. Whatever a sanitizer says is a failure."""
    variables = ENVIRONMENT | dict(environment or {})
    result = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, check=False, env=variables, timeout=120
    )
    assert result.stderr == ""
    assert result.returncode == status
    return result.stdout


def operations_of(trace: Trace) -> np.ndarray:
    """Return the slots of a trace that are no continuations, in order."""
    slots = np.concatenate([np.zeros(0, SLOT), *trace.chunks()])
    return slots[slots["kind"] < 240]
