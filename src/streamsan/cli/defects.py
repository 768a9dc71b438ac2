"""What to say of a defect of streamsan itself."""

from __future__ import annotations

import traceback
from pathlib import Path


def defect(error: Exception) -> str:
    """Return one line on an error that should not be, with the place in streamsan that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    what = " ".join(str(error).split())[:120]
    return f"not checked: internal error, please report it: {type(error).__name__}{': ' + what if what else ''}{place}"
