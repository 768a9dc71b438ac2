"""A line for each finding, `file:line:column: severity[code] message`, as compilers write it: for editors and grep."""

from __future__ import annotations

from typing import IO

from streamsan.findings.finding import Confidence, Finding
from streamsan.report import Report
from streamsan.report.printable import printable


def render(report: Report, stream: IO[str]) -> str:
    """Return the lines, nothing where nothing is found."""
    return "".join(f"{line(finding)}\n" for finding in report.shown)


def line(finding: Finding) -> str:
    """Return a finding on one line, without its fix."""
    location = finding.location
    place = ":".join(str(part) for part in (location.file, location.line, location.column) if part)
    possible = " (possible)" if finding.confidence is Confidence.POSSIBLE else ""
    return printable(f"{place}: {finding.severity}[{finding.code}]{possible} {finding.message}")
