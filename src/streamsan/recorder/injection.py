"""Where the recorder's library is, and whether this machine has a driver that would load it."""

from __future__ import annotations

import ctypes
from pathlib import Path

from streamsan.recorder.built_files import built_file

LIBRARY = "libstreamsan_cuda.so"
DRIVER = "libcuda.so.1"


def recorder_library() -> Path | None:
    """Return the recorder's library; None when this installation was built without it."""
    return built_file(LIBRARY)


def has_driver() -> bool:
    """Tell whether the CUDA driver can be loaded here. It is loaded, not initialised: no device is touched."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return False
    return True
