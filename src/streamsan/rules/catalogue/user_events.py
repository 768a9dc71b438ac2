"""SS208: objects that are released while commands wait for a user event that nobody has set."""

from __future__ import annotations

from streamsan.findings.finding import Severity
from streamsan.order.facts import Fact
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import OperationKind, RelatedRole, RuleCode


class ReleaseUnderUserEvent(Rule):
    """SS208."""

    code = RuleCode.RELEASE_UNDER_USER_EVENT
    definition = "An object is released for the last time while an enqueued command waits for a user event not yet set."
    severity = Severity.ERROR
    varies = "error; warning where no memory and no queue is released, but a kernel, a program, ..."
    without_fix = "whether to set the event earlier, or to release later, is the program's decision"
    without_witness = "the contract forbids the call itself: what it does is not defined"

    def severity_of(self, case: Case) -> Severity:
        """Of memory and queues an implementation may have to wait; of the others it only drops a reference."""
        waits = case.operation.kind in (OperationKind.FREE, OperationKind.STREAM_DESTROY)
        return self.severity if waits else Severity.WARNING

    def cause(self, fact: Fact) -> tuple[object, ...] | None:
        """All releases under one event have one cause: it is set too late."""
        made = tuple(operation.site for role, operation in fact.related if role is RelatedRole.CREATE)
        return made if any(made) else None

    def holds(self, case: Case) -> bool:
        """Only OpenCL forbids it."""
        return case.contract("release") is not None

    def wording(self, case: Case) -> Wording:
        release, waiting = case.operation, case.first(RelatedRole.USE, RelatedRole.SYNC, RelatedRole.OTHER)
        made = case.first(RelatedRole.CREATE)
        label = case.names.site(made.site).label if made is not None else ""
        event = f"user event `{label}`" if label else "a user event"
        related = []
        if made is not None:
            related.append(case.related(RelatedRole.CREATE, made, "the user event is made here"))
        if waiting is not None:
            related.append(case.related(RelatedRole.USE, waiting, "this command waits for it"))
        related.append(case.related(RelatedRole.DESTROY, release, "released here, before the event is set"))
        return Wording(
            message=f"{case.call(release)} releases an object while {case.does(waiting)} waits for {event}, "
            "which is not set",
            related=tuple(related),
            contract=case.contract("release"),
            observed=case.observed("release"),
            fix=f"{case.before(release, 'the release')}: clSetUserEventStatus(event, CL_COMPLETE);",
        )
