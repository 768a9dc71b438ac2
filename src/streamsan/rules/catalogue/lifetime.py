"""SS101 to SS104: device memory that is used while it does not exist."""

from __future__ import annotations

from streamsan.findings.finding import Contract, Observed, Severity
from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import Case
from streamsan.rules.collective_names import collective_noun
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.race_sides import RaceSides, with_words
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.wrong_execution import Harm, WrongExecution, wrong_order
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode

_ENDS = (RelatedRole.FREE, RelatedRole.RESET, RelatedRole.DESTROY)
_MAKES_INVALID = (FactVariant.UNMAP, FactVariant.IPC_CLOSE, FactVariant.FREE_UNREGISTER)
"""Releases that take the memory from under its addresses."""


def event_between(case: Case, source: Operation | None, target: Operation | None, line: int) -> str:
    """Return the fix that orders one stream after work on another with an event."""
    waits = case.stream_argument(target)
    runs = case.stream_argument(source)
    return (
        f"before line {line}: {case.phrase('event_between', runs=runs, waits=waits)}"
        if line
        else f"record an event on {runs} after the work, and let {waits} wait for it"
    )


def host_wait(case: Case, source: Operation | None, line: int) -> str:
    """Return the fix that makes the host wait for the work."""
    wait = case.phrase("stream_wait", stream=case.stream_argument(source))
    return f"before line {line}: {wait};" if line else f"{wait} before it"


def release_first(case: Case) -> WrongExecution | str:
    """Return the execution in which a free, a reset or an access of the host does not wait for the work before it."""
    last, use = case.operation, case.first(RelatedRole.USE, RelatedRole.OTHER)
    if last.kind is OperationKind.FREE:
        return wrong_order(last, use, Harm.GONE if case.fact.variant in _MAKES_INVALID else Harm.FREED)
    if use is None:  # rests on an observed wait: a use that nothing promised puts behind the allocation
        return wrong_order(last, case.first(RelatedRole.ALLOC), Harm.NOT_YET)
    ends = last.kind in (OperationKind.DEVICE_RESET, OperationKind.CONTEXT_DESTROY)
    return wrong_order(last, use, Harm.GONE if ends else Harm.CHANGED)


def behind_use(case: Case) -> FixStep:
    """Return the step that orders the reported operation behind the work that it should wait for."""
    earlier = case.first(RelatedRole.USE, RelatedRole.CREATE, RelatedRole.OTHER)
    return step(Remedy.ORDER, case.operation, earlier)


class UseAfterFree(Rule):
    """SS101."""

    code = RuleCode.USE_AFTER_FREE
    definition = "Memory is used after its free, or by work issued after cudaFreeAsync had returned."
    severity = Severity.ERROR
    outranks = (RuleCode.USE_RACES_FREE, RuleCode.USE_BEFORE_ALLOC)
    outranks_for_use = (RuleCode.UNORDERED_CONFLICT,)
    comes_with_edits = True

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The program itself frees first."""
        end = case.first(*_ENDS)
        freed = end is not None and end.kind is OperationKind.FREE
        return wrong_order(end, case.operation, Harm.FREED if freed else Harm.GONE, certain=True)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The free comes later."""
        return (step(Remedy.FREE_LATER, case.first(*_ENDS)),)

    def wording(self, case: Case) -> Wording:
        use, free = case.operation, case.first(RelatedRole.FREE, RelatedRole.RESET)
        if free is not None and free.kind in (OperationKind.DEVICE_RESET, OperationKind.CONTEXT_DESTROY):
            return self._after_reset(case, use, free)
        if case.allocation is not None and case.allocation.kind is MemoryKind.CL_MAPPED:
            return self._after_unmap(case, use, free)
        issued_after = case.fact.variant is FactVariant.AFTER_ASYNC_FREE
        memory = case.memory()
        asynchronous = issued_after or (free is not None and free.stream != 0)
        why = "issued after the free" if issued_after else "after the free"
        related = [*case.allocated()]
        if free is not None:
            related.append(case.freed(free))
        sides = RaceSides(case)
        related.append(with_words(case.related(RelatedRole.USE, use, f"used here, {why}"), sides.later_range()))
        related.extend(case.others(RelatedRole.SYNC, RelatedRole.RECORD, RelatedRole.OWNER))
        line = case.line(use)
        if use.failed:
            return Wording(
                message=f"{case.does(use)} is given {memory} after it was freed, and fails: {case.error_name(use)}",
                related=tuple(related),
                contract=case.contract("freed"),
                fix=f"move the free behind line {line}, or drop the use"
                if line
                else "free the memory after its last use",
                sides=sides,
            )
        return Wording(
            message=f"{case.does(use)} uses {memory} after it was freed",
            related=tuple(related),
            contract=(
                case.contract("issued_after")
                if issued_after
                else (case.contract("svm") if _is_shared(case) else None) or case.contract("freed")
            ),
            observed=None
            if _is_shared(case)
            else case.observed("asynchronous")
            if asynchronous
            else case.observed("freed"),
            fix=f"move the free behind line {line}, or drop the use" if line else "free the memory after its last use",
            sides=sides,
        )

    @staticmethod
    def _after_unmap(case: Case, use: Operation, unmap: Operation | None) -> Wording:
        line = case.line(use)
        related = [] if unmap is None else [case.related(RelatedRole.FREE, unmap, "unmapped here")]
        return Wording(
            message=f"{case.does(use)} uses {case.memory()} after it was unmapped",
            related=(*case.allocated(), *related, case.related(RelatedRole.USE, use, "used here, after the unmap")),
            contract=case.contract("unmapped"),
            observed=case.observed("unmapped"),
            fix=f"move the unmap behind line {line}, or drop the use" if line else "unmap it after its last use",
        )

    @staticmethod
    def _after_reset(case: Case, use: Operation, reset: Operation) -> Wording:
        memory = case.memory()
        destroys = reset.kind is OperationKind.CONTEXT_DESTROY
        event = "its context was destroyed" if destroys else "the device was reset"
        uses = "is given" if use.failed else "uses"
        failed = f", and fails: {case.error_name(use)}" if use.failed else ""
        return Wording(
            message=f"{case.does(use)} {uses} {memory} after {event}{failed}",
            related=(
                *case.allocated(),
                case.related(
                    RelatedRole.RESET, reset, "the memory goes with its context here" if destroys else "reset here"
                ),
                case.related(RelatedRole.USE, use, f"used here, after {event}"),
            ),
            contract=case.contract("context") if destroys else case.contract("reset"),
            observed=case.observed("context") if destroys else case.observed("reset"),
            fix=f"move the call {case.before(reset, 'the reset')}, or drop it",
        )


class UseRacesFree(Rule):
    """SS102."""

    code = RuleCode.USE_RACES_FREE
    definition = "A use of memory and its free are not ordered."
    severity = Severity.ERROR
    outranks = (RuleCode.RELIES_ON_IMPLICIT_SYNC, RuleCode.BLOCKING_FREE, RuleCode.ORDER_DROPPING_FREE)
    outranks_for_use = (RuleCode.UNORDERED_CONFLICT,)
    comes_with_edits = True

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The free overtakes the use."""
        return release_first(case)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The free waits for the use."""
        return (behind_use(case),)

    def wording(self, case: Case) -> Wording:
        free, use = case.operation, case.first(RelatedRole.USE)
        memory, work = case.memory(), case.does(use)
        stream_ordered_free = case.fact.variant is FactVariant.FREE_ASYNC or free.stream != 0
        reason = (
            f"nothing orders {case.stream(free)} after {short(case, use)}"
            if stream_ordered_free
            else f"nothing makes the host wait for {short(case, use)}"
        )
        related = [*case.allocated(), *case.others(RelatedRole.SYNC, RelatedRole.RECORD)]
        uses = [case.used(operation) for operation in case.all_of(RelatedRole.USE)]
        sides = RaceSides(case)
        if uses:
            uses[0] = with_words(uses[0], sides.earlier_range())
        related += [*uses, case.freed(free, reason)]
        return Wording(
            message=f"{work} may still be {case.verb(use)} {memory} when it is freed",
            related=tuple(related),
            contract=self._contract(case),
            observed=self._observed(case),
            fix=self._fix(case, free, use),
            sides=sides,
        )

    @staticmethod
    def _contract(case: Case) -> Contract | None:
        if case.operation.stream != 0 or case.fact.variant is FactVariant.FREE_ASYNC:
            return case.contract("asynchronous")
        if case.allocation is not None and case.allocation.kind is MemoryKind.STREAM_ORDERED:
            return case.contract("pool")
        if case.allocation is not None and case.allocation.kind is MemoryKind.CL_BUFFER:
            return case.contract("released") or case.contract("waits")
        return case.contract("waits")

    @staticmethod
    def _observed(case: Case) -> Observed | None:
        stream_ordered = case.allocation is not None and case.allocation.kind is MemoryKind.STREAM_ORDERED
        if case.operation.stream != 0 or case.fact.variant is FactVariant.FREE_ASYNC:
            if case.allocation is not None and case.allocation.kind is MemoryKind.PLAIN:
                return case.observed("plain")
            if case.stream(case.operation) == "the default stream":
                return case.observed("default_stream")
            return case.observed("asynchronous")
        if stream_ordered:
            return case.observed("pool")
        if case.allocation is not None and case.allocation.kind is MemoryKind.CL_BUFFER:
            return case.observed("released")
        return case.observed("waits")

    @staticmethod
    def _fix(case: Case, free: Operation, use: Operation | None) -> str:
        line = case.line(free)
        if free.stream and use is not None and use.stream:
            return event_between(case, use, free, line)
        if free.stream:
            return f"{case.before(free, 'the free')}: make {case.stream(free)} wait for {case.does(use)}"
        return host_wait(case, use, line)


class UseBeforeAlloc(Rule):
    """SS103."""

    code = RuleCode.USE_BEFORE_ALLOC
    definition = "A use is not ordered after its stream-ordered allocation."
    severity = Severity.ERROR
    outranks_for_use = (RuleCode.UNORDERED_CONFLICT,)
    comes_with_edits = True

    def cause(self, fact: Fact) -> tuple[object, ...] | None:
        """What follows an unordered first use in its stream is unordered as well."""
        if fact.allocation is None or not fact.allocation.site:
            return None
        return fact.allocation.site, fact.operation.stream, fact.operation.stream_site

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The use overtakes the allocation."""
        return wrong_order(case.operation, case.first(RelatedRole.ALLOC), Harm.NOT_YET)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The use waits for the allocation."""
        return (step(Remedy.ORDER, case.operation, case.first(RelatedRole.ALLOC)),)

    def wording(self, case: Case) -> Wording:
        use, made = case.operation, case.first(RelatedRole.ALLOC)
        memory, work = case.memory(), case.does(use)
        who = case.stream(use) if use.stream else "the host"
        waits = f"nothing orders {who} after the {'map' if _made(case) == 'mapped' else 'allocation'}"
        sides = RaceSides(case)
        does = sides.later_range()
        reason = f"{does}; {waits}" if does else waits
        place = f"used here, in the order of {who}: {reason}" if use.stream else f"used here, by the host: {reason}"
        related = [
            *case.allocated(),
            *case.others(RelatedRole.SYNC, RelatedRole.RECORD),
            case.related(RelatedRole.USE, use, place),
        ]
        line = case.line(use)
        return Wording(
            message=f"{work} may use {memory} before it is {_made(case)}",
            related=tuple(related),
            contract=case.contract("allocation"),
            observed=case.observed("allocation"),
            fix=event_between(case, made, use, line) if use.stream else host_wait(case, made, line),
            sides=sides,
        )


class UnmappedInUse(Rule):
    """SS104."""

    code = RuleCode.UNMAPPED_IN_USE
    definition = "A VMM unmap, or the close of an IPC handle, is not ordered after the uses of the range."
    severity = Severity.ERROR
    outranks = (RuleCode.RELIES_ON_IMPLICIT_SYNC,)
    comes_with_edits = True

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The unmap overtakes the use."""
        return release_first(case)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The unmap waits for the use."""
        return (behind_use(case),)

    def wording(self, case: Case) -> Wording:
        unmap, use = case.operation, case.first(RelatedRole.USE)
        closes = case.fact.variant is FactVariant.IPC_CLOSE
        word = "closed" if closes else "unmapped"
        related = [*case.allocated(), *(case.used(operation) for operation in case.all_of(RelatedRole.USE))]
        related.append(
            case.related(RelatedRole.FREE, unmap, f"{word} here: nothing makes the host wait for {short(case, use)}")
        )
        return Wording(
            message=f"{case.does(use)} may still be {case.verb(use)} {case.memory()} when it is {word}",
            related=tuple(related),
            contract=case.contract("closed") if closes else case.contract("unmapped"),
            observed=None if closes else case.observed("unmapped"),
            fix=host_wait(case, use, case.line(unmap)),
        )


def _is_shared(case: Case) -> bool:
    return case.allocation is not None and case.allocation.kind is MemoryKind.SVM


def _made(case: Case) -> str:
    """Return how memory comes to be: "allocated", or "mapped" where it is the pointer of a map."""
    is_map = case.allocation is not None and case.allocation.kind is MemoryKind.CL_MAPPED
    return "mapped" if is_map else "allocated"


def short(case: Case, operation: Operation | None) -> str:
    """Return a short way to name work that was named before: "the kernel", "the copy"."""
    if operation is None:
        return "the pending work"
    if operation.kind is OperationKind.LAUNCH:
        return collective_noun(case.names.site(operation.site).label) or "the kernel"
    if operation.kind is OperationKind.HOST_FUNCTION:
        return "the host function"
    return case.does(operation).split(" (")[0]
