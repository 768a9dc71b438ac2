"""One cause, one finding: what merely follows from a finding that is reported stays silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamsan.findings import Finding, Place
from streamsan.order.facts import Fact
from streamsan.vocabulary import RelatedRole

USE_BEFORE_ALLOC = 103
STALE_HANDLE = 205

OUTRANKS: dict[str, frozenset[str]] = {
    "SS204": frozenset(
        {"SS101", "SS102", "SS103", "SS106", "SS107", "SS201", "SS202", "SS203", "SS205", "SS206", "SS501"}
    ),
    "SS101": frozenset({"SS102", "SS103"}),
    "SS102": frozenset({"SS107", "SS501", "SS206"}),
    "SS201": frozenset({"SS101", "SS102", "SS107", "SS203", "SS206", "SS501"}),
    "SS202": frozenset({"SS102", "SS107", "SS203", "SS206", "SS501"}),
    "SS104": frozenset({"SS107"}),
    "SS108": frozenset({"SS107"}),
    "SS305": frozenset({"SS401"}),
}
"""Codes that a finding of the key's code makes silent at the same operations."""


def first_of_each_cause(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts without those that repeat a mistake further down: the most certain speaks, of these the first.

    What follows an unordered first use in its stream is unordered as well (SS103), and whoever destroyed a handle too
    early has destroyed it for all later uses (SS205).
    """
    kept: list[Fact] = []
    spoken: set[tuple[object, ...]] = set()
    ordered = sorted(facts, key=lambda fact: (_doubt(fact), fact.operation.sequence, fact.code))
    for fact in ordered:
        cause = _cause(fact)
        if cause is not None and cause in spoken:
            continue
        if cause is not None:
            spoken.add(cause)
        kept.append(fact)
    return kept


def _doubt(fact: Fact) -> tuple[bool, bool, int]:
    return fact.assumed, fact.may_be_equal, int(fact.rests_on)


def _cause(fact: Fact) -> tuple[object, ...] | None:
    if fact.code == USE_BEFORE_ALLOC and fact.allocation is not None and fact.allocation.site:
        return fact.code, fact.allocation.site, fact.operation.stream, fact.operation.stream_site
    if fact.code == STALE_HANDLE:
        roles = (RelatedRole.CREATE, RelatedRole.DESTROY, RelatedRole.RESET)
        sites = tuple(operation.site for role, operation in fact.related if role in roles)
        return (fact.code, fact.variant, *sites) if any(sites) else None
    return None


def without_consequences(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that another one, at the same operations and no weaker, already explains."""
    causes: dict[Place, list[Finding]] = {}
    for finding in findings:
        if finding.code in OUTRANKS:
            causes.setdefault(finding.location.place, []).append(finding)
    return [finding for finding in findings if not _is_explained(finding, causes)]


def _is_explained(finding: Finding, causes: Mapping[Place, Sequence[Finding]]) -> bool:
    # A cause is reported at the consequence's own place, or at one of its operations.
    places = {finding.location.place, *finding.basis.operations}
    return any(_explains(cause, finding) for place in places for cause in causes.get(place, ()) if cause is not finding)


def _explains(cause: Finding, consequence: Finding) -> bool:
    if consequence.code not in OUTRANKS.get(cause.code, ()) or cause.strength > consequence.strength:
        return False
    if cause.location.place == consequence.location.place:
        return True
    # SS101 is reported at the use and SS102 at the free: one pair of operations, named from both ends.
    both = {cause.location.place, consequence.location.place}
    return both <= cause.basis.operations and both <= consequence.basis.operations
