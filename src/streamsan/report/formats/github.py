"""Commands of GitHub Actions: each finding is an annotation at its line of a pull request."""

from __future__ import annotations

from typing import IO

from streamsan.findings.finding import Severity
from streamsan.findings.fingerprint import reported_path
from streamsan.findings.same_site import SiteFindings
from streamsan.report import Report
from streamsan.report.printable import printable

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report, stream: IO[str]) -> str:
    """Return a command for each finding. GitHub shows ten of a kind in a step, so errors come first."""
    sites = sorted(report.told, key=lambda site: site.first.severity.rank)
    return "".join(f"{_annotation(site)}\n" for site in sites)


def _annotation(site: SiteFindings) -> str:
    finding = site.first
    location = finding.location
    properties = {"file": reported_path(location.file), "title": f"{finding.code} {finding.name}"}
    if location.line:
        properties["line"] = str(location.line)
        properties["endLine"] = str(max(location.line, location.end_line))
        # GitHub refuses columns of an annotation that spans lines.
        if location.column and location.end_line == location.line:
            properties["col"] = str(location.column)
            properties["endColumn"] = str(max(location.column, location.end_column))
    words = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    fix = f"\nFix: {finding.fix.summary}" if finding.fix is not None else ""
    rest = f"\n{site.rest}" if site.more else ""
    return f"::{_COMMAND[finding.severity]} {words}::{_escaped(finding.headline + fix + rest)}"


def _escaped(text: str, separators: str = "") -> str:
    """Return text that ends neither the line nor, for a property, the property: as GitHub's own toolkit escapes it."""
    text = "\n".join(map(printable, text.splitlines()))
    for character in "%\n" + separators:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
