"""Many findings of one rule at one place: a macro, a template, a helper that is called from everywhere, a hot line.

Each of them is a finding, counted and in JSON. People are told the first, and how many more there are like it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from streamsan.findings.finding import Finding, Place

EACH_TOLD = 4
"""findings of one site that are told one by one; of more, the first is told for all"""


class SiteFindings(Struct, frozen=True):
    """A finding that is told, and how many more like it stand behind it."""

    first: Finding
    more: int = 0

    @property
    def rest(self) -> str:
        """What to say of the others, "" where there are none."""
        return f"and {self.more:,} more like it at this site" if self.more else ""


def by_site(findings: Iterable[Finding]) -> list[SiteFindings]:
    """Return the findings to tell, in the same order: those of a crowded site as one.

    A site is a rule and the place of a call. A finding without a line has none, and an error hides behind no note.
    """
    every = list(findings)
    sites: dict[tuple[str, Place, tuple[int, int]], list[Finding]] = {}
    for finding in every:
        sites.setdefault(_site(finding), []).append(finding)
    told = []
    for finding in every:
        same = sites[_site(finding)]
        if len(same) <= EACH_TOLD or not finding.location.line:
            told.append(SiteFindings(finding))
        elif finding is same[0]:
            told.append(SiteFindings(finding, len(same) - 1))
    return told


def _site(finding: Finding) -> tuple[str, Place, tuple[int, int]]:
    return finding.code, finding.location.place, finding.strength
