"""SS201, SS202, SS203, SS206: frees that free the wrong thing, or in the wrong way."""

from __future__ import annotations

from streamsan.findings.finding import Related, Severity
from streamsan.rules.case import ANONYMOUS, Case
from streamsan.rules.copied_owner import copied_owner
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode


class DoubleFree(Rule):
    """SS201."""

    code = RuleCode.DOUBLE_FREE
    definition = "Memory is freed twice; or the address meanwhile belongs to another allocation, which dies."
    severity = Severity.ERROR
    without_fix = "which of the two frees is the right one is the program's decision"
    without_witness = "the second free fails in every execution"
    outranks = (
        RuleCode.USE_AFTER_FREE,
        RuleCode.USE_RACES_FREE,
        RuleCode.RELIES_ON_IMPLICIT_SYNC,
        RuleCode.FOREIGN_CONTEXT_FREE,
        RuleCode.ORDER_DROPPING_FREE,
        RuleCode.GRAPH_MEMORY_UNORDERED,
        RuleCode.BLOCKING_FREE,
    )
    outranks_for_memory = (RuleCode.LEAK,)
    """who gives one of several pieces of memory back twice has often forgotten another one"""

    def wording(self, case: Case) -> Wording:
        again, before = case.operation, case.first(RelatedRole.FREE)
        recycled = case.fact.variant is FactVariant.RECYCLED
        owner = case.first(RelatedRole.OWNER)
        related = [*case.allocated()]
        if before is not None:
            related.append(case.freed(before))
        if owner is not None:
            related.append(case.related(RelatedRole.OWNER, owner, "the same address was handed out again here"))
        related.append(case.related(RelatedRole.FREE, again, "freed here again"))
        line = case.line(again)
        fix = f"remove the free of line {line}, or set the pointer to NULL after the first" if line else "free it once"
        copied = copied_owner(case, before, again)
        if copied:
            fix = copied.fix
        if not recycled:
            return Wording(
                message=f"{case.memory()} is freed twice" + (f": {copied.reason}" if copied else ""),
                related=tuple(related),
                contract=case.contract("twice"),
                observed=case.observed("twice"),
                witness=(
                    f"{case.memory()} is freed",
                    "it is freed again",
                    "if the address was handed out meanwhile, another owner's memory dies (W-03)",
                ),
                fix=fix,
            )
        label = case.names.site(owner.site).label if owner is not None else ""
        victim = f"`{label}`" if label else "another allocation"
        # The fact's allocation may be the victim: what was freed first is where the address was handed out first.
        made = case.first(RelatedRole.ALLOC)
        old = case.names.site(made.site).label if made is not None else case.memory_name()
        memory = f"`{old}`" if old else ANONYMOUS
        return Wording(
            message=f"{memory} was freed before: this frees {victim}, which has the address now",
            related=tuple(related),
            contract=case.contract("twice"),
            observed=case.observed("recycled"),
            witness=(f"{memory} is freed", f"{victim} gets the same address", f"the second free takes {victim}"),
            fix=fix,
        )


class InvalidFree(Rule):
    """SS202."""

    code = RuleCode.INVALID_FREE
    definition = "What is freed is not the start of an allocation, or belongs to another family of functions."
    severity = Severity.ERROR
    without_fix = "which free is meant, and of which memory, is the program's decision"
    without_witness = "the call fails in every execution"
    outranks = (
        RuleCode.USE_RACES_FREE,
        RuleCode.RELIES_ON_IMPLICIT_SYNC,
        RuleCode.FOREIGN_CONTEXT_FREE,
        RuleCode.ORDER_DROPPING_FREE,
        RuleCode.BLOCKING_FREE,
    )

    def wording(self, case: Case) -> Wording:
        free = case.operation
        call, memory = case.call(free), case.memory()
        variant = case.fact.variant
        message, here = self._says(case, call, memory)
        proper = case.platform.release(case.allocation.kind) if case.allocation is not None else ""
        if variant is FactVariant.INTERIOR:
            fix = f"free {memory} itself, with the address its allocation returned"
        elif proper and variant is not FactVariant.UNKNOWN_ADDRESS:
            fix = f"free {memory} with {proper}"
        else:
            fix = "free only what an allocation call returned"
        imported = variant is FactVariant.IMPORTED
        # What a free of another family does was not measured, and is not defined.
        family = variant is FactVariant.WRONG_FAMILY
        return Wording(
            message=message,
            related=(*case.allocated(), case.related(RelatedRole.FREE, free, here)),
            contract=case.contract("imported") if imported else case.contract("pointer"),
            observed=case.observed("imported") if imported else None if family else case.observed("pointer"),
            witness=(f"{call} gets a pointer it cannot free", "what it does with it is not defined")
            if family
            else (f"{call} gets a pointer it cannot free", "it fails, and the memory is never released"),
            fix=fix,
        )

    @staticmethod
    def _says(case: Case, call: str, memory: str) -> tuple[str, str]:
        variant = case.fact.variant
        if variant is FactVariant.INTERIOR:
            return f"{call} is given an address inside {memory}, not its start", "freed here, with an offset"
        if variant is FactVariant.HOST_POINTER:
            what = "host memory" if not case.memory_name() else f"{memory}, which is host memory"
            return f"{call} is given {what}", "host memory is given to a device free here"
        if variant is FactVariant.WRONG_FAMILY:
            return (
                f"{call} is given {memory}, which another family of calls allocated",
                "freed here, by the wrong function",
            )
        if variant is FactVariant.IMPORTED:
            return f"{call} is given {memory}, which belongs to another process", "freed here, instead of closed"
        return f"{call} is given an address at which nothing is allocated", "freed here"


class ForeignContextFree(Rule):
    """SS203."""

    code = RuleCode.FOREIGN_CONTEXT_FREE
    definition = "Memory is freed while a context other than its own is current."
    severity = Severity.WARNING
    notes = (FactVariant.FOREIGN_PRIMARY,)  # the runtime itself switches between these
    varies = "warning; note if both contexts are primary ones"
    without_fix = "which context should be current there is the program's decision"
    without_witness = "what the call does is the driver's choice in every execution"

    def wording(self, case: Case) -> Wording:
        free = case.operation
        related: list[Related] = [*case.allocated()]
        for operation in case.all_of(RelatedRole.CREATE, RelatedRole.OTHER, RelatedRole.SYNC):
            current = operation.kind is OperationKind.CONTEXT_CURRENT
            text = "(this context is current from here on)" if current else f"({case.call(operation)})"
            related.append(case.related(RelatedRole.OTHER, operation, text))
        related.append(case.related(RelatedRole.FREE, free, "freed here, with another context current"))
        return Wording(
            message=f"{case.memory()} is freed while a context other than its own is current",
            related=tuple(related),
            contract=case.contract("context"),
            observed=case.observed("context"),
            witness=(
                f"{case.memory()} belongs to one context",
                f"{case.call(free)} runs with another one current",
                "whether it frees, waits or fails is the driver's choice",
            ),
            fix=f"{case.before(free, 'the free')}: make the context current that {case.memory()} was allocated in",
        )


class OrderDroppingFree(Rule):
    """SS206."""

    code = RuleCode.ORDER_DROPPING_FREE
    definition = (
        "A plain free of stream-ordered memory: legal once its uses are complete, but the pool loses its order."
    )
    severity = Severity.NOTE
    without_witness = "nothing goes wrong: the memory is freed, and only the pool loses its order"

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The free is ordered in the stream of the use, or of the allocation."""
        use = case.first(RelatedRole.USE, RelatedRole.CREATE, RelatedRole.OTHER)
        streams = (use, case.first(RelatedRole.ALLOC))
        return tuple(step(Remedy.FREE_ON_STREAM, case.operation, each) for each in streams if each and each.stream)

    def wording(self, case: Case) -> Wording:
        free, made = case.operation, case.first(RelatedRole.ALLOC)
        plain_free = case.platform.release(MemoryKind.PLAIN)
        stream = case.stream_argument(made)
        at = f"line {case.line(free)}: " if case.line(free) else ""
        return Wording(
            message=f"{case.memory()} is stream-ordered memory, and `{plain_free}` drops its order",
            related=(
                *case.allocated(),
                *(case.used(operation) for operation in case.all_of(RelatedRole.USE)),
                case.related(RelatedRole.FREE, free, "freed here, outside the order of any stream"),
            ),
            contract=case.contract("pool"),
            observed=case.observed("pool"),
            fix=at + case.phrase("free_async", memory=case.bare_memory(), stream=stream),
        )
