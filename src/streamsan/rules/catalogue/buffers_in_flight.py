"""SS108: host memory that an asynchronous operation still needs."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from streamsan.effects.waits import Endpoint
from streamsan.findings.finding import Confidence, Finding, Severity
from streamsan.order.facts import Fact
from streamsan.rules.case import Case
from streamsan.rules.catalogue.lifetime import behind_use, host_wait, release_first, short
from streamsan.rules.fix_steps import FixStep
from streamsan.rules.race_sides import RaceSides, with_words
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.wrong_execution import WrongExecution
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode, WaitClass

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
    definition = (
        "Host memory is freed, left, overwritten or read while an asynchronous copy, kernel or function uses it."
    )
    severity = Severity.ERROR
    outranks = (RuleCode.RELIES_ON_IMPLICIT_SYNC,)
    comes_with_edits = True
    without_fix_of: ClassVar = {
        FactVariant.MAPPED_USE: "whether the host is done with the pointer is the program's decision"
    }
    varies = (
        "error; possible for pageable memory; beside a kernel error, warning or note, as sure as it is that they meet"
    )

    def weak(self, fact: Fact) -> bool:
        """Pageable copies "might be" synchronous, so they are only possible; a host function never is."""
        pageable = fact.allocation is not None and fact.allocation.kind in PAGEABLE
        functions = any(o.kind is OperationKind.HOST_FUNCTION for _, o in fact.related)
        return super().weak(fact) or (pageable and not functions) or (beside_kernel(fact) and fact.assumed)

    def is_weak(self, case: Case) -> bool:
        """Where no copy is synchronous but those that are called so, pageable memory is as any other."""
        if may_be_synchronous(case) or (beside_kernel(case.fact) and case.fact.assumed):
            return self.weak(case.fact)
        return super().weak(case.fact)

    def severity_of(self, case: Case) -> Severity:
        """A kernel may use other parts of the memory, or be meant to meet the host there."""
        merely_possible = beside_kernel(case.fact) and case.fact.assumed and not case.fact.likely
        return Severity.NOTE if merely_possible else super().severity_of(case)

    def finding(self, case: Case) -> Finding:
        """A recording does not show what the host reads in a flag again and again: it may be what orders them."""
        found = super().finding(case)
        return replace(found, severity=Severity.NOTE, confidence=Confidence.POSSIBLE) if _may_talk(case) else found

    def decided_by_caller(self, fact: Fact) -> bool:
        """Tell whether a caller decides. That a kernel may use other bytes says so in words of its own."""
        return fact.may_be_equal or fact.unseen or (fact.assumed and not beside_kernel(fact))

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The host goes on before the work is complete."""
        if case.fact.variant is FactVariant.MAPPED_USE:
            return "the contract forbids the command itself: what it reads or writes there is not defined"
        return release_first(case)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The host waits for the work."""
        return (behind_use(case),)

    def wording(self, case: Case) -> Wording:
        if case.fact.variant is FactVariant.MAPPED_USE:
            return _of_mapped(case)
        last, use = case.operation, case.first(RelatedRole.USE)
        state, here = _EVENT.get(case.fact.variant, ("is changed", "changed here"))
        function = use is not None and use.kind is OperationKind.HOST_FUNCTION
        sides = RaceSides(case)
        uses = [case.used(operation) for operation in case.all_of(RelatedRole.USE)]
        if uses:
            uses[0] = with_words(uses[0], sides.earlier_words())
        related = [*case.allocated(), *uses]
        related.extend(case.others(RelatedRole.SYNC, RelatedRole.RECORD))
        frees = last.kind is OperationKind.FREE
        does = sides.later_words()
        related.append(
            case.related(
                RelatedRole.FREE if frees else RelatedRole.USE,
                last,
                f"{here}: {f'{does}; ' if does else ''}nothing makes the host wait for {short(case, use)}",
            )
        )
        reads = case.fact.variant is FactVariant.HOST_READ
        memory, work = case.memory(), case.does(use)
        kernel = beside_kernel(case.fact)
        doubt = "if they touch the same bytes" if kernel and case.fact.assumed and not case.fact.likely else ""
        if _may_talk(case):
            doubt = "unless a flag that one of them polls orders them"
        message = (
            f"the host reads {memory} while {work} may still be writing it"
            if reads
            else f"{work} may still be using {memory} when it {state}"
        )
        return Wording(
            message=f"{message}, {doubt}" if doubt else message,
            related=tuple(related),
            contract=case.contract("host_function" if function else "kernel" if kernel else "copy"),
            fix=host_wait(case, use, case.line(last)),
            sides=sides,
        )


def may_be_synchronous(case: Case) -> bool:
    """Tell whether an asynchronous copy of pageable memory may be complete when its call returns."""
    waits = case.platform.waits
    return any(
        waits.of_copy("asynchronous", *sides) is not WaitClass.NONE
        for sides in ((Endpoint.PAGEABLE, Endpoint.DEVICE), (Endpoint.DEVICE, Endpoint.PAGEABLE))
    )


def _of_mapped(case: Case) -> Wording:
    """Return what to say of a command that uses a region that the host has mapped."""
    use, mapped = case.operation, case.first(RelatedRole.OTHER)
    maps = [] if mapped is None else [case.related(RelatedRole.OTHER, mapped, "mapped for the host here")]
    doubt = ", if it touches the region" if case.fact.assumed else ""
    return Wording(
        message=f"{case.does(use)} is enqueued while {case.memory()}, which it uses, is mapped for the host{doubt}",
        related=(*case.allocated(), *maps, case.related(RelatedRole.USE, use, "used here, before any unmap")),
        contract=case.contract("mapped"),
        fix=f"{case.before(use, 'the command')}: clEnqueueUnmapMemObject, and the command behind it",
    )


def beside_kernel(fact: Fact) -> bool:
    """Tell whether it is a kernel that the host is beside, launched alone."""
    uses = [operation for role, operation in fact.related if role is RelatedRole.USE]
    return bool(uses) and all(operation.kind is OperationKind.LAUNCH for operation in uses)


def _may_talk(case: Case) -> bool:
    """Tell whether the host is beside a kernel, or a graph with one, that may talk to it while it runs."""
    if case.fact.variant not in (FactVariant.HOST_READ, FactVariant.HOST_WRITE):
        return False
    kinds = (OperationKind.LAUNCH, OperationKind.GRAPH_LAUNCH)
    return any(each.kind in kinds and each.site in case.names.talkers for each in case.all_of(RelatedRole.USE))
