"""Changes of files as a unified diff that `git apply` and `patch -p1` take. Bytes stay bytes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

NO_NEWLINE = b"\\ No newline at end of file\n"


def unified_diff(name: str, before: bytes, after: bytes) -> bytes:
    """Return the change of one file, which `patched_path` names; empty where there is none."""
    old, new = (_quoted(side + os.fsencode(name)) for side in (b"a/", b"b/"))
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), old, new, lineterm=b"\n")
    return b"".join(_ended(line) for line in lines)


def patched_path(name: str) -> str:
    """Return a file's path as a patch names it: below the current folder. Raises ValueError where it cannot."""
    path = os.path.relpath(name)
    if path.startswith(os.pardir):
        raise ValueError("it lies outside the current folder")
    # git applies nothing to a link, and nothing behind one.
    parts = path.split(os.sep)
    for count in range(1, len(parts) + 1):
        above = os.sep.join(parts[:count])
        if os.path.islink(above):
            raise ValueError("it is a link" if count == len(parts) else f"{above} is a link")
    return path


_ESCAPES = {ord(letter): f"\\{code}".encode() for letter, code in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}


def _quoted(name: bytes) -> bytes:
    """Return a name as git writes it: in quotes where it could be taken for something else, a new line say."""
    if any(byte < 0x20 or byte == 0x7F or byte in b'"\\' for byte in name):
        escaped = (_ESCAPES.get(byte, bytes((byte,)) if 0x20 <= byte < 0x7F else b"\\%03o" % byte) for byte in name)
        return b'"' + b"".join(escaped) + b'"'
    # A tab ends a name that has spaces.
    return name + b"\t" if b" " in name else name


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
