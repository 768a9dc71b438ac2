"""Compiles native test programs of the recorder under sanitizers, and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from streamsan.trace import Trace

NATIVE = Path(__file__).parents[2] / "native"
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
SANITIZERS: dict[str, list[str]] = {
    "plain": ["-O2"],
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O1", "-g", "-fsanitize=thread"],
}
# The thread sanitizer refuses threads in a child that a process with threads forked; what it checks is not that.
ENVIRONMENT = os.environ | {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1", "LC_ALL": "C"}


WRITER_SOURCES = ["recorder/tests/writer_driver.cpp", "recorder/trace_writer/*.cpp"]


def _available(sanitizer: str, folder: Path) -> bool:
    """Whether the compiler can make a program with it at all. One that was made and does not run is a failure."""
    assert COMPILER
    source, target = folder / f"nothing_{sanitizer}.cpp", folder / f"nothing_{sanitizer}"
    source.write_text("int main() {}\n")
    made = subprocess.run([COMPILER, *SANITIZERS[sanitizer], source, "-o", target], capture_output=True, check=False)
    return made.returncode == 0


def build(folders: pytest.TempPathFactory, sanitizer: str, sources: Sequence[str]) -> Path:
    """Compile `sources` (patterns below `native/`) with a sanitizer, once; skip where the compiler has none."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    return _built(folders.getbasetemp(), sanitizer, tuple(sources))


@cache
def _built(base: Path, sanitizer: str, sources: tuple[str, ...]) -> Path:
    folder = Path(mkdtemp(prefix=f"built_{sanitizer}_", dir=base))
    if not _available(sanitizer, folder):
        pytest.skip(f"the compiler has no {sanitizer} sanitizer")
    target = folder / f"program_{sanitizer}"
    files = [path for pattern in sources for path in sorted(NATIVE.glob(pattern))]
    command = [COMPILER, "-std=c++20", *SANITIZERS[sanitizer], "-pthread", "-I", NATIVE, *files, "-o", target]
    subprocess.run(command, check=True)
    return target


def run(program: Path, *arguments: object, status: int = 0) -> str:
    """Run a test program and return its output. Whatever a sanitizer says is a failure."""
    result = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=120
    )
    assert result.stderr == ""
    assert result.returncode == status
    return result.stdout


def operations_of(trace: Trace) -> np.ndarray:
    """Return the slots of a trace that are no continuations, in order."""
    slots = np.concatenate(list(trace.chunks()))
    return slots[slots["kind"] < 240]
