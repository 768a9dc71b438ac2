"""SS501: frees that make the whole context wait."""

from __future__ import annotations

from streamsan.findings.time_words import time_in_words
from streamsan.rules.case import Case
from streamsan.rules.rule import CostRule, Wording
from streamsan.vocabulary import FactVariant, RelatedRole, RuleCode

_HOST_FREES = {FactVariant.FREE_PINNED: "pinned", FactVariant.FREE_UNREGISTER: "unregister"}


class BlockingFree(CostRule):
    """SS501."""

    code = RuleCode.BLOCKING_FREE
    definition = "A free that makes the host wait for all work of the context."
    without_fix = "how long the memory is kept is the program's decision"

    def wording(self, case: Case) -> Wording:
        free = case.operation
        uses = case.all_of(RelatedRole.USE, RelatedRole.OTHER)
        call = case.call(free)
        waits = f"waits for {case.does(uses[0])}" if uses else "waits for pending work"
        cost = f", {time_in_words(case.fact.cost_ns)} in all" if case.fact.cost_ns > 0 else ""
        kind = _HOST_FREES.get(case.fact.variant, "")
        return Wording(
            message=f"{call} of {case.memory()} {waits} and all other work of the context{cost}",
            related=(
                *case.allocated(),
                *(case.related(RelatedRole.USE, operation, "this work is pending") for operation in uses),
                case.related(RelatedRole.FREE, free, "the host waits here"),
            ),
            contract=case.contract("host" if kind else "free"),
            observed=case.observed(kind or "free"),
            fix="keep the buffer, and free it when the stream is idle"
            if kind
            else f"{case.phrase('stream_ordered')} in the stream of the last use; or keep the buffer and free it once",
        )
