"""Reports: what was found, and a file for each format that lays it out (`formats/`). A report decides no verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from streamsan.findings.finding import Finding, Severity
from streamsan.findings.reading_gaps import Unread
from streamsan.findings.same_site import SiteFindings, by_site
from streamsan.findings.suppressions import Suppression
from streamsan.findings.wait_cost import RunCosts

if TYPE_CHECKING:
    from streamsan.timeline import Timeline


class Problem(Struct, frozen=True):
    """Something about an input that limits the result: one line."""

    file: str
    message: str
    remark: bool = False
    """stands behind the counts of the report: what inputs of this sort never show, or what the program itself met"""


def is_shown(finding: Finding, shown_notes: Collection[str]) -> bool:
    """Tell whether people are shown a finding, if those are the codes whose notes they are shown."""
    return finding.severity is not Severity.NOTE or finding.code in shown_notes


class Report(Struct, frozen=True):
    """Everything a format needs: the findings in the order of places, the texts to quote from, and the counts."""

    findings: tuple[Finding, ...]
    files: int
    operations: int
    sources: Mapping[str, str] = field(default_factory=dict)
    suppressed: int = 0
    unused_suppressions: tuple[Suppression, ...] = ()
    in_baseline: int = 0
    """findings that are left out because a baseline has them"""
    problems: tuple[Problem, ...] = ()
    unread: Unread = field(default_factory=Unread)
    """what of the inputs was not read"""
    run_costs: Sequence[RunCosts] = ()
    """what waits cost, of each recording that says when the device did its work"""
    timelines: Sequence[Timeline] = ()
    """the runs, where the format draws them"""
    shown_notes: Collection[str] = ()
    """codes whose notes people are shown; notes of the others are only counted"""

    def shows(self, finding: Finding) -> bool:
        """Tell whether people are shown a finding of the report."""
        return is_shown(finding, self.shown_notes)

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings that people are shown."""
        return tuple(finding for finding in self.findings if self.shows(finding))

    @property
    def told(self) -> list[SiteFindings]:
        """The findings that people are shown, those of a crowded site as one."""
        return by_site(self.shown)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of this severity."""
        return sum(1 for finding in self.findings if finding.severity is severity)
