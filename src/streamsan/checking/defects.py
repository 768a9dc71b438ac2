"""What to say of an input that could not be checked, and of a defect of streamsan itself."""

from __future__ import annotations

import os
from pathlib import Path

from streamsan.analysis.checked import UnreadableError, reason_of
from streamsan.report import Problem


def problem_of(path: str, error: Exception) -> Problem:
    """Return what went wrong with one input, so that it does not take the others with it.

    Raises the error itself where it is a defect and STREAMSAN_DEBUG asks to see it.
    """
    if isinstance(error, UnreadableError):
        return Problem(error.path, error.reason)
    if isinstance(error, OSError):
        return Problem(path, reason_of(error))
    if os.environ.get("STREAMSAN_DEBUG"):
        raise error
    return Problem(path, defect(error))


def defect(error: Exception) -> str:
    """Return one line on an error that should not be, with the place in streamsan that raised it."""
    # Imported late: there should be none.
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    what = " ".join(str(error).split())[:120]
    return f"not checked: internal error, please report it: {type(error).__name__}{': ' + what if what else ''}{place}"
