"""`--severity`: findings of some codes matter more, or less, than the rules say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from streamsan.checking.option_error import OptionError
from streamsan.checking.selection import matching
from streamsan.findings.finding import Finding, Severity

OPTION = "--severity"


def severities_of(values: Sequence[str], known: Sequence[str]) -> dict[str, Severity]:
    """Return the severity by code that `CODES=LEVEL` values ask for, the last word first. Raises OptionError."""
    result: dict[str, Severity] = {}
    for value in values:
        codes, equals, level = value.partition("=")
        if not equals or level.strip().lower() not in tuple(Severity):
            raise OptionError(f"{OPTION}: '{value}' is not CODES=error, CODES=warning or CODES=note")
        result.update(dict.fromkeys(matching(OPTION, [codes], known), Severity(level.strip().lower())))
    return result


def graded(finding: Finding, severities: Mapping[str, Severity]) -> Finding:
    """Return a finding with the severity that was asked for its code."""
    asked = severities.get(finding.code, finding.severity)
    return finding if asked is finding.severity else replace(finding, severity=asked)
