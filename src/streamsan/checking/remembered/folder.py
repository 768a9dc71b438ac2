"""Where results are remembered: many small files. What cannot be read or written there is not remembered."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from streamsan.trace.cache_folder import write_whole

LARGEST_ENTRY = 16 << 20
LONGEST_UNUSED = 30 * 24 * 3600
"""seconds after which what nobody asked for is removed"""
MOST_BYTES = 1 << 30
_DAY = 24 * 3600
_TAG = "CACHEDIR.TAG"
_TAG_TEXT = b"Signature: 8a477f597d28d172789f06886806bc55\n# Results that streamsan can make again.\n"
_CLEANED = ".cleaned"


class Folder:
    """Files by key, which is a digest. Several processes may use it at the same time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made = False

    def get(self, key: str) -> bytes | None:
        """Return what is kept under a key; None where nothing is, or it cannot be read."""
        path = self._of(key)
        with suppress(OSError):
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                data = file.read(LARGEST_ENTRY + 1)
            if time.time() - status.st_mtime > _DAY:
                os.utime(path)
            return data if len(data) <= LARGEST_ENTRY else None
        return None

    def put(self, key: str, data: bytes) -> None:
        """Keep something under a key, if that is possible."""
        if len(data) > LARGEST_ENTRY:
            return
        with suppress(OSError):
            path = self._of(key)
            if not self._made:
                self._make()
            path.parent.mkdir(exist_ok=True, mode=0o700)
            write_whole(path, data)

    def _of(self, key: str) -> Path:
        return self._path / key[:2] / key[2:]

    def _make(self) -> None:
        """Make the folder, so that git, backups and searches leave it out; once a day remove what is old."""
        self._path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._made = True
        for name, text in ((_TAG, _TAG_TEXT), (".gitignore", b"*\n")):
            if not (self._path / name).exists():
                write_whole(self._path / name, text)
        cleaned = self._path / _CLEANED
        if not cleaned.exists() or time.time() - cleaned.stat().st_mtime > _DAY:
            write_whole(cleaned, b"")
            self._clean()

    def _clean(self) -> None:
        files = []
        for folder in self._path.iterdir():
            if len(folder.name) == 2 and folder.is_dir() and not folder.is_symlink():
                with os.scandir(folder) as entries:
                    files += [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
        left = MOST_BYTES
        for status, path in sorted(files, key=lambda each: -each[0].st_mtime):
            left -= status.st_size
            if left < 0 or time.time() - status.st_mtime > LONGEST_UNUSED:
                with suppress(OSError):
                    os.unlink(path)
