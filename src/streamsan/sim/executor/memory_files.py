"""Files without a name: memory that several mappings have, in one process or several. They end with their last user."""

from __future__ import annotations

import fcntl
import os


def new_file(size: int) -> int:
    """Return a file of zeros that cannot become shorter, so that a mapping of it is always whole. Raises OSError."""
    try:
        file = os.memfd_create("streamsan", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except AttributeError:
        raise OSError("this system has no files without a name") from None
    try:
        os.ftruncate(file, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(file)
        raise
    return file


def check_file(file: int, size: int) -> None:
    """Raise OSError for a file from elsewhere that is shorter, or may become so."""
    if os.fstat(file).st_size < size or not fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        raise OSError("the file is not as it should be")
