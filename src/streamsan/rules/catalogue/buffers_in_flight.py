"""SS108: host memory that an asynchronous operation still needs."""

from __future__ import annotations

from streamsan.findings.finding import Severity
from streamsan.order.facts import Fact
from streamsan.rules.case import Case
from streamsan.rules.catalogue.lifetime import behind_use, host_wait, release_first, short
from streamsan.rules.fix_steps import FixStep
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.wrong_execution import WrongExecution
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode

PAGEABLE = (MemoryKind.HOST_HEAP, MemoryKind.HOST_STACK, MemoryKind.HOST_STATIC)

_EVENT = {
    FactVariant.HOST_FREE: ("is freed", "freed here"),
    FactVariant.FREE_PINNED: ("is freed", "freed here"),
    FactVariant.FREE_UNREGISTER: ("is unregistered", "unregistered here"),
    FactVariant.HOST_SCOPE_END: ("goes out of scope", "goes out of scope here"),
    FactVariant.HOST_WRITE: ("is overwritten by the host", "overwritten here"),
    FactVariant.HOST_READ: ("is read by the host", "read here"),
}


class HostBufferInFlight(Rule):
    """SS108."""

    code = RuleCode.HOST_BUFFER_IN_FLIGHT
    definition = "Host memory is freed, left, overwritten or read while an asynchronous copy or host function uses it."
    severity = Severity.ERROR
    severity = Severity.ERROR
    outranks = (RuleCode.RELIES_ON_IMPLICIT_SYNC,)
    comes_with_edits = True
    varies = "error; possible for pageable memory"

    def weak(self, fact: Fact) -> bool:
        """Pageable copies "might be" synchronous, so they are only possible; a host function never is."""
        pageable = fact.allocation is not None and fact.allocation.kind in PAGEABLE
        functions = any(o.kind is OperationKind.HOST_FUNCTION for _, o in fact.related)
        return super().weak(fact) or (pageable and not functions)

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The host goes on before the work is complete."""
        return release_first(case)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The host waits for the work."""
        return (behind_use(case),)

    def wording(self, case: Case) -> Wording:
        last, use = case.operation, case.first(RelatedRole.USE)
        state, here = _EVENT.get(case.fact.variant, ("is changed", "changed here"))
        function = use is not None and use.kind is OperationKind.HOST_FUNCTION
        related = [*case.allocated(), *(case.used(operation) for operation in case.all_of(RelatedRole.USE))]
        related.extend(case.others(RelatedRole.SYNC, RelatedRole.RECORD))
        frees = last.kind is OperationKind.FREE
        related.append(
            case.related(
                RelatedRole.FREE if frees else RelatedRole.USE,
                last,
                f"{here}: nothing makes the host wait for {short(case, use)}",
            )
        )
        reads = case.fact.variant is FactVariant.HOST_READ
        memory, work = case.memory(), case.does(use)
        message = (
            f"the host reads {memory} while {work} may still be writing it"
            if reads
            else f"{work} may still be using {memory} when it {state}"
        )
        return Wording(
            message=message,
            related=tuple(related),
            contract=case.contract("host_function") if function else case.contract("copy"),
            fix=host_wait(case, use, case.line(last)),
        )
