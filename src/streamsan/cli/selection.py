"""`--select` and `--ignore`: codes, or the beginnings of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from streamsan.findings.finding import Finding


@dataclass(frozen=True, slots=True)
class Selection:
    """The codes that are reported."""

    codes: frozenset[str]
    chosen: frozenset[str] = frozenset()
    """those that `--select` names"""

    @classmethod
    def of(cls, select: Sequence[str], ignore: Sequence[str], known: Iterable[str]) -> Selection:
        """Make a selection from the options' values. Raises click.UsageError for a code that no rule has."""
        codes = list(known)
        chosen = matching("--select", select, codes) if select else frozenset(codes)
        kept = chosen - matching("--ignore", ignore, codes)
        return cls(kept, kept if select else frozenset())

    def keep(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings of selected codes."""
        return [finding for finding in findings if finding.code in self.codes]


def matching(option: str, values: Sequence[str], known: Sequence[str]) -> frozenset[str]:
    """Return the known codes that comma-separated beginnings of codes name. Raises click.UsageError for one of none."""
    result: set[str] = set()
    for word in (word.strip().upper() for value in values for word in value.split(",")):
        matches = {code for code in known if word and word.startswith("SS") and code.startswith(word)}
        if not matches:
            raise click.UsageError(f"{option}: unknown code '{word}' (`streamsan rule` lists all)")
        result |= matches
    return frozenset(result)
