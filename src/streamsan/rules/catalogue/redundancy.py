"""SS504: waits that order nothing."""

from __future__ import annotations

from typing import ClassVar

from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import Case
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.rule import CostRule, Wording
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode


class RedundantSync(CostRule):
    """SS504."""

    code = RuleCode.REDUNDANT_SYNC
    definition = "A wait whose order already holds, or that nothing after it needs."
    without_fix_of: ClassVar = {
        FactVariant.NO_CONSUMER: "a wait that nothing needs yet is not removed automatically: code that is added "
        "later may need it"
    }
    finds_needless = True
    after_edits = "the wait of line {lines} is not needed any more then"

    def weak(self, fact: Fact) -> bool:
        """That nothing later needs a wait is only possible: later code may be changed, or not be seen."""
        return super().weak(fact) or fact.variant is FactVariant.NO_CONSUMER

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The wait goes."""
        return (step(Remedy.NO_WAIT, case.operation),)

    def wording(self, case: Case) -> Wording:
        wait = case.operation
        call = case.call(wait)
        waiter = case.stream(wait) if wait.kind is OperationKind.STREAM_WAIT_EVENT else "the host"
        no_consumer = case.fact.variant is FactVariant.NO_CONSUMER
        line = case.line(wait)
        earlier = [
            case.related(role, operation, f"({_earlier(case, operation)})")
            for role, operation in case.fact.related
            if role is not RelatedRole.ALLOC
        ]
        if no_consumer:
            message = f"{call} is not needed: nothing after it uses what it waits for"
            here = "the host waits here, for nothing that follows"
        else:
            message = f"{call} is redundant: all it waits for already happens before {waiter} goes on"
            here = f"{waiter} waits here for what is already ordered before it"
        return Wording(
            message=message,
            related=(*earlier, case.related(RelatedRole.SYNC, wait, here)),
            contract=case.contract("no_consumer" if no_consumer else "dominated"),
            observed=case.observed("redundant"),
            fix=f"remove line {line}" if line else "remove the wait",
        )


def _earlier(case: Case, operation: Operation) -> str:
    if operation.kind is OperationKind.EVENT_RECORD:
        return f"recorded here, on {case.stream(operation)}"
    if operation.kind in (
        OperationKind.STREAM_SYNCHRONIZE,
        OperationKind.CONTEXT_SYNCHRONIZE,
        OperationKind.EVENT_SYNCHRONIZE,
        OperationKind.STREAM_WAIT_EVENT,
    ):
        return "already awaited here"
    return case.does(operation)
