"""Suppressions in a file of their own: `SS501,SS2 src/bench/*.cu:41 function=run  reason`, one on a line.

A code may be the beginning of several, as for `--select`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from streamsan.findings.finding import Finding
from streamsan.findings.path_patterns import path_matches
from streamsan.findings.suppressions import Rejected, Suppression
from streamsan.patterns.late_pattern import late_pattern

EXPECTED = "not a suppression: write `SS501 PATH[:LINE] [function=NAME] reason`"
LARGEST = 4 << 20
"""bytes of a file of suppressions"""

_ENTRY = late_pattern(
    r"(?P<codes>SS\w*(?:\s*,\s*SS\w*)*)\s+"
    r'(?:"(?P<quoted>[^"]+)"|(?P<path>[^\s"]+?))(?::(?P<line>[0-9]{1,9}))?'
    r"(?:\s+function=(?P<function>\S+))?"
    r"(?:\s+(?P<reason>.*))?\Z"
)


class UnknownCodeError(Exception):
    """A file of suppressions names a code that no rule has. `str()` is one line with the place."""


class FileSuppression(Suppression):
    """One entry of a file: which findings it hides."""

    pattern: str = "**"
    """of paths: `*` within a folder, `**` over folders; a relative one matches from any folder on"""
    target: int = 0
    """line of the finding, 0: any"""
    function: str = ""
    """of the finding: a name or a pattern of names, "": any"""

    def codes_of(self, finding: Finding) -> list[str]:
        """Return the codes, as they are written, that the finding's code is one of."""
        return [code for code in self.codes if finding.code.startswith(code)]

    def hides(self, finding: Finding) -> bool:
        """Tell whether a finding is one that the entry speaks of."""
        location = finding.location
        if not self.codes_of(finding):
            return False
        if self.target and not location.line <= self.target <= max(location.line, location.end_line):
            return False
        if self.function and not _names(self.function, location.function):
            return False
        return path_matches(self.pattern, location.file)


def _names(pattern: str, function: str) -> bool:
    """Tell whether a function goes by a name, with its namespaces or classes or without."""
    short = re.split(r"::|\.", function)[-1]
    return fnmatchcase(function, pattern) or fnmatchcase(short, pattern)


def read(path: str, known_codes: Collection[str]) -> tuple[list[FileSuppression], list[Rejected]]:
    """Read a file of suppressions: its entries, and the lines that are none.

    `#` begins a comment, at the start of a line or after a blank. Raises OSError when the file cannot be read,
    ValueError when it is too large or no text, UnknownCodeError for a code that no rule has.
    """
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError("too large for a file of suppressions")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("not UTF-8 text") from error
    entries: list[FileSuppression] = []
    rejected: list[Rejected] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.sub(r"(?:^|\s)#.*", "", raw.lstrip("\ufeff")).strip()
        if not line:
            continue
        match = _ENTRY.match(line)
        if match is None:
            rejected.append(Rejected(path, number, EXPECTED))
            continue
        codes = tuple(dict.fromkeys(code.strip() for code in match["codes"].split(",")))
        for code in codes:
            if not any(known.startswith(code) for known in known_codes):
                raise UnknownCodeError(f"{path}:{number}: unknown code '{code}' (`streamsan rule` lists all)")
        entries.append(
            FileSuppression(
                file=path,
                line=number,
                codes=codes,
                reason=match["reason"] or "",
                pattern=match["quoted"] or match["path"],
                target=int(match["line"] or 0),
                function=match["function"] or "",
            )
        )
    return entries, rejected


def keep(entries: Iterable[FileSuppression], findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that no entry hides, and remember which entries hid one."""
    entries = list(entries)
    kept = []
    for finding in findings:
        hiding = [entry for entry in entries if entry.hides(finding)]
        for entry in hiding:
            entry.used.update(entry.codes_of(finding))
        if not hiding:
            kept.append(finding)
    return kept
