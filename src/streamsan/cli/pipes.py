"""Standard output that cannot take what is written: its reader has gone, its disk is full, it was closed."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

_FULL_OR_CLOSED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class ClosedOutput(io.TextIOBase):
    """Stands for a standard output that was closed before the start: Python has None in its place."""

    def write(self, text: str) -> int:
        """Raise OSError: nobody can read it."""
        raise OSError(errno.EBADF, "closed")

    @property
    def buffer(self) -> BinaryIO:
        """Raise OSError, as for text."""
        raise OSError(errno.EBADF, "closed")


@contextmanager
def open_streams() -> Iterator[None]:
    """Have something in place of streams that were closed; what is said on standard error then is for nobody."""
    before = sys.stdout, sys.stderr
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def is_of_output(error: OSError) -> bool:
    """Tell whether an error is that of a write to standard output: it names no file."""
    return error.filename is None and error.errno in _FULL_OR_CLOSED


def silence_stdout() -> None:
    """Send the rest of the output nowhere, so that Python does not complain when it flushes at exit."""
    if isinstance(sys.stdout, ClosedOutput):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
