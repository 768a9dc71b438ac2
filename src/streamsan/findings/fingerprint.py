"""Fingerprints: a finding's identity over edits elsewhere in the program.

A fingerprint is made of the code, the file, the function and the words of the line, and not of the line's number. Equal
ones are told apart by their turn in the file. So a finding keeps it while lines are added or moved around it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from streamsan.findings.finding import Finding
from streamsan.findings.known_lines import UNKNOWN_LINE

LENGTH = 20
"""hexadecimal digits"""
_NUMBER = re.compile(r"\d+")


def with_fingerprints(findings: Iterable[Finding], sources: Mapping[str, str]) -> list[Finding]:
    """Return findings with their fingerprints; `sources` are the texts of the files that they name, where known."""
    lines = {file: text.split("\n") for file, text in sources.items()}
    turns: Counter[tuple[str, ...]] = Counter()
    result = []
    for finding in findings:
        identity = _identity(finding, lines)
        turns[identity] += 1
        words = "\0".join((*identity, str(turns[identity])))
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
        result.append(replace(finding, fingerprint=digest[:LENGTH]))
    return result


def reported_path(file: str) -> str:
    """Return a file's path as reports for other tools name it: relative to the current folder if it lies below it."""
    path = os.path.normpath(file)
    if os.path.isabs(path):
        try:
            below = os.path.relpath(path)
        except OSError:  # the current folder is gone
            below = os.pardir
        path = path if below.startswith(os.pardir) else below
    return path.replace(os.sep, "/")


def shown_path(file: str) -> str:
    """Return a file's path as people read it: as given, but relative if a whole path is below the current folder."""
    return reported_path(file) if os.path.isabs(file) else file


def _identity(finding: Finding, lines: Mapping[str, list[str]]) -> tuple[str, ...]:
    location = finding.location
    known = lines.get(location.file, [])
    if 1 <= location.line <= len(known) and known[location.line - 1] != UNKNOWN_LINE:
        words = " ".join(known[location.line - 1].split())
    else:
        # Lines and counts in a message change with the program; its names stay.
        words = _NUMBER.sub("#", finding.message)
    return finding.code, reported_path(location.file), location.function, words
