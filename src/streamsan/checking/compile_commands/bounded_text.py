"""Text that a build wrote: files, only if they are regular and not too large, and words as a shell separates them."""

from __future__ import annotations

import os
import shlex
import stat

from streamsan.analysis.checked import reason_of

LONGEST = 1 << 20
"""characters of a command line, or of a file of words"""


def words_of(text: str) -> list[str]:
    """Return the words of a text, without quotes. Raises ValueError where it is too long or a quote is not closed."""
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters: too long")
    # What has no quotes is most of it, and shlex looks at each character.
    return shlex.split(text) if any(mark in text for mark in "'\"\\") else text.split()


def bounded_text(path: str, largest: int) -> str:
    """Return the text of a file of at most `largest` bytes. Raises ValueError with the reason why it is not read."""
    try:
        # A pipe is not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("not a regular file")
            if status.st_size > largest:
                raise ValueError(f"{status.st_size} bytes: too large")
            data = file.read(status.st_size)
    except OSError as error:
        raise ValueError(reason_of(error)) from error
    return data.decode("utf-8-sig", errors="replace")
