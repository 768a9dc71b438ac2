"""What a check said of one document of the editor, and the texts that it said it of."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lsprotocol import types
from msgspec import Struct
from pygls.workspace import PositionCodec

from streamsan.cuda_syntax.file_content import content_of
from streamsan.findings.finding import Edit, Finding
from streamsan.language_server.finding_diagnostics import diagnostic_of
from streamsan.language_server.text_positions import TextPositions, newline_of, same_lines


class CheckedFile(Struct, frozen=True):
    """A file that a finding names, as it was when it was checked."""

    uri: str
    text: str | None
    """None where it is not known"""
    positions: TextPositions


class CheckedDocument(Struct, frozen=True):
    """The findings of one check, with the files that they name."""

    uri: str
    version: int | None
    findings: Sequence[Finding]
    files: Mapping[str, CheckedFile]
    """by the names that findings have for them"""

    @classmethod
    def of(
        cls,
        uri: str,
        version: int | None,
        text: str,
        name: str,
        folder: str,
        findings: Sequence[Finding],
        codec: PositionCodec,
        open_uris: Mapping[str, str],
        began: float,
    ) -> CheckedDocument:
        """Make it of the text that was checked as the file `name`, seen from `folder`.

        `open_uris`: real path -> the URI by which the editor knows a file that is open in it. `began`: when the check
        did, in seconds since the epoch.
        """
        own = os.path.realpath(os.path.join(folder, name))
        files = {}
        for file in {file for finding in findings for file in _files_of(finding)} | {name}:
            path = os.path.realpath(os.path.join(folder, file))
            if path == own:
                files[file] = CheckedFile(uri, text, TextPositions(text, codec))
                continue
            found = text_of_file(path, before=began)
            known = open_uris.get(path) or Path(path).as_uri()
            files[file] = CheckedFile(known, found, TextPositions(found or "", codec))
        return cls(uri, version, findings, files)

    def place_of(self, file: str) -> tuple[str, TextPositions]:
        """Return a file's URI and lines."""
        found = self.files[file]
        return found.uri, found.positions

    def findings_at(self, uri: str) -> list[Finding]:
        """Return the findings that stand in a file."""
        return [finding for finding in self.findings if self.files[finding.location.file].uri == uri]

    @property
    def uris(self) -> set[str]:
        """The files that have findings."""
        return {self.files[finding.location.file].uri for finding in self.findings}

    def diagnostics_at(self, uri: str) -> list[types.Diagnostic]:
        """Return the diagnostics of a file."""
        return [diagnostic_of(finding, self.place_of) for finding in self.findings_at(uri)]

    def text_edits(
        self, edits: Sequence[Edit], text_now: Callable[[str], str | None]
    ) -> dict[str, list[types.TextEdit]] | None:
        """Return edits by the URIs of their files.

        None where a file is not what was checked any more (`text_now` gives what a URI's file is now), or has no place
        that an edit names.
        """
        result: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            file = self.files.get(edit.file)
            if file is None or file.text is None or not same_lines(file.text, text_now(file.uri)):
                return None
            place = file.positions.range_of_edit(edit)
            if place is None:
                return None
            new = edit.text.replace("\r\n", "\n").replace("\n", newline_of(file.text))
            result.setdefault(file.uri, []).append(types.TextEdit(place, new))
        return result


def _files_of(finding: Finding) -> list[str]:
    edits = finding.fix.edits if finding.fix else ()
    return [finding.location.file, *(each.file for each in finding.related), *(each.file for each in edits)]


def text_of_file(path: str, before: float = math.inf) -> str | None:
    """Return the text of a file, None where it cannot be read, or was written after `before` (seconds of the epoch)."""
    try:
        if os.stat(path).st_mtime >= before:
            return None
        # Its newlines stay what they are: edits of it have them, too.
        return content_of(path).decode("utf-8-sig", "replace")
    except OSError:
        return None
