"""Where on this machine the sources are that a trace of another machine names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Self


class SourceRoots:
    """Paths of a recording -> paths of this machine."""

    def __init__(self, folders: Sequence[tuple[str, str]] = (), searched: Sequence[str] = ()) -> None:
        """`folders`: (old, new), what is below the one is below the other. `searched`: see `local`."""
        # Of two that lead to a path the one that says more of it counts.
        self._folders = sorted(folders, key=lambda pair: -len(pair[0]))
        self._searched = list(searched)
        self._local: dict[str, str] = {}

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """Read `OLD=NEW` and `FOLDER`. Raises ValueError with what is wrong, and in which word."""
        folders: list[tuple[str, str]] = []
        searched: list[str] = []
        for word in words:
            old, equals, new = word.rpartition("=")
            if not equals or os.path.isdir(word):
                old, new = "", word
            if not os.path.isdir(new):
                raise ValueError(f"{new or word}: no such folder")
            if old:
                folders.append((old.rstrip("/"), new))
            elif equals and not os.path.isdir(word):
                raise ValueError(f"{word}: names no folder of the recording")
            else:
                searched.append(new)
        return cls(folders, searched)

    def __bool__(self) -> bool:
        return bool(self._folders or self._searched)

    def local(self, file: str) -> str:
        """Return the path of this machine for a path of the recording, the same where there is none.

        Below a folder that is searched it is the file with the longest end of the path that is there:
        `/build/net/src/a.cu` is `FOLDER/net/src/a.cu`, or else `FOLDER/src/a.cu`, or else `FOLDER/a.cu`.
        """
        if file not in self._local:
            self._local[file] = next(self._candidates(file), file)
        return self._local[file]

    def _candidates(self, file: str) -> Iterator[str]:
        parts = [part for part in file.split("/") if part not in ("", ".")]
        # A trace is untrusted: its paths lead below the folders that were given, and nowhere else.
        if not parts or ".." in parts or "\0" in file:
            return
        for old, new in self._folders:
            if file.startswith(f"{old}/"):
                yield os.path.join(new, *file[len(old) :].split("/")[1:])
        for folder in self._searched:
            for begin in range(len(parts)):
                path = os.path.join(folder, *parts[begin:])
                if os.path.isfile(path):
                    yield path
