"""What is in a file, as bytes and as text. It loads nothing of the reader, for who only compares contents."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LARGEST_SOURCE = 64 << 20
"""bytes of a file that is read"""


def content_of(path: str | Path) -> bytes:
    """Return the bytes of a regular file. An include may name a pipe or a device: nothing is waited for, and of files
    without a size (those of /proc) nothing is read. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if status.st_size > LARGEST_SOURCE:
            raise OSError(errno.EFBIG, f"{status.st_size >> 20} MiB: too large for a source")
        return file.read(status.st_size)


def decode(data: bytes) -> tuple[str, list[str]]:
    """Text of a file's bytes, and what was wrong with them, one line each."""
    complaints = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", errors="replace")
        complaints.append(f"not UTF-8: byte {data[error.start]:#04x} at offset {error.start}")
    return clean(text, complaints), complaints


def clean(text: str, complaints: list[str]) -> str:
    """Newlines made `\\n`, control characters that the grammar stops at made spaces."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        complaints.append("NUL bytes")
        text = text.replace("\0", " ")
    return text
