"""OpenCL programs in pairs, NAME.wrong and NAME.right: where they are, how each is run, and what each way can show."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

from expectations import Expectations, pair_name
from fake_device import Ran
from host_compiler import COMPILER
from opencl_runtime import OpenclMachine, compile_program

FOLDER = Path(__file__).with_name("litmus") / "opencl"
READ = (".c", ".cpp")
"""programs that are read too; the others are Python"""
_WRAPPERS = "CL/opencl.hpp"


def programs(kind: str) -> list[Path]:
    """Return the programs of a kind, `wrong` or `right`, by name of their pair."""
    found = [*FOLDER.glob(f"*.{kind}.*"), *FOLDER.glob(f"recorded/*.{kind}.*")]
    return sorted(found, key=pair_name)


def reasons(table: str) -> dict[str, str]:
    """Return a table of recorded.toml: why a way does not show a pair's mistake (`unseen`, `unread`), what `aborts`."""
    tables: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "recorded.toml").read_text(encoding="utf-8"))
    return tables[table]


def marks(path: Path) -> Expectations:
    """Return what a program says of itself."""
    return Expectations.of(path.read_text(encoding="utf-8"))


def missing(path: Path) -> str:
    """Return what this machine lacks to run a program, "" for nothing."""
    if path.suffix == ".py":
        return "" if importlib.util.find_spec("pyopencl") else "pyopencl"
    return _WRAPPERS if _WRAPPERS in path.read_text(encoding="utf-8") and not _has_wrappers() else ""


def recorded(machine: OpenclMachine, path: Path, folder: Path, *options: str) -> Ran:
    """Compile a program in a folder, run it under `streamsan run` with these options, and return its report."""
    command = [sys.executable, str(path)]
    if path.suffix in READ:
        command = [str(folder / "program")]
        compile_program(machine, path, command[0], own_header=_WRAPPERS not in path.read_text(encoding="utf-8"))
    return machine.run(folder, command, *options)


@functools.cache
def _has_wrappers() -> bool:
    # They are headers of the machine's own, which no package of Python brings.
    asked = subprocess.run(
        [str(COMPILER), "-x", "c++", "-E", "-"], input=f"#include <{_WRAPPERS}>", capture_output=True, text=True
    )
    return asked.returncode == 0
