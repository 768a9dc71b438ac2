"""One remembered result as bytes: what was found in a source, and what of the file system that depends on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

from streamsan.analysis.checked import Checked
from streamsan.cuda_syntax.files_seen import FilesSeen, digest_of
from streamsan.findings.finding import Finding
from streamsan.findings.plain_data import from_plain, to_plain
from streamsan.findings.reading_gaps import Unread


@dataclass(frozen=True, slots=True)
class _Found:
    """What of a result is kept. Texts are not: they are those of the files."""

    findings: tuple[Finding, ...]
    operations: int
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    unread: Unread


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was read."""

    name: str
    digest: str
    quoted: bool
    """its text is among those that findings may quote"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A result, and what it depends on."""

    found: _Found
    files: tuple[_File, ...]
    there: tuple[str, ...]
    """further names that includes may mean, and that are files"""
    not_there: tuple[str, ...]
    alike: tuple[int, ...]
    """for each of `files` and `there` the number of the first one that is the same file: such a one is read once"""

    @classmethod
    def of(cls, checked: Checked) -> Self | None:
        """Return what to remember of a result; None where it depends on more than is known."""
        seen = checked.seen
        if seen.changing or not seen.contents.keys() >= checked.sources.keys():
            return None
        found = _Found(
            tuple(replace(each, basis=each.basis.places_alone()) for each in checked.findings),
            checked.operations,
            checked.problems,
            checked.remarks,
            checked.unread,
        )
        names = [*checked.sources, *(name for name in seen.contents if name not in checked.sources)]
        files = tuple(_File(name, seen.contents[name], name in checked.sources) for name in names)
        there = tuple(name for name, is_there in seen.present.items() if is_there and name not in seen.contents)
        not_there = tuple(name for name, is_there in seen.present.items() if not is_there)
        return cls(found, files, there, not_there, _first_alike(map(os.path.realpath, (*names, *there))))

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """Return what `packed` made bytes of. Raises ValueError for others."""
        digest, _, text = data.partition(b"\n")
        if digest != digest_of(text).encode():
            raise ValueError("damaged")
        entry = from_plain(cls, json.loads(text))
        assert isinstance(entry, cls)
        return entry

    def packed(self) -> bytes:
        """Return the entry as bytes."""
        text = json.dumps(to_plain(self), separators=(",", ":")).encode()
        return digest_of(text).encode() + b"\n" + text

    def is_still_so(self, digest: Callable[[str], str | None], real: Callable[[str], str]) -> bool:
        """Tell whether all is as it was.

        `digest` says what is in a file now, None where it cannot be read; `real` which file a name means.
        """
        return (
            all(digest(file.name) == file.digest for file in self.files)
            and all(map(os.path.isfile, self.there))
            and not any(map(os.path.isfile, self.not_there))
            and self.alike == _first_alike(map(real, (*(file.name for file in self.files), *self.there)))
        )

    def checked(self, path: str, text: Callable[[str], str]) -> Checked:
        """Return the result; `text` says what is in a file."""
        found = self.found
        return Checked(
            path,
            found.findings,
            found.operations,
            {file.name: text(file.name) for file in self.files if file.quoted},
            problems=found.problems,
            remarks=found.remarks,
            unread=found.unread,
            seen=FilesSeen({file.name: file.digest for file in self.files}),
        )


def _first_alike(files: Iterable[str]) -> tuple[int, ...]:
    """Return for each file the number of the first one that is the same."""
    first: dict[str, int] = {}
    return tuple(first.setdefault(file, number) for number, file in enumerate(files))
