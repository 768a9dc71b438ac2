"""Changes of files as a unified diff that `git apply` and `patch -p1` take. Bytes stay bytes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

NO_NEWLINE = b"\\ No newline at end of file\n"


def unified_diff(name: str, before: bytes, after: bytes) -> bytes:
    """Return the change of one file; empty where there is none."""
    shown = os.fsencode(_shown(name))
    # As git writes them: a tab ends a name that has spaces.
    shown += b"\t" if b" " in shown else b""
    lines = difflib.diff_bytes(
        difflib.unified_diff, _lines(before), _lines(after), b"a/" + shown, b"b/" + shown, lineterm=b"\n"
    )
    return b"".join(_ended(line) for line in lines)


def _shown(name: str) -> str:
    """Return a file's path as a patch names it: below the current folder where that is so."""
    relative = os.path.relpath(name)
    return os.path.abspath(name).lstrip("/") if relative.startswith("..") else relative


def _lines(data: bytes) -> list[bytes]:
    # Only \n ends a line for those who read patches.
    return list(_split(data))


def _split(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n" + NO_NEWLINE
