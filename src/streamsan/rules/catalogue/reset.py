"""SS106: a reset, or the destruction of a context, under work that is still pending."""

from __future__ import annotations

from typing import ClassVar

from streamsan.findings.finding import Contract, Location, Observed, Related, Severity
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.rule import Rule, Wording
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode, SlotFlag

RESET_CONTRACT = Contract(
    "the reset takes place immediately; the caller ensures that nothing uses the device any more",
    "CUDA Runtime API, cudaDeviceReset",
)
DESTROY_CONTRACT = Contract(
    "the context's resources go with it; the caller ensures that no call uses the context while it is destroyed",
    "CUDA Driver API, cuCtxDestroy",
)
EXIT_CONTRACT = Contract(
    "what pending work does once the process ends is not defined", "CUDA Programming Guide, Initialization"
)


class ResetRacesWork(Rule):
    """SS106."""

    code = RuleCode.RESET_RACES_WORK
    definition = (
        "At a reset, a context's destruction or exit, work is pending or another thread may be using the device."
    )
    severity = Severity.WARNING
    notes = (FactVariant.PENDING_FREE, FactVariant.AT_EXIT)
    varies = "warning; note when only a free is pending, at process exit, and in a library's exit handler"
    without_witness = "the trace does not say which operation the reset meets"
    without_fix_of: ClassVar = {
        FactVariant.OTHER_THREAD: "how the other thread comes to its end is the program's decision"
    }
    comes_with_edits = True

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The reset waits for what is pending."""
        pending = case.first(RelatedRole.USE, RelatedRole.FREE, RelatedRole.OTHER)
        return (step(Remedy.WAIT_BEFORE_END, case.operation, pending),)

    def severity_of(self, case: Case) -> Severity:
        """A context that a library's static object gives up ends with the process, and that is a note."""
        reset = case.operation
        at_exit = reset.flags & SlotFlag.OUTSIDE and case.is_of_library(reset)
        return Severity.NOTE if at_exit else super().severity_of(case)

    def location(self, case: Case) -> Location:
        """Return the place of the reset; the exit of a process that ran has none: then that of what is pending."""
        pending = case.first(RelatedRole.USE, RelatedRole.FREE)
        lineless = case.fact.variant is FactVariant.AT_EXIT and not case.line(case.operation)
        return case.location(pending if lineless and pending is not None else case.operation)

    def wording(self, case: Case) -> Wording:
        reset = case.operation
        pending = case.first(RelatedRole.USE, RelatedRole.FREE, RelatedRole.OTHER)
        variant = case.fact.variant
        at_exit = variant is FactVariant.AT_EXIT
        event = _event(reset)
        related = [*case.allocated()]
        related.extend(self._pending(case, operation) for operation in case.all_of(RelatedRole.USE))
        related.extend(case.freed(operation) for operation in case.all_of(RelatedRole.FREE))
        related.extend(case.others(RelatedRole.OTHER, RelatedRole.CREATE))
        related.append(case.related(RelatedRole.RESET, reset, f"{event} here: nothing waits before it"))
        line = case.line(reset)
        whole = reset.kind is not OperationKind.CONTEXT_DESTROY
        wait = case.phrase("device_wait" if whole else "context_wait")
        return Wording(
            message=self._message(case, pending, event),
            related=tuple(related),
            contract=_own_contract(case, reset) or self._contract(reset),
            observed=None if _own_contract(case, reset) else self._observed(variant, reset),
            witness=self._witness(case, pending, event),
            fix="let the other thread finish its work on the device first"
            if variant is FactVariant.OTHER_THREAD
            else f"before line {line}: {wait}"
            if line and not at_exit
            else f"{wait} before the end of main",
        )

    @staticmethod
    def _pending(case: Case, operation: Operation) -> Related:
        if case.fact.variant is FactVariant.OTHER_THREAD:
            return case.related(RelatedRole.USE, operation, "called here, by another thread")
        return case.used(operation)

    @staticmethod
    def _message(case: Case, pending: Operation | None, event: str) -> str:
        if case.fact.variant is FactVariant.OTHER_THREAD:
            if case.names.origin == RECORDING and pending is not None:
                return f"another host thread is using the device ({case.call(pending)}) when {event}"
            return f"another host thread may still be using the device when {event}"
        if case.fact.variant is FactVariant.PENDING_FREE:
            label = case.names.site(pending.site).label if pending is not None else ""
            what = f"the asynchronous free of `{label}`" if label else "an asynchronous free"
            return f"{what} may still be pending when {event}"
        return f"{case.does(pending)} may still be running when {event}"

    @staticmethod
    def _contract(reset: Operation) -> Contract:
        if reset.kind is OperationKind.CONTEXT_DESTROY:
            return DESTROY_CONTRACT
        return RESET_CONTRACT if reset.kind is OperationKind.DEVICE_RESET else EXIT_CONTRACT

    @staticmethod
    def _observed(variant: FactVariant, reset: Operation) -> Observed | None:
        if reset.kind is OperationKind.CONTEXT_DESTROY and variant is FactVariant.PENDING_WORK:
            return Observed("this driver waits for the context's pending work; nothing promises that", "L-22")
        if reset.kind is not OperationKind.DEVICE_RESET:
            return None
        if variant is FactVariant.OTHER_THREAD:
            return Observed("the reset succeeds, and the other thread's next call fails: context is destroyed", "R-02")
        return Observed("this driver waits for pending work at a reset; nothing promises that", "R-01")

    @staticmethod
    def _witness(case: Case, pending: Operation | None, event: str) -> tuple[str, ...]:
        if case.fact.variant is FactVariant.OTHER_THREAD:
            return (event, "the other thread's next call finds its context, streams and memory gone")
        if case.fact.variant is FactVariant.PENDING_FREE:
            return (event, "the free never runs; the reset leaves the pool's memory to the driver")
        return (f"{case.does(pending)} has not finished", event, "it runs on memory or handles that no longer exist")


def _own_contract(case: Case, reset: Operation) -> Contract | None:
    """Return what the manual of a platform other than CUDA says."""
    return case.contract("context" if reset.kind is OperationKind.CONTEXT_DESTROY else "exit")


def _event(reset: Operation) -> str:
    if reset.kind is OperationKind.CONTEXT_DESTROY:
        return "the context is destroyed"
    if reset.kind is OperationKind.DEVICE_RESET:
        return "the device is reset"
    return "the process ends"
