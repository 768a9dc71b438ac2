"""Facts that hold, and are not worth saying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from streamsan.order.facts import Fact
from streamsan.vocabulary import MemoryKind

UNCHECKED = 601
CHURN = 502
ROUNDS = 8
"""Fewer rounds of allocation and free are no hot loop in a run."""
ROUNDS_IN_SOURCE = 4
"""The reader runs a loop of unknown length so often (see `Limits.unknown_iterations`), and nothing in the trace tells
it from one of known length. Its sites tell calls apart by all that they are nested in: so many rounds at the same two
sites are a loop."""
AGAIN_AND_AGAIN = 1
"""The count that stands for one nobody knows."""
COSTS = range(500, 600)
POOL_SETTINGS = ("cudaMemPoolSetAttribute", "cuMemPoolSetAttribute")
"""A program that calls these may have set how much memory a pool keeps; of which pool is not known."""


def worth_saying(facts: Iterable[Fact], origin: str) -> list[Fact]:
    """Return the facts without rounds that are too few, and without failures that another fact explains."""
    every = list(facts)
    rounds = ROUNDS_IN_SOURCE if origin == "source" else ROUNDS
    explained = {
        (fact.operation.site, fact.operation.api) for fact in every if fact.code < UNCHECKED and fact.code not in COSTS
    }
    return [
        fact
        for fact in every
        if not (fact.code == CHURN and fact.count < rounds)
        and not (fact.code == UNCHECKED and (fact.operation.site, fact.operation.api) in explained)
    ]


def without_kept_pools(facts: Iterable[Fact], apis: Sequence[str]) -> list[Fact]:
    """Return the facts without rounds of stream-ordered memory where the program sets its pools up itself."""
    if not any(api.startswith(POOL_SETTINGS) for api in apis):
        return list(facts)
    return [
        fact
        for fact in facts
        if not (
            fact.code == CHURN and fact.allocation is not None and fact.allocation.kind is MemoryKind.STREAM_ORDERED
        )
    ]


def uncounted(facts: Iterable[Fact], origin: str) -> list[Fact]:
    """Return the facts without counts of rounds in source: the reader ends long and unknown loops early."""
    if origin != "source":
        return list(facts)
    return [replace(fact, count=AGAIN_AND_AGAIN) if fact.code == CHURN else fact for fact in facts]
