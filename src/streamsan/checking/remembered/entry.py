"""What is remembered, as bytes: a result, or an outline, and what of the file system it depends on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from streamsan.analysis.checked import Checked
from streamsan.analysis.programs import Outline
from streamsan.checking.remembered.dependencies import Dependencies
from streamsan.cuda_syntax.files_seen import digest_of
from streamsan.findings.finding import Finding, Place
from streamsan.findings.plain_data import from_plain, to_plain
from streamsan.findings.reading_gaps import Unread


class Kept(Struct, frozen=True):
    """One entry of the folder."""

    depends: Dependencies

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


class Found(Struct, frozen=True):
    """What of a result is kept. Texts are not: they are those of the files."""

    findings: tuple[Finding, ...]
    operations: int
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    unread: Unread
    program: tuple[str, ...]
    executed: frozenset[Place]


class KeptResult(Kept, frozen=True):
    """What came of checking a source, or a program of several."""

    found: Found

    @classmethod
    def of(cls, checked: Checked) -> Self | None:
        """Return what to remember of a result; None where it depends on more than is known."""
        depends = Dependencies.of(checked.seen, checked.sources)
        if depends is None:
            return None
        found = Found(
            tuple(replace(each, basis=each.basis.places_alone()) for each in checked.findings),
            checked.operations,
            checked.problems,
            checked.remarks,
            checked.unread,
            checked.program,
            checked.executed,
        )
        return cls(depends, found)

    def checked(self, path: str, text: Callable[[str], str]) -> Checked:
        """Return the result; `text` says what is in a file."""
        found = self.found
        return Checked(
            path,
            found.findings,
            found.operations,
            {file.name: text(file.name) for file in self.depends.files if file.quoted},
            problems=found.problems,
            remarks=found.remarks,
            unread=found.unread,
            program=found.program,
            executed=found.executed,
            seen=self.depends.seen,
        )


class KeptOutline(Kept, frozen=True):
    """What a source defines for others, and what it needs."""

    defines: frozenset[str]
    needs: frozenset[str]
    has_main: bool

    @classmethod
    def of(cls, outline: Outline) -> Self | None:
        """Return what to remember of an outline; None where it depends on more than is known."""
        depends = Dependencies.of(outline.seen)
        return None if depends is None else cls(depends, outline.defines, outline.needs, outline.has_main)

    def outline(self, path: str) -> Outline:
        """Return the outline."""
        return Outline(path, self.defines, self.needs, self.has_main, self.depends.seen)
