"""SS107: an order that only the driver's behaviour gives, not the documentation."""

from __future__ import annotations

from msgspec.structs import replace

from streamsan.findings.finding import Contract, Observed, Related, Severity
from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import Case
from streamsan.rules.catalogue.buffers_in_flight import PAGEABLE, may_be_synchronous
from streamsan.rules.catalogue.lifetime import behind_use, host_wait, release_first, short
from streamsan.rules.fix_steps import FixStep
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.wrong_execution import Harm, WrongExecution, wrong_order
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode

_CALLS = {
    FactVariant.FREE_PINNED: "pinned",
    FactVariant.FREE_UNREGISTER: "unregister",
    FactVariant.IMPLICIT_COPY: "copy",
    FactVariant.STATUS_QUERY: "query",
}
_OF_HOST = (OperationKind.HOST_ACCESS, OperationKind.DEVICE_RESET, OperationKind.CONTEXT_DESTROY)
_WAIT_THEMSELVES = (FactVariant.FREE_DEVICE, FactVariant.FREE_PINNED, FactVariant.FREE_UNREGISTER)


class ReliesOnImplicitSync(Rule):
    """SS107. What it says is that the order is observed only, so an observed edge does not weaken it."""

    code = RuleCode.RELIES_ON_IMPLICIT_SYNC
    definition = "A required order holds only because the driver waits where the documentation does not promise it."
    severity = Severity.WARNING
    varies = "warning; note for cudaFree of plain or managed memory against its own context's work"

    comes_with_edits = True

    def severity_of(self, case: Case) -> Severity:
        """A plain device free is a note: so much code rests on its wait."""
        fact = case.fact
        kind = MemoryKind.UNKNOWN if fact.allocation is None else fact.allocation.kind
        if fact.variant is FactVariant.FREE_DEVICE:
            return Severity.NOTE if kind not in (MemoryKind.PINNED, MemoryKind.REGISTERED) else Severity.WARNING
        # Memory under cudaHostRegister is page-locked, whatever it was before.
        if fact.variant in (FactVariant.FREE_PINNED, FactVariant.FREE_UNREGISTER):
            return Severity.WARNING
        # An asynchronous copy of pageable memory may have been synchronous in the first place.
        synchronous = kind in PAGEABLE and may_be_synchronous(case)
        return Severity.NOTE if synchronous else Severity.WARNING

    def weak(self, fact: Fact) -> bool:
        """The observed edge is the very point."""
        return False

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """What waits does not: the free goes ahead of the use, or the later use of the earlier one."""
        last, use = case.operation, case.first(RelatedRole.USE)
        if use is not None and last.kind not in (*_OF_HOST, OperationKind.FREE):
            found = wrong_order(last, use, Harm.CONFLICT)
        else:
            found = release_first(case)
        return found if isinstance(found, str) else replace(found, unpromised=True)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """What comes later waits by what is promised."""
        return (behind_use(case),)

    def wording(self, case: Case) -> Wording:
        last, use = case.operation, case.first(RelatedRole.USE)
        if last.kind is not OperationKind.FREE:
            return self._of_access(case, last, use or case.first(RelatedRole.ALLOC))
        related = [*case.allocated(), *(case.used(operation) for operation in case.all_of(RelatedRole.USE))]
        related.extend(_waits(case, RelatedRole.RECORD, RelatedRole.OTHER))
        word = "unregistered" if case.fact.variant is FactVariant.FREE_UNREGISTER else "freed"
        reason = f"{word} here: only a wait that the documentation does not promise orders it after {short(case, use)}"
        related.append(case.related(RelatedRole.FREE, last, reason))
        contract, observed = self._sources(case)
        query = copy_that_waits(case)
        asked = query is not None and query.kind is OperationKind.EVENT_QUERY
        unless = (
            f"{_waiting_call(case)}, which is no synchronisation point, orders it"
            if asked
            else (f"{_waiting_call(case)} waits")
        )
        return Wording(
            message=f"{case.does(use)} may still be {case.verb(use)} {case.memory()} when it is {word}, "
            f"unless {unless}",
            related=tuple(related),
            contract=contract,
            observed=observed,
            fix=host_wait(case, use, case.line(last)),
        )

    @staticmethod
    def _of_access(case: Case, last: Operation, first: Operation | None) -> Wording:
        memory, copy = case.memory(), copy_that_waits(case)
        by, key = "by a wait that the documentation does not promise", "access"
        if copy is not None:
            by, key = f"because {case.call(copy)} waits, which the documentation does not promise", "copy"
            if copy.kind is OperationKind.EVENT_QUERY:
                by, key = (
                    f"because {case.call(copy)} said that it is complete, which is no synchronisation point",
                    "query",
                )
        return Wording(
            message=f"{case.does(last)} is ordered after {case.does(first)} on {memory} only {by}",
            related=(
                *case.allocated(),
                *(case.used(operation) for operation in case.all_of(RelatedRole.USE)),
                *_waits(case, RelatedRole.RECORD),
                case.related(RelatedRole.OTHER, last, "used here: only an observed wait orders it behind"),
            ),
            contract=case.contract(key),
            observed=case.observed(key),
            fix=host_wait(case, first, case.line(last)),
        )

    @staticmethod
    def _sources(case: Case) -> tuple[Contract | None, Observed | None]:
        wait = copy_that_waits(case)
        if wait is not None and wait.kind is OperationKind.EVENT_QUERY:
            return case.contract("query"), case.observed("query")
        key = "copy" if wait is not None else _CALLS.get(case.fact.variant, "free")
        if key == "free" and case.operation.kind is OperationKind.DEVICE_RESET:
            key = "reset"
        managed = case.allocation is not None and case.allocation.kind is MemoryKind.MANAGED
        return case.contract(key), case.observed("managed" if key == "free" and managed else key)


def copy_that_waits(case: Case) -> Operation | None:
    """Return the copy whose wait, or the query on whose answer, the order rests; None where a free or a reset waits."""
    waits = case.all_of(RelatedRole.SYNC)
    kinds = (OperationKind.COPY, OperationKind.EVENT_QUERY)
    return next((operation for operation in waits if operation.kind in kinds), None)


def _waiting_call(case: Case) -> str:
    copy = copy_that_waits(case)
    if copy is not None:
        return case.call(copy)
    # Of a free that waits for nothing itself, the trace does not say which call before it does.
    return case.call(case.operation) if case.fact.variant in _WAIT_THEMSELVES else "an earlier call"


def _waits(case: Case, *roles: RelatedRole) -> tuple[Related, ...]:
    copy = copy_that_waits(case)
    if copy is None:
        return tuple(case.others(RelatedRole.SYNC, *roles))
    if copy.kind is OperationKind.EVENT_QUERY:
        answer = "asked here whether it is complete: the answer is no synchronisation point"
        return (case.related(RelatedRole.SYNC, copy, answer), *case.others(*roles))
    reason = "this copy to pageable host memory is complete when its call returns: measured, not promised"
    return (case.related(RelatedRole.SYNC, copy, reason), *case.others(*roles))
