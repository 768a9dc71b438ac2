"""SS504: waits that order nothing."""

from __future__ import annotations

import re
from typing import ClassVar

from streamsan.findings.suppressions import PYTHON_SUFFIXES
from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import RECORDING, Case
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.rule import CostRule, Wording
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode

_WAITS = re.compile("wait|sync", re.IGNORECASE)


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

    def holds(self, case: Case) -> bool:
        """A wait that no line of the program asks for cannot be taken out of it."""
        return case.names.origin != RECORDING or not (case.is_of_library(case.operation) or _is_of_an_object(case))

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
        elif _in_wait_list(case):
            message = (
                f"an event in the wait list of {call} is redundant: all that it stands for happens before it anyway"
            )
            here = "this command waits for what is already ordered before it"
        else:
            message = f"{call} is redundant: all it waits for already happens before {waiter} goes on"
            here = f"{waiter} waits here for what is already ordered before it"
        return Wording(
            message=message,
            related=(*earlier, case.related(RelatedRole.SYNC, wait, here)),
            contract=case.contract("no_consumer" if no_consumer else "dominated"),
            observed=case.observed("redundant"),
            fix=case.phrase("out_of_wait_list", later=f"line {line}" if line else call)
            if _in_wait_list(case)
            else f"remove line {line}"
            if line
            else "remove the wait",
        )


def _is_of_an_object(case: Case) -> bool:
    """Tell whether an object of Python waits for its event as it goes, as pyopencl's of copies do."""
    site = case.names.site(case.operation.site)
    text = case.names.source_lines.get(site.file, {}).get(site.line, "")
    waits = case.operation.kind is OperationKind.EVENT_SYNCHRONIZE
    return waits and site.file.endswith(PYTHON_SUFFIXES) and bool(text) and not _WAITS.search(text)


def _in_wait_list(case: Case) -> bool:
    """Tell whether the wait is an entry of a command's wait list, no call of its own."""
    waits = case.operation.kind is OperationKind.STREAM_WAIT_EVENT
    return waits and "out_of_wait_list" in case.platform.rule_texts.get("phrase", {})


def _earlier(case: Case, operation: Operation) -> str:
    if operation.kind is OperationKind.EVENT_RECORD and not operation.stream:
        return "set here, by the host"
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
