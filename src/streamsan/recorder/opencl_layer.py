"""The recorder's layer for OpenCL: what a loader takes from OPENCL_LAYERS, and whether one did."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

from streamsan.recorder.built_files import built_file

LIBRARY = "libstreamsan_opencl.so"
LAYERS = "OPENCL_LAYERS"
"""libraries that a loader stands before the runtimes, `:` between them, the last one outermost"""
LOADER = "libOpenCL.so.1"
_TAKEN = ".layer"
_MOST_OF_LOADER = 1 << 24


def layer_library() -> Path | None:
    """Return the layer; None when this installation was built without it."""
    return built_file(LIBRARY)


def with_layer(environment: Mapping[bytes, bytes], layer: str) -> bytes:
    """Return the value of OPENCL_LAYERS: the layers that the user has named, then ours, nearest to the program."""
    named = [word for word in environment.get(LAYERS.encode(), b"").split(b":") if word]
    others = [word for word in named if os.path.basename(os.fsdecode(word)) != LIBRARY]
    return b":".join((*others, os.fsencode(layer)))


def was_taken(counter: str) -> bool:
    """Tell whether a loader in some process of the run has taken the layer. `counter`: the run's."""
    return os.path.exists(counter + _TAKEN)


def loader_without_layers() -> str:
    """Return the path of this machine's OpenCL loader where that takes no layers (NVIDIA's own), "" where it does."""
    path = _path_of_loader()
    try:
        with open(path, "rb") as file:
            return "" if LAYERS.encode() in file.read(_MOST_OF_LOADER) else path
    except OSError:
        return ""


def _path_of_loader() -> str:
    """Return what the dynamic loader takes for libOpenCL.so.1; "" where there is none."""
    try:
        ctypes.CDLL(LOADER)
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            paths = [line.split(maxsplit=5)[5].strip() for line in file if "libOpenCL" in line]
    except (OSError, IndexError):
        return ""
    return next((path for path in paths if path.startswith("/")), "")
