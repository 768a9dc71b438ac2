"""Texts to quote for findings of traces: the sources they name, from this machine or from the trace itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from msgspec import Struct

from streamsan.analysis.suffixes import SOURCE_SUFFIXES
from streamsan.findings.finding import Finding
from streamsan.findings.known_lines import text_of
from streamsan.trace.source_lines import LONGEST_LINE, Lines, SourceLines

QUOTED_SUFFIXES = SOURCE_SUFFIXES | {".py"}
LARGEST = 8 << 20
"""bytes of a file that is quoted from"""
_COMMENT_BEGINS = ("//", "/*", "#")
MOST_STORED = 1 << 25
"""characters of texts that are made of stored lines: a trace may name any number of files, with lines far apart"""


class Quoted(Struct, frozen=True):
    """What may be quoted."""

    known: Mapping[str, str]
    """what was checked itself"""
    files: Mapping[str, str]
    """further files that findings name, as they are on this machine"""
    stored: SourceLines
    """lines that a trace carries, of files that are not here or are not those of the recording"""

    @classmethod
    def of(cls, findings: Iterable[Finding], known: Mapping[str, str], stored: SourceLines) -> Self:
        """Return the texts that findings name: `known` ones, files of this machine, and lines `stored` in traces.

        A file counts where it has every stored line as it was: then it is the one that was recorded, and all of it can
        be quoted. Where a line differs, the file has changed since, and the stored lines are what ran.
        """
        named = [file for finding in findings for file in (finding.location.file, *_related_files(finding))]
        files: dict[str, str] = {}
        lines: dict[str, Lines] = {}
        for file in dict.fromkeys(file for file in named if file not in known):
            text = _read(file)
            if text is not None and _agrees(text, stored.get(file, {})):
                files[file] = text
            elif file in stored:
                lines[file] = stored[file]
        return cls(known, files, lines)

    def texts(self) -> dict[str, str]:
        """Return all as texts by file; a line that is not known is UNKNOWN_LINE."""
        texts = {**self.files, **self.known}
        left = MOST_STORED
        for file, lines in self.stored.items():
            text = text_of(lines)
            left -= len(text)
            if left < 0:
                break
            texts[file] = text
        return texts


def _related_files(finding: Finding) -> list[str]:
    return [related.file for related in finding.related]


def _agrees(text: str, stored: Lines) -> bool:
    lines = text.split("\n") if stored else []
    return all(number <= len(lines) and _is_still(line, lines[number - 1]) for number, line in stored.items())


def _is_still(stored: str, line: str) -> bool:
    """Tell whether a line is what it was, or that with a comment behind it: a suppression, written since."""
    if line[:LONGEST_LINE] == stored:
        return True
    code = stored.rstrip()
    return line.startswith(code) and line[len(code) :].lstrip().startswith(_COMMENT_BEGINS)


def _read(file: str) -> str | None:
    # A trace is untrusted: it names sources, and nothing else on this machine is quoted because it says so.
    if Path(file).suffix.lower() not in QUOTED_SUFFIXES or "\0" in file:
        return None
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > LARGEST:
            return None
        data = Path(file).read_bytes()
    except OSError:
        return None
    return data.decode("utf-8", errors="replace").replace("\r\n", "\n")
