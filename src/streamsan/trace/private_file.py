"""New files that hold what a program did: for their owner alone, and never where a link leads."""

from __future__ import annotations

import os

_OWNER_ALONE = 0o600


def make_private_file(path: str | os.PathLike[str]) -> int:
    """Make a file that was not there and return its descriptor, for reading and writing.

    What has the name already, a link too, is neither opened nor changed: FileExistsError, an OSError as others.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, _OWNER_ALONE)
