"""SS502: memory that a loop allocates and frees again and again."""

from __future__ import annotations

from streamsan.findings.finding import Location
from streamsan.rules.case import Case
from streamsan.rules.rule import CostRule, Wording
from streamsan.vocabulary import MemoryKind, RelatedRole, RuleCode


class AllocationChurn(CostRule):
    """SS502. Reported at the allocation."""

    code = RuleCode.ALLOCATION_CHURN
    definition = "A hot loop allocates and frees the same memory again and again."
    without_fix = "how long the memory is kept is the program's decision"

    def location(self, case: Case) -> Location:
        return case.allocation_location() or case.location(case.operation)

    def wording(self, case: Case) -> Wording:
        free = case.first(RelatedRole.FREE)
        memory, count = case.memory(), case.fact.count
        kind = case.allocation.kind if case.allocation is not None else MemoryKind.UNKNOWN
        times = f" {count} times" if count > 1 else " again and again"
        related = [*case.allocated()]
        related.extend(case.others(RelatedRole.SYNC))
        if free is not None:
            related.append(case.freed(free, "for the next turn to allocate it again"))
        sort = "plain"
        if kind is MemoryKind.STREAM_ORDERED:
            sort = "pool"
            fix = f"allocate once before the loop; or {case.phrase('keep_pool')}"
            turn = "the host waits: the pool, which keeps nothing by default, gives the memory back to the system"
        elif kind in (MemoryKind.PINNED, MemoryKind.REGISTERED):
            sort = "host"
            fix = "allocate once before the loop, and free after it"
            turn = "it frees the memory again"
        else:
            fix = f"allocate once before the loop; or {case.phrase('stream_ordered')} in the stream that uses it"
            turn = "the free waits for all work of the context"
        waits = ", with a wait in each turn" if sort == "pool" else ""
        return Wording(
            message=f"{memory} is allocated and freed{times} in a loop{waits}",
            related=tuple(related),
            contract=case.contract(sort),
            observed=case.observed(sort),
            witness=(
                f"a turn of the loop allocates {memory}",
                turn,
                "the next turn does the same",
            ),
            fix=fix,
        )
