"""Many findings with one cause: a report has one of them, with how many there are and where the next ones are.

What was not understood is told once for each sort of reason. Memory that is never freed, frees that rest on a wait
nobody promises, and calls outside `main` are told once for each function. Errors, and what has edits, are told one by
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from streamsan.findings.finding import Finding, Related, Severity
from streamsan.patterns.late_pattern import late_pattern

TOLD_ALONE = 2
"""findings with one cause that are told one by one; of more, the first is told for all"""
NEXT_PLACES = 3
ALIKE = "alike"
"""the property with the fingerprints of the others"""
_NOT_UNDERSTOOD = "SS603"
_OF_A_FUNCTION = ("SS107", "SS207", "SS401")
_REASON = "not understood: "
_NOT_FOUND = " was not found"
_NAME = late_pattern(r"`([^`]*)`")
_NUMBER = late_pattern(r"\d+")
_SENTENCE = late_pattern(
    r"the (?:path|file|interpreter|time)|more paths|nested too|too much|not UTF-8|NUL bytes|code that"
)
"""how reasons begin that are words of this tool; the others are text of the program"""
_PATHS = "more paths"
_LONGEST = 60
_TEXT = "text"

_Cause = tuple[str, ...]


def by_cause(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in their order, of many with one cause the first."""
    every = list(findings)
    causes: dict[_Cause, list[Finding]] = {}
    of = [_cause(finding) for finding in every]
    for finding, cause in zip(every, of, strict=True):
        if cause is not None:
            causes.setdefault(cause, []).append(finding)
    told = []
    for finding, cause in zip(every, of, strict=True):
        alike = causes[cause] if cause is not None else [finding]
        if len(alike) <= TOLD_ALONE:
            told.append(finding)
        elif finding is alike[0]:
            told.append(_for_all(alike))
    return told


def _cause(finding: Finding) -> _Cause | None:
    """Return what findings with one cause have in common; None for one that is told by itself."""
    if finding.severity is Severity.ERROR or (finding.fix is not None and finding.fix.edits):
        return None
    if finding.code == _NOT_UNDERSTOOD:
        return finding.code, finding.severity, _sort(finding.message)
    if finding.code not in _OF_A_FUNCTION or not finding.location.file:
        return None
    shape = _NUMBER.sub("#", _NAME.sub("`", finding.message))
    where = finding.location.file, finding.location.function
    return finding.code, finding.severity, finding.confidence, *where, str(finding.ranks), shape


def _sort(message: str) -> str:
    """Return which sort of reason a message gives for what was not understood."""
    if message.endswith(_NOT_FOUND):
        return _NOT_FOUND
    if _NAME.search(message) or not message.startswith(_REASON):
        return _NUMBER.sub("#", _NAME.sub("`", message))
    sentence = _SENTENCE.match(message, len(_REASON))
    if sentence is None:
        return _TEXT
    return _PATHS if sentence[0] == _PATHS else _NUMBER.sub("#", message)


def _for_all(alike: Sequence[Finding]) -> Finding:
    first, others = alike[0], alike[1:]
    files = len({finding.location.file for finding in alike})
    where = f" in {files:,} files" if files > 1 else ""
    names = [name for name in dict.fromkeys(map(_subject, others)) if name and name != _subject(first)]
    named = ", ".join(names[:NEXT_PLACES]) + (", ..." if len(names) > NEXT_PLACES else "")
    message = f"{first.message}, and {len(others):,} more like it{where}{': ' + named if named else ''}"
    related = tuple(_place(finding) for finding in others[:NEXT_PLACES])
    instances = sum(int(finding.properties.get("instances", 1)) for finding in alike)
    prints = " ".join(finding.fingerprint for finding in others if finding.fingerprint)
    properties = {**first.properties, "instances": instances, **({ALIKE: prints} if prints else {})}
    return replace(first, message=message, related=first.related + related, properties=properties)


def _subject(finding: Finding) -> str:
    """Return what a finding is about, in a few characters."""
    if _SENTENCE.match(finding.message, len(_REASON)):
        return ""
    name = _NAME.search(finding.message)
    text = name[0] if name is not None else finding.message.removeprefix(_REASON).removesuffix(_NOT_FOUND)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _place(finding: Finding) -> Related:
    location = finding.location
    return Related("other", location.file, location.line, f"also here: {finding.message.removeprefix(_REASON)}")
