"""What of the file system a reading depends on, so that another day it can be told whether it would be the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import Self

from msgspec import Struct

from streamsan.cuda_syntax.files_seen import FilesSeen


class ReadFile(Struct, frozen=True):
    """A file that was read."""

    name: str
    digest: str
    quoted: bool
    """its text is among those that findings may quote"""


class Dependencies(Struct, frozen=True):
    """Files that were read, and names that were looked for."""

    files: tuple[ReadFile, ...]
    there: tuple[str, ...]
    """further names that includes may mean, and that are files"""
    not_there: tuple[str, ...]
    alike: tuple[int, ...]
    """for each of `files` and `there` the number of the first one that is the same file: such a one is read once"""

    @classmethod
    def of(cls, seen: FilesSeen, quoted: Collection[str] = ()) -> Self | None:
        """Return them; None where a reading depends on more than is known. `quoted`: files whose texts are kept."""
        if seen.changing or not seen.contents.keys() >= set(quoted):
            return None
        names = [*quoted, *(name for name in seen.contents if name not in quoted)]
        files = tuple(ReadFile(name, seen.contents[name], name in quoted) for name in names)
        there = tuple(name for name, is_there in seen.present.items() if is_there and name not in seen.contents)
        not_there = tuple(name for name, is_there in seen.present.items() if not is_there)
        return cls(files, there, not_there, _first_alike(map(os.path.realpath, (*names, *there))))

    def are_still_so(self, digest: Callable[[str], str | None], real: Callable[[str], str]) -> bool:
        """Tell whether all is as it was.

        `digest` says what is in a file now, None where it cannot be read; `real` which file a name means.
        """
        return (
            all(digest(file.name) == file.digest for file in self.files)
            and all(map(os.path.isfile, self.there))
            and not any(map(os.path.isfile, self.not_there))
            and self.alike == _first_alike(map(real, (*(file.name for file in self.files), *self.there)))
        )

    @property
    def seen(self) -> FilesSeen:
        """The files that were read, for what is made of several readings."""
        return FilesSeen({file.name: file.digest for file in self.files})


def _first_alike(files: Iterable[str]) -> tuple[int, ...]:
    """Return for each file the number of the first one that is the same."""
    first: dict[str, int] = {}
    return tuple(first.setdefault(file, number) for number, file in enumerate(files))
