"""What of the file system a reading depends on: contents that were read, and names that were looked for."""

from __future__ import annotations

import os
from hashlib import blake2b

from msgspec import Struct, field


class FilesSeen(Struct):
    """Notes what a reading saw. The same reading of the same contents, with the same names there, says the same."""

    contents: dict[str, str] = field(default_factory=dict)
    """name of a file that was read -> digest of what was in it"""
    present: dict[str, bool] = field(default_factory=dict)
    """name that an include may mean -> whether a file was there"""
    changing: bool = False
    """a file could not be read, or was another one the second time: another reading may say something else"""

    def read(self, name: str, data: bytes) -> None:
        """Note the content of a file."""
        digest = digest_of(data)
        self.changing |= self.contents.setdefault(name, digest) != digest

    def is_file(self, name: str) -> bool:
        """Tell whether a file is there, and note it."""
        there = os.path.isfile(name)
        self.present[name] = there
        return there

    def add(self, other: FilesSeen) -> None:
        """Note what a further reading saw."""
        for name, digest in other.contents.items():
            self.changing |= self.contents.setdefault(name, digest) != digest
        for name, there in other.present.items():
            self.changing |= self.present.setdefault(name, there) != there
        self.changing |= other.changing


def digest_of(data: bytes) -> str:
    """Return what stands for a content: two that differ have different ones."""
    return blake2b(data, digest_size=20).hexdigest()
