"""SS601: calls that failed, and nobody noticed."""

from __future__ import annotations

from streamsan.findings.finding import Severity
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import RelatedRole, RuleCode


class UncheckedFailure(Rule):
    """SS601. A recording or simulation shows that a call failed; only source shows that nobody asks."""

    code = RuleCode.UNCHECKED_FAILURE
    definition = "A call failed, and the program went on as if it had not."
    severity = Severity.WARNING
    is_failure = True
    explains_failure = False
    varies = "note in a recording or simulation, warning in source"
    without_fix = "what to do when the call fails is the program's decision"
    without_witness = "the call failed in this execution, and what follows is not known"

    def severity_of(self, case: Case) -> Severity:
        """A note where the program ran: it may have known of the failure and gone on."""
        return self.severity if case.names.origin == "source" else Severity.NOTE

    def wording(self, case: Case) -> Wording:
        call, following = case.operation, case.first(RelatedRole.USE, RelatedRole.OTHER)
        name = case.call(call)
        error = f" with {case.error_name(call)}" if call.failed else ""
        related = [*case.allocated(), case.related(RelatedRole.OTHER, call, f"fails here{error}")]
        if following is not None and case.place(following) != case.place(call):
            related.append(case.related(RelatedRole.USE, following, "(the program goes on here)"))
        line = case.line(call)
        return Wording(
            message=f"{name} fails{error}, and the program goes on",
            related=tuple(related),
            contract=case.contract("status"),
            witness=(
                f"{name} fails",
                "nobody looks at its status" if case.names.origin == "source" else "the program goes on",
                "what should follow from it is missing",
            ),
            fix=f"check the status that line {line} returns" if line else "check the status of the call",
        )
