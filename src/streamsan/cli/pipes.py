"""What to do when whoever reads the output has gone."""

from __future__ import annotations

import os
import sys


def silence_stdout() -> None:
    """Send the rest of the output nowhere, so that Python does not complain when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
