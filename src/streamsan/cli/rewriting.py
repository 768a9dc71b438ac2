"""Writing changed files in place of those that were read: each whole or not at all, and only if nobody changed it."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress

WRITERS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class RewriteError(Exception):
    """A file was not written. `str()` is the reason in one line."""


def is_writable(path: str) -> bool:
    """Tell whether a regular file may be written; who may write everything keeps to what its mode says."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & WRITERS) and os.access(path, os.W_OK)


def require_unchanged(path: str, before: bytes) -> None:
    """Raise RewriteError where a file is not what was read, or cannot be written."""
    target = os.path.realpath(path)
    if not is_writable(target):
        raise RewriteError("the file is read-only")
    try:
        # Another name of the file would keep the old text, or change unseen.
        if (names := os.stat(target).st_nlink) > 1:
            raise RewriteError(f"the file has {names} names (hard links)")
        if _content(target) != before:
            raise RewriteError("the file changed while it was checked")
    except OSError as error:
        raise RewriteError((error.strerror or str(error)).lower()) from error


def rewrite(path: str, before: bytes, after: bytes) -> None:
    """Replace what is in a file.

    Raises RewriteError where it is not what was read, cannot be written, or came out differently. A link stays, what it
    leads to is replaced; the mode stays.
    """
    require_unchanged(path, before)
    target = os.path.realpath(path)
    try:
        _replace(target, os.stat(target), after)
        if _content(target) != after:
            raise RewriteError("what was written could not be read back")
    except OSError as error:
        raise RewriteError((error.strerror or str(error)).lower()) from error


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _replace(target: str, status: os.stat_result, data: bytes) -> None:
    folder, name = os.path.split(target)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            with suppress(OSError):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
