"""Where libcupti may be, as far as the command line and the environment tell; the recorder knows the usual places.

The one of a Python program's own packages comes first: it may load it later (PyTorch's profiler does), and a process
must not end up with two. Nowhere else is a library taken from beside or above the program: who records a program of
somebody else has not chosen what lies there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

_PYTHON = re.compile(r"python(3(\.\d+)?t?)?")
_LONGEST_LINE = 256
"""bytes of the first line of a script that the kernel reads"""
_SITE_PACKAGES = ("lib/python3.*/site-packages", "lib64/python3.*/site-packages", "local/lib/python3.*/dist-packages")


class ToolFolders(Struct, frozen=True):
    """Where NVIDIA puts a library of its: patterns of folders."""

    in_toolkit: tuple[str, ...]
    """below the folder of a toolkit"""
    in_wheels: tuple[str, ...]
    """below a folder of Python packages"""


CUPTI = ToolFolders(("lib64", "targets/*/lib", "extras/CUPTI/lib64"), ("nvidia/cu[0-9]*/lib", "nvidia/cuda_cupti/lib"))


def cupti_places(program: str, environment: Mapping[bytes, bytes]) -> list[str]:
    """Return the folders that have a libcupti.so, best first; `program` is the path of what is started."""
    folders = folders_of(CUPTI, program, environment)
    places = dict.fromkeys(str(folder) for folder in folders if any(folder.glob("libcupti.so*")))
    return [place for place in places if ":" not in place and "\n" not in place]


def folders_of(tool: ToolFolders, program: str, environment: Mapping[bytes, bytes]) -> Iterator[Path]:
    """Yield the folders in which a library of NVIDIA's may be, best first, some of them twice."""
    yield from _own_packages(tool, program)
    if given := environment.get(b"VIRTUAL_ENV") or environment.get(b"CONDA_PREFIX"):
        yield from _wheels(tool, Path(os.fsdecode(given)))
    for variable in (b"CUDA_HOME", b"CUDA_PATH"):
        if home := environment.get(variable):
            yield from _toolkit(tool, Path(os.fsdecode(home)))
    if compiler := shutil.which("nvcc", path=os.fsdecode(environment.get(b"PATH", b""))):
        yield from _toolkit(tool, Path(compiler).resolve().parents[1])
    yield from _wheels(tool, Path(sys.prefix))


def _interpreter(program: str) -> Path | None:
    """Return the Python interpreter that a program is, or that its first line names; None where there is none."""
    path = Path(program).absolute()
    if not _PYTHON.fullmatch(path.name):
        try:
            with open(path, "rb") as file:
                first = file.readline(_LONGEST_LINE)
        except OSError:
            return None
        words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
        path = Path(words[0]) if words else path
    return path if path.is_absolute() and _PYTHON.fullmatch(path.name) else None


def _own_packages(tool: ToolFolders, program: str) -> Iterator[Path]:
    """Yield folders of the packages that a Python program imports: all that it runs comes from there."""
    interpreter = _interpreter(program)
    if interpreter is None or interpreter.parent.name != "bin":
        return
    prefix = interpreter.parent.parent
    if (prefix / "pyvenv.cfg").is_file() or any(prefix.glob("lib*/python3.*/os.py")):
        yield from _wheels(tool, prefix)


def _wheels(tool: ToolFolders, prefix: Path) -> Iterator[Path]:
    for packages in _SITE_PACKAGES:
        for folder in sorted(prefix.glob(packages)):
            for pattern in tool.in_wheels:
                yield from sorted(folder.glob(pattern), reverse=True)


def _toolkit(tool: ToolFolders, home: Path) -> Iterator[Path]:
    for pattern in tool.in_toolkit:
        yield from sorted(home.glob(pattern))
