"""SS504: waits that order nothing."""

from __future__ import annotations

from typing import ClassVar

from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import Case
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.python_calls import is_in_python, line_waits, named_wait, python_call, python_wait
from streamsan.rules.rule import CostRule, Wording
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode, StreamKind


class RedundantSync(CostRule):
    """SS504."""

    code = RuleCode.REDUNDANT_SYNC
    definition = "A wait whose order already holds, or that nothing after it needs."
    without_fix_of: ClassVar = {
        FactVariant.NO_CONSUMER: "a wait that nothing needs yet is not removed automatically: code that is added "
        "later may need it",
        FactVariant.TOLD_NEEDLESSLY: "at which line the pool was told is not recorded",
    }
    finds_needless = True
    after_edits = "the wait of line {lines} is not needed any more then"

    def holds(self, case: Case) -> bool:
        """A wait that no line of the program asks for cannot be taken out of it."""
        if case.names.origin != RECORDING:
            return True
        told = case.fact.variant is FactVariant.TOLD_NEEDLESSLY
        return not case.is_of_library(case.operation) and (told or _is_asked_for(case))

    def weak(self, fact: Fact) -> bool:
        """That nothing later needs a wait is only possible: later code may be changed, or not be seen."""
        return super().weak(fact) or fact.variant is FactVariant.NO_CONSUMER

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The wait goes."""
        if case.fact.variant is FactVariant.TOLD_NEEDLESSLY:
            return ()
        return (step(Remedy.NO_WAIT, case.operation),)

    def wording(self, case: Case) -> Wording:
        if case.fact.variant is FactVariant.TOLD_NEEDLESSLY:
            return _told_needlessly(case)
        wait = case.operation
        call = case.call(wait) if _in_wait_list(case) else named_wait(case, wait)
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
            adds = "adds nothing" if python_wait(case, wait) else "is redundant"
            message = f"{call} {adds}: all it waits for already happens before {waiter} goes on"
            here = f"{waiter} waits here for what is already ordered before it"
        return Wording(
            message=message,
            related=(*earlier, case.related(RelatedRole.SYNC, wait, here)),
            contract=case.contract("no_consumer" if no_consumer else _promise(case)),
            observed=case.observed("redundant"),
            fix=case.phrase("out_of_wait_list", later=f"line {line}" if line else call)
            if _in_wait_list(case)
            else f"remove line {line}"
            if line
            else "remove the wait",
        )


def _told_needlessly(case: Case) -> Wording:
    """Say that a pool keeps a block longer than it has to (`record_stream`)."""
    release, use, record = case.operation, case.first(RelatedRole.USE), case.first(RelatedRole.RECORD)
    made = case.first(RelatedRole.ALLOC)
    memory, told = case.memory(), case.stream(record)
    waiter = f"{case.stream(made)} or the host"
    line = case.line(made)
    tensor = f"the tensor of line {line}" if line else "the tensor"
    related = [*case.allocated()]
    if use is not None:
        related.append(case.related(RelatedRole.USE, use, f"(the latest work of {told} then: {case.does(use)})"))
    within = f"given back here: the pool keeps it until what {told} has then is over"
    related.append(case.related(RelatedRole.FREE, release, within))
    return Wording(
        message=f"`record_stream` of {memory} adds nothing: {waiter} has waited for all of {told} before",
        related=tuple(related),
        contract=case.contract("told"),
        fix=f"leave out `record_stream` of {tensor} for {told}: the pool can then hand the bytes out again at once",
    )


def _is_asked_for(case: Case) -> bool:
    """Tell whether the program's line asks for the wait.

    In Python an object may wait for its event as it goes, as pyopencl's of copies do; and functions of a framework wait
    for reasons of their own, as `torch.cuda.graph` does before it captures.
    """
    wait = case.operation
    if not is_in_python(case, wait) or _in_wait_list(case):
        return True
    by_function = bool(python_call(case, wait))
    return line_waits(case, wait) if by_function or wait.kind is OperationKind.EVENT_SYNCHRONIZE else True


def _in_wait_list(case: Case) -> bool:
    """Tell whether the wait is an entry of a command's wait list, no call of its own."""
    waits = case.operation.kind is OperationKind.STREAM_WAIT_EVENT
    return waits and "out_of_wait_list" in case.platform.rule_texts.get("phrase", {})


def _promise(case: Case) -> str:
    """Return which promise makes the wait superfluous: by what the waiter is, where the platform tells these apart."""
    wait = case.operation
    by_queue = wait.kind is OperationKind.STREAM_WAIT_EVENT
    name = "out_of_order" if by_queue and wait.stream_kind is StreamKind.OUT_OF_ORDER else "dominated"
    name = name if by_queue else "host_dominated"
    return name if case.contract(name) is not None else "dominated"


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
