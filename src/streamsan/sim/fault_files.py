"""What work of a program did wrong on the device, left by its processes for the report."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PREFIX = "faults."
"""Files in the folder of a run that begin so hold a line for each fault of one process."""


def note_fault(folder: str, line: str) -> None:
    """Leave a line in the folder of a run, "" where there is none. A full disk loses it: the program has shown it."""
    if folder:
        with suppress(OSError), open(os.path.join(folder, f"{PREFIX}{os.getpid()}"), "a", encoding="utf-8") as file:
            file.write(line.replace("\n", " ") + "\n")


def faults_in(folder: str) -> list[str]:
    """Return the lines that all processes left."""
    files = sorted(Path(folder).glob(f"{PREFIX}*"))
    return [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]
