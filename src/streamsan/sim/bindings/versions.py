"""What `cuda.bindings.utils` offers: the number of a handle, which CUDA a PTX text asks for, switches."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from streamsan.sim.bindings.handle_classes import Opaque, names_something

_VERSION = re.compile(r"\.version\s+(\d+\.\d+)")
_FIRST: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (
    ((9, 0), (13, 0)), ((8, 8), (12, 9)), ((8, 7), (12, 8)), ((8, 6), (12, 7)), ((8, 0), (12, 0)),
    ((7, 0), (11, 0)), ((6, 3), (10, 0)), ((6, 0), (9, 0)), ((5, 0), (8, 0)),
)  # fmt: skip
"""Where minor versions of PTX and of CUDA begin to count together: PTX 7.2 came with CUDA 11.2 (PTX ISA, releases)"""
_OLD = {"4.3": (7, 5), "4.2": (7, 0), "4.1": (6, 5), "4.0": (6, 0), "3.2": (5, 5), "3.1": (5, 0), "3.0": (4, 1),
        "2.3": (4, 0), "2.2": (3, 2), "2.1": (3, 1), "2.0": (3, 0), "1.4": (2, 2), "1.3": (2, 1), "1.2": (2, 0),
        "1.1": (1, 1), "1.0": (1, 0)}  # fmt: skip


def get_cuda_native_handle(obj: object) -> int:
    """Return a handle as a number. Raises TypeError for what is no handle."""
    if isinstance(obj, Opaque) and names_something(type(obj)):
        return int(obj)
    raise TypeError(f"Unknown type: {type(obj)}")


def get_ptx_ver(ptx: str) -> str:
    """Return the version that a PTX text names. Raises ValueError where it names none."""
    found = _VERSION.search(ptx)
    if found is None:
        raise ValueError("no .version in the PTX")
    return found[1]


def get_minimal_required_cuda_ver_from_ptx_ver(ptx_version: str) -> int:
    """Return the first CUDA version that knows a PTX version (12090 is 12.9). Raises ValueError for an unknown one."""
    if ptx_version in _OLD:
        major, minor = _OLD[ptx_version]
        return major * 1000 + minor * 10
    parts = ptx_version.split(".")
    if len(parts) == 2 and all(part.isdecimal() for part in parts):
        version = int(parts[0]), int(parts[1])
        for (ptx_major, ptx_minor), (major, minor) in _FIRST:
            if version[0] == ptx_major and version[1] >= ptx_minor:
                return major * 1000 + (minor + version[1] - ptx_minor) * 10
    raise ValueError(f"unknown or unsupported PTX ISA version: {ptx_version}")


def envvar_bool(name: str, default: bool = False) -> bool:
    """Return whether a variable of the environment is switched on; `default` where it is empty or not there."""
    word = os.environ.get(name, "").strip().lower()
    if not word:
        return default
    if word in ("false", "no", "off"):
        return False
    try:
        return int(word, 0) != 0
    except ValueError:
        return True


def check_nvvm_compiler_options(options: Sequence[str]) -> bool:
    """Return False: libNVVM is not simulated, so it knows no options."""
    return False


def warn_if_cuda_major_version_mismatch() -> None:
    """Warn of nothing: the simulated driver is of the bindings' own version."""
