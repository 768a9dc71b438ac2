"""Reports: a file per format. A report decides no verdict; it lays out what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamsan.findings.finding import Finding, Severity
from streamsan.findings.suppressions import Suppression


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about an input that limits the result: one line."""

    file: str
    message: str
    remark: bool = False
    """nothing went wrong: inputs of this sort never show it"""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a format needs: the findings in the order of places, the texts to quote from, and the counts."""

    findings: tuple[Finding, ...]
    files: int
    operations: int
    sources: Mapping[str, str] = field(default_factory=dict)
    suppressed: int = 0
    unused_suppressions: tuple[Suppression, ...] = ()
    problems: tuple[Problem, ...] = ()

    def count(self, severity: Severity) -> int:
        """Return the number of findings of this severity."""
        return sum(1 for finding in self.findings if finding.severity is severity)
