"""How often each rule is broken, the commonest first, and the line of counts."""

from __future__ import annotations

from collections import Counter
from typing import IO

from streamsan.report import Report
from streamsan.report.formats.text import summary
from streamsan.rules.every_rule import RULES


def render(report: Report, stream: IO[str]) -> str:
    """Return a line for each rule and severity: how many findings, the rule and what it is about."""
    counts = Counter((finding.code, finding.severity) for finding in report.findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0][0], row[0][1].rank))
    width = len(str(rows[0][1])) if rows else 0
    lines = [
        f"{count:>{width}}  {severity.value:<7}  {code}  {RULES[code].definition}" for (code, severity), count in rows
    ]
    return "".join(f"{line}\n" for line in [*lines, *([""] if lines else []), summary(report)])
