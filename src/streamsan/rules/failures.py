"""SS601: calls that failed, and nobody noticed."""

from __future__ import annotations

from dataclasses import replace

from streamsan.findings.finding import Contract, Finding, Severity
from streamsan.order.facts import Fact
from streamsan.rules.case import Case
from streamsan.rules.errors import error_name
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import RelatedRole

STATUS = Contract("every call returns a status; one that failed has had no effect", "CUDA Runtime API, Error Handling")


class UncheckedFailure(Rule):
    """SS601. A recording or simulation shows that a call failed; only source shows that nobody asks."""

    number = 601
    name = "unchecked-failure"
    definition = "A call failed, and the program went on as if it had not."
    severities = "note in a recording or simulation, warning in source"
    without_fix = "what to do when the call fails is the program's decision"
    without_witness = "the call failed in this execution, and what follows is not known"

    def severity(self, fact: Fact) -> Severity:
        """Return warning: what is said of source."""
        return Severity.WARNING

    def finding(self, case: Case) -> Finding:
        """Return the finding; a note where the program ran, as it may have known of the failure and gone on."""
        found = super().finding(case)
        if case.names.origin == "source":
            return found
        return replace(found, severity=Severity.NOTE)

    def wording(self, case: Case) -> Wording:
        """Return what to say: the call, its status, and what came next."""
        call, following = case.operation, case.first(RelatedRole.USE, RelatedRole.OTHER)
        name = case.call(call)
        error = f" with {error_name(call.status, case.api(call))}" if call.status > 0 else ""
        related = [*case.allocated(), case.related(RelatedRole.OTHER, call, f"fails here{error}")]
        if following is not None and case.place(following) != case.place(call):
            related.append(case.related(RelatedRole.USE, following, "(the program goes on here)"))
        line = case.line(call)
        return Wording(
            message=f"{name} fails{error}, and the program goes on",
            related=tuple(related),
            contract=STATUS,
            witness=(
                f"{name} fails",
                "nobody looks at its status" if case.names.origin == "source" else "the program goes on",
                "what should follow from it is missing",
            ),
            fix=f"check the status that line {line} returns" if line else "check the status of the call",
        )
