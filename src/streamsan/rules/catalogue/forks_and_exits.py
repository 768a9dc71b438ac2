"""SS204, SS207: calls in a process, or at a time, in which the device may not be used."""

from __future__ import annotations

from streamsan.findings.finding import Severity
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import FactVariant, RelatedRole, RuleCode


class UseAfterFork(Rule):
    """SS204."""

    code = RuleCode.USE_AFTER_FORK
    definition = "A forked child uses the device."
    severity = Severity.ERROR
    notes = (FactVariant.CHILD_OF_FRESH,)
    varies = "error; note if the parent had not used it"
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

    def holds(self, case: Case) -> bool:
        """OpenCL says nothing of it."""
        return case.contract("child") is not None

    def wording(self, case: Case) -> Wording:
        call, fork = case.operation, case.first(RelatedRole.FORK)
        fresh, api = case.fact.variant is FactVariant.CHILD_OF_FRESH, case.phrase("api")
        related = [
            case.related(RelatedRole.OTHER, operation, f"(the parent initialises {api} here)")
            for operation in case.all_of(RelatedRole.OTHER, RelatedRole.ALLOC, RelatedRole.CREATE)
        ]
        if fork is not None:
            related.append(case.related(RelatedRole.FORK, fork, "forked here"))
        related.append(case.related(RelatedRole.USE, call, "called here, in the child"))
        before = "" if fresh else f" whose parent had initialised {api}"
        return Wording(
            message=f"{case.call(call)} is called in a forked child{before}",
            related=tuple(related),
            contract=case.contract("child"),
            observed=None if fresh else case.observed("child"),
            witness=()
            if fresh
            else (
                f"the parent initialises {api}",
                "fork",
                f"{case.call(call)} fails in the child, and so does every other call",
            ),
            fix=f"start the child with exec or spawn, or fork before the first {api} call",
        )


class CallOutsideMain(Rule):
    """SS207."""

    code = RuleCode.CALL_OUTSIDE_MAIN
    definition = "A call of the device's API in a static constructor or destructor, or in an exit handler."
    severity = Severity.WARNING
    varies = "warning; note where an installed library makes the call by itself"
    without_fix = "where the object should live is the program's decision"
    without_witness = "the order of static objects is not of the trace"

    def holds(self, case: Case) -> bool:
        """OpenCL says nothing of it."""
        return case.contract("main") is not None

    def severity_of(self, case: Case) -> Severity:
        """A library's static objects are its maker's affair: cuFFT and cuda.core free at exit what they keep."""
        return Severity.NOTE if case.is_of_library(case.operation) else self.severity

    def wording(self, case: Case) -> Wording:
        call, api = case.operation, case.phrase("api")
        before = case.fact.variant is FactVariant.BEFORE_MAIN
        when = "before main begins" if before else "after main has ended"
        library, others = case.library_of(call), case.fact.count - 1
        message = f"{case.call(call)} runs {when}"
        if library and others:
            calls = "1 other call" if others == 1 else f"{others} other calls"
            message = f"{case.call(call)} and {calls} run {when}, made by {library} itself"
        elif library:
            message += f", called by {library} itself"
        return Wording(
            message=message,
            related=(
                *case.others(RelatedRole.CREATE, RelatedRole.OTHER),
                case.related(RelatedRole.USE, call, f"called here, {when}"),
            ),
            contract=case.contract("main"),
            witness=("static objects are constructed", f"{api} may not be initialised yet", f"{case.call(call)} runs")
            if before
            else ("main ends", f"the {api} runtime unloads", f"{case.call(call)} runs"),
            fix="make the call from main, or from an object that lives inside main",
        )
