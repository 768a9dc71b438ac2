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

_PYTHON = re.compile(r"python(3(\.\d+)?t?)?")
_LONGEST_LINE = 256
"""bytes of the first line of a script that the kernel reads"""
_IN_TOOLKIT = ("lib64", "targets/*/lib", "extras/CUPTI/lib64")
_IN_WHEELS = ("nvidia/cu[0-9]*/lib", "nvidia/cuda_cupti/lib")
_SITE_PACKAGES = ("lib/python3.*/site-packages", "lib64/python3.*/site-packages", "local/lib/python3.*/dist-packages")


def cupti_places(program: str, environment: Mapping[bytes, bytes]) -> list[str]:
    """Return the folders that have a libcupti.so, best first; `program` is the path of what is started."""
    places = dict.fromkeys(
        str(folder) for folder in _candidates(program, environment) if any(folder.glob("libcupti.so*"))
    )
    return [place for place in places if ":" not in place and "\n" not in place]


def _candidates(program: str, environment: Mapping[bytes, bytes]) -> Iterator[Path]:
    yield from _own_packages(program)
    if given := environment.get(b"VIRTUAL_ENV") or environment.get(b"CONDA_PREFIX"):
        yield from _wheels(Path(os.fsdecode(given)))
    for variable in (b"CUDA_HOME", b"CUDA_PATH"):
        if home := environment.get(variable):
            yield from _toolkit(Path(os.fsdecode(home)))
    if compiler := shutil.which("nvcc", path=os.fsdecode(environment.get(b"PATH", b""))):
        yield from _toolkit(Path(compiler).resolve().parents[1])
    yield from _wheels(Path(sys.prefix))


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


def _own_packages(program: str) -> Iterator[Path]:
    """Yield folders of the packages that a Python program imports: all that it runs comes from there."""
    interpreter = _interpreter(program)
    if interpreter is None or interpreter.parent.name != "bin":
        return
    prefix = interpreter.parent.parent
    if (prefix / "pyvenv.cfg").is_file() or any(prefix.glob("lib*/python3.*/os.py")):
        yield from _wheels(prefix)


def _wheels(prefix: Path) -> Iterator[Path]:
    for packages in _SITE_PACKAGES:
        for folder in sorted(prefix.glob(packages)):
            for pattern in _IN_WHEELS:
                yield from sorted(folder.glob(pattern), reverse=True)


def _toolkit(home: Path) -> Iterator[Path]:
    for pattern in _IN_TOOLKIT:
        yield from sorted(home.glob(pattern))
