"""Compiles native test programs of the recorder under sanitizers, and runs them."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from streamsan.generate.__main__ import write_headers
from streamsan.trace import Trace

NATIVE = Path(__file__).parents[2] / "native"
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
SANITIZERS: dict[str, list[str]] = {
    "plain": ["-O0"],
    "address": ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O0", "-g1", "-fsanitize=thread"],
}
COMMON = """\
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/recorder.hpp"
"""
"""what most sources include: parsed once for a sanitizer, and before each source"""
UNDER_SANITIZERS = [pytest.param(name, marks=pytest.mark.deep) for name in ("address", "thread")]
"""what a test takes that is worth its time only under a sanitizer"""
# The thread sanitizer refuses threads in a child that a process with threads forked; what it checks is not that.
ENVIRONMENT = os.environ | {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1", "LC_ALL": "C"}


WRITER_SOURCES = ["recorder/tests/writer_driver.cpp", "recorder/trace_writer/*.cpp"]


def build(folders: pytest.TempPathFactory, sanitizer: str, sources: Sequence[str], without: str = "") -> Path:
    """Link `sources` (patterns below `native/`, but for the file named `without`) with a sanitizer.

    Each source is compiled once for all programs of a test run. Skips where the compiler has no such sanitizer.
    """
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    base = folders.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    program = _built(shared / f"native_{sanitizer}", sanitizer, tuple(sources), without)
    if program is None:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer")
    return program


@cache
def _built(folder: Path, sanitizer: str, sources: tuple[str, ...], without: str) -> Path | None:
    assert COMPILER
    compiler = [COMPILER, "-std=c++20", *SANITIZERS[sanitizer], "-pthread", "-I", str(NATIVE), "-I", str(folder)]
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _available(compiler, folder):
            return None
        write_headers(folder / "generated")
        common = folder / "common.hpp"
        if not common.exists():
            common.write_text(COMMON)
            subprocess.run([*compiler, "-x", "c++-header", common, "-o", f"{common}.gch"], check=True)

        def compiled(source: Path) -> Path:
            target = folder / ("_".join(source.relative_to(NATIVE).with_suffix("").parts) + ".o")
            if not target.exists():
                unfinished = target.with_suffix(".part")
                subprocess.run([*compiler, "-include", common, "-c", source, "-o", unfinished], check=True)
                unfinished.rename(target)
            return target

        files = [path for pattern in sources for path in sorted(NATIVE.glob(pattern)) if path.name != without]
        with ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(compiled, files))
        program = Path(mkdtemp(prefix="program_", dir=folder)) / "program"
        subprocess.run([*compiler, *objects, "-o", program, "-ldl"], check=True)
    return program


def _available(compiler: Sequence[str], folder: Path) -> bool:
    """Whether the compiler can make a program with the sanitizer. One that was made and does not run is a failure."""
    source, target = folder / "nothing.cpp", folder / "nothing"
    if not target.exists():
        source.write_text("int main() {}\n")
        subprocess.run([*compiler, source, "-o", target], capture_output=True, check=False)
    return target.exists()


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
