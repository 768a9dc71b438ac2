"""A line for each finding, `file:line:column: severity[code] message`, as compilers write it: for editors and grep."""

from __future__ import annotations

from typing import IO

from streamsan.findings.finding import Confidence, Finding
from streamsan.findings.fingerprint import shown_path
from streamsan.findings.same_site import SiteFindings
from streamsan.report import Report
from streamsan.report.printable import printable


def render(report: Report, stream: IO[str]) -> str:
    """Return the lines, nothing where nothing is found."""
    return "".join(f"{line(site.first)}{_rest(site)}\n" for site in report.told)


def line(finding: Finding) -> str:
    """Return a finding on one line, without its fix."""
    location = finding.location
    place = ":".join(str(part) for part in (shown_path(location.file), location.line, location.column) if part)
    possible = " (possible)" if finding.confidence is Confidence.POSSIBLE else ""
    return printable(f"{place}: {finding.severity}[{finding.code}]{possible} {finding.headline}")


def _rest(site: SiteFindings) -> str:
    return f" ({site.rest})" if site.more else ""
