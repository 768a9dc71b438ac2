"""Findings as diagnostics."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from streamsan.findings.finding import Confidence, Finding, Severity
from streamsan.language_server.text_positions import TextPositions
from streamsan.rules.rule_pages import page_file

SOURCE = "streamsan"
SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
ADDS_NOTHING = "redundant-sync"
"""name of the rule about waits that the program would be right without: editors show them faded"""

PlaceOf = Callable[[str], tuple[str, TextPositions]]
"""gives the URI and the lines of a file that a finding names"""


def diagnostic_of(finding: Finding, place_of: PlaceOf) -> types.Diagnostic:
    """Return a finding as editors show it."""
    _, positions = place_of(finding.location.file)
    possible = finding.confidence is Confidence.POSSIBLE
    page = page_file(finding.code)
    return types.Diagnostic(
        range=positions.range_of(finding.location),
        message=f"{finding.headline} (possible)" if possible else finding.headline,
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(page.resolve().as_uri()) if page else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.name == ADDS_NOTHING else None,
        related_information=[_related(each.file, each.line, each.message, place_of) for each in finding.related],
    )


def _related(file: str, line: int, message: str, place_of: PlaceOf) -> types.DiagnosticRelatedInformation:
    uri, positions = place_of(file)
    return types.DiagnosticRelatedInformation(types.Location(uri, positions.range_of_line(line)), message)
