"""Facts of one place in the source, whichever chain of calls led there.

The engine knows sites, and a site is a place together with the calls it is nested in. What is said to a programmer is
about the place: a wait in a helper is redundant only if it is so each time the helper is called, and a mistake in a
function that calls itself is one mistake, not one for each depth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.facts import Fact
from streamsan.order.framework_memory import keeper_of
from streamsan.vocabulary import RuleCode

MOST_EXAMPLES = 4
"""Facts that are kept of those that differ in nothing but the calls that led there."""

PlaceKey = tuple[str, int, int]
"""file, line, column; where the line is not known, an instruction of a module ("#3", offset, 0), or the site alone
("", minus its number, 0)"""


def place_of(trace: AnalysedTrace, number: int) -> PlaceKey:
    """Return where a site is, without the calls that it is nested in."""
    site = trace.site(number)
    if site.line:
        return site.file, site.line, site.column
    return (f"#{site.module}", site.offset, 0) if site.module else ("", -number, 0)


def by_place(trace: AnalysedTrace, facts: Iterable[Fact], needed_waits: Collection[tuple[int, int]]) -> list[Fact]:
    """Return facts with those of the same places aggregated, and with no wait dominated that is needed at its place.

    `needed_waits` are sites and APIs of waits that brought something. Of facts that only differ in the calls that led
    to their places, the most certain ones are kept, at most MOST_EXAMPLES; the first of them counts them all. What a
    library does by itself outside of main is one fact, wherever in the library it is.
    """
    needed = {(place_of(trace, site), api) for site, api in needed_waits}
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for fact in facts:
        operation = fact.operation
        if fact.code is RuleCode.REDUNDANT_SYNC and (place_of(trace, operation.site), operation.api) in needed:
            continue
        groups.setdefault(_key(trace, fact), []).append(fact)
    result = [fact for group in groups.values() for fact in _examples(group)[: _most_examples(trace, group[0])]]
    return sorted(result, key=lambda fact: (fact.operation.sequence, fact.code))


def _examples(group: list[Fact]) -> list[Fact]:
    if len(group) == 1:
        return group
    ordered = sorted(
        group,
        key=lambda fact: (
            *(fact.unseen, fact.assumed, not fact.likely, fact.may_be_equal, fact.rests_on, fact.operation.sequence),
        ),
    )
    count, cost = sum(fact.count for fact in group), sum(fact.cost_ns for fact in group)
    return [replace(ordered[0], count=count, cost_ns=cost), *ordered[1:MOST_EXAMPLES]]


def _librarys(trace: AnalysedTrace, fact: Fact) -> str:
    """Return the library that does by itself, outside of main, what a fact is about, or keeps memory; else ""."""
    if fact.code is RuleCode.CALL_OUTSIDE_MAIN:
        return trace.library_of(fact.operation.site)
    return keeper_of(trace, fact)


def _most_examples(trace: AnalysedTrace, fact: Fact) -> int:
    return 1 if _librarys(trace, fact) else MOST_EXAMPLES


def _key(trace: AnalysedTrace, fact: Fact) -> tuple[object, ...]:
    if library := _librarys(trace, fact):
        return fact.code, fact.variant, library
    named = [(0, fact.operation.site, fact.operation.api)]
    named += [(int(role), operation.site, operation.api) for role, operation in fact.related]
    if fact.allocation is not None:
        named.append((0, fact.allocation.site, 0))
    # A site's label is the kernel's or the variable's name, or the reason why it was not understood.
    parts = tuple((role, place_of(trace, site), trace.site(site).label, api) for role, site, api in named)
    return fact.code, fact.variant, fact.allocation is None, parts
