"""What must be there before a program can be recorded, and what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streamsan.recorder.environment import INJECTION, other_tool
from streamsan.recorder.injection import LIBRARY, recorder_library


class RecordingError(Exception):
    """A program cannot be recorded, or did not start. `str()` is one line with the reason."""


def required_library() -> Path:
    """Return the recorder's library. Raises RecordingError where this installation has none."""
    library = recorder_library()
    if library is None:
        raise RecordingError(f"this installation has no recorder ({LIBRARY}): install it on Linux with a compiler")
    return library


def obstacle(environment: Mapping[bytes, bytes], library: Path) -> str:
    """Return why nothing of CUDA in this environment can be recorded, "" where it can.

    A driver that is missing is none: it may be one that only the program finds, and the program may use OpenCL.
    """
    if other := other_tool(environment, str(library)):
        return f"{INJECTION} is set to another tool, {other}"
    return ""
