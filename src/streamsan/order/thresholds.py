"""Facts that hold, and are not worth saying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from streamsan.order.facts import Fact
from streamsan.vocabulary import MemoryKind, RuleCode

ROUNDS = 8
"""Fewer rounds of allocation and free are no hot loop in a run."""
ROUNDS_IN_SOURCE = 4
"""The reader runs a loop of unknown length so often (see `Limits.unknown_iterations`), and nothing in the trace tells
it from one of known length. Its sites tell calls apart by all that they are nested in: so many rounds at the same two
sites are a loop."""
AGAIN_AND_AGAIN = 1
"""The count that stands for one nobody knows."""
COSTS = (RuleCode.BLOCKING_FREE, RuleCode.ALLOCATION_CHURN, RuleCode.WAIT_TOO_WIDE, RuleCode.REDUNDANT_SYNC)
POOL_SETTINGS = ("cudaMemPoolSetAttribute", "cuMemPoolSetAttribute")
"""A program that calls these may have set how much memory a pool keeps; of which pool is not known."""


def worth_saying(facts: Iterable[Fact], origin: str) -> list[Fact]:
    """Return the facts without rounds that are too few, and without failures that another fact explains."""
    every = list(facts)
    rounds = ROUNDS_IN_SOURCE if origin == "source" else ROUNDS
    explained = {
        (fact.operation.site, fact.operation.api)
        for fact in every
        if fact.code < RuleCode.UNCHECKED_FAILURE and fact.code not in COSTS
    }

    def is_worth(fact: Fact) -> bool:
        if fact.code is RuleCode.UNCHECKED_FAILURE:
            return (fact.operation.site, fact.operation.api) not in explained
        return fact.code is not RuleCode.ALLOCATION_CHURN or fact.count >= rounds

    return list(filter(is_worth, every))


def without_kept_pools(facts: Iterable[Fact], apis: Sequence[str]) -> list[Fact]:
    """Return the facts without rounds of stream-ordered memory where the program sets its pools up itself."""
    if not any(api.startswith(POOL_SETTINGS) for api in apis):
        return list(facts)
    return [fact for fact in facts if fact.code is not RuleCode.ALLOCATION_CHURN or not _is_of_pool(fact)]


def _is_of_pool(fact: Fact) -> bool:
    return fact.allocation is not None and fact.allocation.kind is MemoryKind.STREAM_ORDERED


def uncounted(facts: Iterable[Fact], origin: str) -> list[Fact]:
    """Return the facts without counts of rounds in source: the reader ends long and unknown loops early."""
    if origin != "source":
        return list(facts)
    return [replace(fact, count=AGAIN_AND_AGAIN) if fact.code is RuleCode.ALLOCATION_CHURN else fact for fact in facts]
