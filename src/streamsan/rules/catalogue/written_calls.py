"""SS602, SS603: calls that are wrong as written, and code that was not understood."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from streamsan.findings.finding import Confidence, Finding, Location, Related, Severity
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import AccessMode, FactVariant, RelatedRole, RuleCode

NOT_KNOWN = "what follows from this is not known"


class MalformedCall(Rule):
    """SS602."""

    code = RuleCode.MALFORMED_CALL
    definition = "A call has arguments that no published version of the API accepts, or that reach past a host buffer."
    severity = Severity.ERROR
    without_fix = "what the missing or wrong argument should be is the program's decision"
    without_witness = "the finding is about the text of a call: it is wrong in every execution"
    is_textual = True

    def wording(self, case: Case) -> Wording:
        call = case.operation
        reason = case.names.site(call.site).label or "no published version accepts these arguments"
        if call.flags & AccessMode.READ_WRITE:
            return Wording(
                message=f"{case.call(call)} {reason}",
                related=(case.related(RelatedRole.OTHER, call, "called here"),),
                contract=case.contract("range"),
                fix="copy as many bytes as the buffer has, or make it larger",
            )
        name = case.api(call)
        message = reason if name and name in reason else f"{case.call(call)}: {reason}"
        return Wording(
            message=message,
            related=(case.related(RelatedRole.OTHER, call, "called here"),),
            contract=case.contract("arguments"),
            fix=f"give {case.call(call)} the arguments of its declaration",
        )


def not_understood(location: Location, reason: str) -> Finding:
    """Return the finding for text that a reader could not follow at all, so that no operation stands for it."""
    rule = NotUnderstood()
    return Finding(
        code=rule.id,
        name=rule.name,
        severity=rule.severity,
        confidence=Confidence.PROVEN,
        message=f"not understood: {reason}",
        location=location,
        related=(Related("other", location.file, location.line, NOT_KNOWN),),
        properties={"instances": 1},
    )


class NotUnderstood(Rule):
    """SS603. Once for each distinct reason: the tool says what it cannot see, and does not repeat itself."""

    code = RuleCode.NOT_UNDERSTOOD
    definition = "Code or a call that the tool could not follow: what depends on it was not checked."
    severity = Severity.NOTE
    without_fix = "nothing is known to be wrong: the code was not understood"
    without_witness = "the finding is about what could not be read"
    explains_failure = False
    is_textual = True

    def wording(self, case: Case) -> Wording:
        if case.fact.variant is FactVariant.NOT_COMPARED:
            return Wording(
                message="not checked: this graph has too many branches to compare all of its nodes with each other",
                related=(case.related(RelatedRole.OTHER, case.operation, "(instantiated here)"),),
            )
        reason = case.names.site(case.operation.site).label or "code that could not be followed"
        return Wording(
            message=f"not understood: {reason}",
            related=(case.related(RelatedRole.OTHER, case.operation, NOT_KNOWN),),
        )


NOT_UNDERSTOOD = NotUnderstood().id
"""its findings are told once for each reason"""


def once_per_reason(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with each reason of "not understood" once, at its first place, with the count of all."""
    kept: list[Finding] = []
    first: dict[str, int] = {}
    for finding in findings:
        told_once = finding.code == NOT_UNDERSTOOD
        if told_once and finding.message in first:
            index = first[finding.message]
            instances = int(kept[index].properties.get("instances", 1)) + int(finding.properties.get("instances", 1))
            kept[index] = replace(kept[index], properties={**kept[index].properties, "instances": instances})
            continue
        if told_once:
            first[finding.message] = len(kept)
        kept.append(finding)
    return kept
