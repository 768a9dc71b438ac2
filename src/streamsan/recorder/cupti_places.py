"""Where libcupti may be, as far as the command line and the environment tell; the recorder knows the usual places.

The one that the program brings along comes first: it may load it later (PyTorch's profiler does), and a process must
not end up with two.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

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
    yield from _wheels(_prefix(program))
    if given := environment.get(b"VIRTUAL_ENV") or environment.get(b"CONDA_PREFIX"):
        yield from _wheels(Path(os.fsdecode(given)))
    for variable in (b"CUDA_HOME", b"CUDA_PATH"):
        if home := environment.get(variable):
            yield from _toolkit(Path(os.fsdecode(home)))
    if compiler := shutil.which("nvcc", path=os.fsdecode(environment.get(b"PATH", b""))):
        yield from _toolkit(Path(compiler).resolve().parents[1])
    yield from _wheels(Path(sys.prefix))


def _prefix(program: str) -> Path:
    """Return the prefix that a program in PREFIX/bin belongs to: an interpreter's is that of its packages."""
    return Path(program).absolute().parent.parent


def _wheels(prefix: Path) -> Iterator[Path]:
    for packages in _SITE_PACKAGES:
        for folder in sorted(prefix.glob(packages)):
            for pattern in _IN_WHEELS:
                yield from sorted(folder.glob(pattern), reverse=True)


def _toolkit(home: Path) -> Iterator[Path]:
    for pattern in _IN_TOOLKIT:
        yield from sorted(home.glob(pattern))
