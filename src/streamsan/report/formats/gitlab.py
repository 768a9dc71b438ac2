"""GitLab's Code Quality report: the findings that a merge request adds are shown in it."""

from __future__ import annotations

import json
from typing import IO, Any

from streamsan.findings.finding import Finding, Severity
from streamsan.findings.fingerprint import reported_path
from streamsan.report import Report

_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(report: Report, stream: IO[str]) -> str:
    """Return the JSON list that GitLab reads."""
    issues = [_issue(finding) for finding in report.shown]
    return json.dumps(issues, indent=1) + "\n"


def _issue(finding: Finding) -> dict[str, Any]:
    location = finding.location
    return {
        "description": f"{finding.code}: {finding.headline}",
        "check_name": finding.code,
        "fingerprint": finding.fingerprint,
        "severity": _SEVERITY[finding.severity],
        "location": {
            "path": reported_path(location.file),
            # GitLab counts from 1 and knows no finding without a line.
            "lines": {"begin": max(1, location.line), "end": max(1, location.line, location.end_line)},
        },
    }
