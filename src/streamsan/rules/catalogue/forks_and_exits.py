"""SS204, SS207: CUDA calls in a process, or at a time, in which CUDA may not be called."""

from __future__ import annotations

from streamsan.findings.finding import Contract, Observed, Severity
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import FactVariant, RelatedRole, RuleCode

FORK_CONTRACT = Contract(
    "a child that is forked after its parent initialised CUDA cannot use CUDA", "CUDA Programming Guide, Initialization"
)
MAIN_CONTRACT = Contract(
    "CUDA calls before main begins or after it ends are undefined", "CUDA Programming Guide, Initialization"
)


class UseAfterFork(Rule):
    """SS204."""

    code = RuleCode.USE_AFTER_FORK
    definition = "A forked child calls CUDA."
    severity = Severity.ERROR
    notes = (FactVariant.CHILD_OF_FRESH,)
    varies = "error; note if the parent had not initialised CUDA"
    without_fix = "how the child is started is the program's decision"
    without_witness = "nobody has seen it go wrong: the parent had not initialised CUDA"
    outranks = (
        RuleCode.USE_AFTER_FREE,
        RuleCode.USE_RACES_FREE,
        RuleCode.USE_BEFORE_ALLOC,
        RuleCode.RESET_RACES_WORK,
        RuleCode.RELIES_ON_IMPLICIT_SYNC,
        RuleCode.DOUBLE_FREE,
        RuleCode.INVALID_FREE,
        RuleCode.FOREIGN_CONTEXT_FREE,
        RuleCode.STALE_HANDLE,
        RuleCode.ORDER_DROPPING_FREE,
        RuleCode.BLOCKING_FREE,
    )

    def wording(self, case: Case) -> Wording:
        """Return what to say: the fork, and the child's first call."""
        call, fork = case.operation, case.first(RelatedRole.FORK)
        fresh = case.fact.variant is FactVariant.CHILD_OF_FRESH
        related = [
            case.related(RelatedRole.OTHER, operation, "(the parent initialises CUDA here)")
            for operation in case.all_of(RelatedRole.OTHER, RelatedRole.ALLOC, RelatedRole.CREATE)
        ]
        if fork is not None:
            related.append(case.related(RelatedRole.FORK, fork, "forked here"))
        related.append(case.related(RelatedRole.USE, call, "called here, in the child"))
        before = "" if fresh else " whose parent had initialised CUDA"
        return Wording(
            message=f"{case.call(call)} in a forked child{before}",
            related=tuple(related),
            contract=FORK_CONTRACT,
            observed=None if fresh else Observed("every call in the child fails: cudaErrorInitializationError", "W-07"),
            witness=()
            if fresh
            else (
                "the parent initialises CUDA",
                "fork",
                f"{case.call(call)} fails in the child, and so does every other call",
            ),
            fix="start the child with exec or spawn, or fork before the first CUDA call",
        )


class CallOutsideMain(Rule):
    """SS207."""

    code = RuleCode.CALL_OUTSIDE_MAIN
    definition = "A CUDA call in a static constructor or destructor, or in an exit handler."
    severity = Severity.WARNING
    without_fix = "where the object should live is the program's decision"
    without_witness = "the order of static objects is not of the trace"

    def wording(self, case: Case) -> Wording:
        """Return what to say: the call, and when it runs."""
        call = case.operation
        before = case.fact.variant is FactVariant.BEFORE_MAIN
        when = "before main begins" if before else "after main has ended"
        return Wording(
            message=f"{case.call(call)} runs {when}",
            related=(
                *case.others(RelatedRole.CREATE, RelatedRole.OTHER),
                case.related(RelatedRole.USE, call, f"called here, {when}"),
            ),
            contract=MAIN_CONTRACT,
            witness=("static objects are constructed", "CUDA may not be initialised yet", f"{case.call(call)} runs")
            if before
            else ("main ends", "the CUDA runtime unloads", f"{case.call(call)} runs"),
            fix="make the call from main, or from an object that lives inside main",
        )
