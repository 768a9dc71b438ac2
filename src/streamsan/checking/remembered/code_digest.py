"""What changes with the code that makes results: a result of another streamsan is none of this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

from streamsan.cuda_syntax.files_seen import digest_of
from streamsan.vocabulary.version import VERSION

_BESIDE = ("streamsan.order._engine", "tree_sitter", "tree_sitter_cuda")
"""modules whose folders have to do with results, too"""
_UNREAD = ("__pycache__",)


@cache
def code_digest() -> str:
    """Return a digest of version, interpreter, and name, size and time of each file of the code.

    Sizes and times are enough here, and take a tenth of the time of contents: they are of this machine alone.
    """
    words = [VERSION, sys.version]
    for folder in sorted({*sys.modules["streamsan"].__path__, *_folders()}):
        words += (f"{name} {size} {time}" for name, size, time in sorted(_files(folder)))
    return digest_of("\n".join(words).encode("utf-8", "surrogatepass"))


def _folders() -> Iterator[str]:
    for name in _BESIDE:
        found = find_spec(name)
        if found is not None and found.origin:
            yield os.path.dirname(found.origin)


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name not in _UNREAD:
                        pending.append(entry.path)
                else:
                    status = entry.stat()
                    yield entry.path[len(folder) :], status.st_size, status.st_mtime_ns
