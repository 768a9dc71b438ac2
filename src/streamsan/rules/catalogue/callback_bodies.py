"""SS209: calls that block, in a callback."""

from __future__ import annotations

from streamsan.findings.finding import Severity
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import RelatedRole, RuleCode


class BlockingCallInCallback(Rule):
    """SS209."""

    code = RuleCode.BLOCKING_CALL_IN_CALLBACK
    definition = "A callback calls a function that blocks, or one that makes a context or a queue."
    severity = Severity.ERROR
    without_fix = "who does the work instead is the program's decision"
    without_witness = "the contract forbids the call itself: what it does is not defined"

    def holds(self, case: Case) -> bool:
        """Only OpenCL forbids it."""
        return case.contract("callback") is not None

    def wording(self, case: Case) -> Wording:
        call, registered = case.operation, case.first(RelatedRole.CREATE, RelatedRole.OTHER)
        related = []
        if registered is not None:
            related.append(case.related(RelatedRole.CREATE, registered, "the callback is registered here"))
        related.append(case.related(RelatedRole.USE, call, "called here, in the callback"))
        return Wording(
            message=f"{case.call(call)} is called in a callback, which must not block",
            related=tuple(related),
            contract=case.contract("callback"),
            observed=case.observed("callback"),
            fix="enqueue commands that do not block, and register another callback for what comes after them; "
            "or tell a thread of your own",
        )
