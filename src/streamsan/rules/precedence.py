"""One cause, one finding: what merely follows from a finding that is reported stays silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamsan.findings.finding import Finding, Place
from streamsan.order.facts import Fact
from streamsan.rules.errors import NO_SUCH_HANDLE, is_capture_error
from streamsan.vocabulary import RelatedRole

USE_BEFORE_ALLOC = 103
STALE_HANDLE = 205
CONFLICT = "SS109"
FAILED = "SS601"
ILLEGAL_IN_CAPTURE = "SS302"
SAY_NO_REASON = frozenset({FAILED, "SS401", "SS402", "SS501", "SS502", "SS503", "SS504", "SS603"})
"""codes whose findings say nothing on why a call at their place fails"""

OUTRANKS: dict[str, frozenset[str]] = {
    "SS204": frozenset(
        {"SS101", "SS102", "SS103", "SS106", "SS107", "SS201", "SS202", "SS203", "SS205", "SS206", "SS501"}
    ),
    "SS303": frozenset({"SS101", "SS102", "SS201", "SS304"}),
    "SS101": frozenset({"SS102", "SS103"}),
    "SS102": frozenset({"SS107", "SS501", "SS206"}),
    "SS201": frozenset({"SS101", "SS102", "SS107", "SS203", "SS206", "SS304", "SS501"}),
    "SS202": frozenset({"SS102", "SS107", "SS203", "SS206", "SS501"}),
    "SS104": frozenset({"SS107"}),
    "SS108": frozenset({"SS107"}),
    "SS302": frozenset({"SS306"}),
    "SS304": frozenset({"SS101", "SS102", "SS103"}),
    "SS305": frozenset({"SS401", "SS402"}),
    "SS306": frozenset({"SS202", "SS304"}),
    "SS402": frozenset({"SS401"}),
}
"""Codes that a finding of the key's code makes silent at the same operations."""

OUTRANKS_FOR_MEMORY: dict[str, frozenset[str]] = {
    "SS301": frozenset({"SS305", "SS401", "SS402"}),
}
"""Codes that a finding of the key's code makes silent for the same memory, wherever they are reported."""

OUTRANKS_FOR_USE: dict[str, frozenset[str]] = {
    "SS101": frozenset({CONFLICT}),
    "SS102": frozenset({CONFLICT}),
    "SS103": frozenset({CONFLICT}),
    "SS304": frozenset({CONFLICT}),
}
"""Codes that a finding of the key's code makes silent for the same memory and a use in common: one order is missing."""


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
        causes.setdefault(finding.location.place, []).append(finding)
    for_memory = [f for f in findings if f.code in OUTRANKS_FOR_MEMORY or f.code in OUTRANKS_FOR_USE]
    broken_capture = any(finding.code == ILLEGAL_IN_CAPTURE for finding in findings)
    return [
        finding
        for finding in findings
        if not (
            _failure_is_explained(finding, causes, broken_capture)
            if finding.code == FAILED
            else _is_explained(finding, causes) or any(_explains_for_memory(cause, finding) for cause in for_memory)
        )
    ]


def _failure_is_explained(failure: Finding, causes: Mapping[Place, Sequence[Finding]], broken_capture: bool) -> bool:
    """Tell whether another finding says why a call fails, however mildly: one at the call, or the capture's mistake."""
    if failure.location.line and any(other.code not in SAY_NO_REASON for other in causes[failure.location.place]):
        return True
    # After a capture broke, calls return its own errors, or there is no graph that they could be given.
    status = failure.basis.status
    return broken_capture and (is_capture_error(status) or status in NO_SUCH_HANDLE)


def _is_explained(finding: Finding, causes: Mapping[Place, Sequence[Finding]]) -> bool:
    # A cause is reported at the consequence's own place, or at one of its operations.
    places = {finding.location.place, *finding.basis.operations}
    return any(_explains(cause, finding) for place in places for cause in causes.get(place, ()) if cause is not finding)


def _explains(cause: Finding, consequence: Finding) -> bool:
    if consequence.code not in OUTRANKS.get(cause.code, ()) or cause.strength > consequence.strength:
        return False
    if cause.location.place == consequence.location.place:
        return cause.location.line != 0  # else it is not known that they are at one place
    # SS101 is reported at the use and SS102 at the free: one pair of operations, named from both ends.
    both = {cause.location.place, consequence.location.place}
    return both <= cause.basis.operations and both <= consequence.basis.operations


def _explains_for_memory(cause: Finding, consequence: Finding) -> bool:
    if cause.strength > consequence.strength or cause.basis.memory.isdisjoint(consequence.basis.memory):
        return False
    if consequence.code in OUTRANKS_FOR_MEMORY.get(cause.code, ()):
        return True
    if consequence.code not in OUTRANKS_FOR_USE.get(cause.code, ()):
        return False
    uses = [_uses(finding) for finding in (cause, consequence)]
    return not uses[0].isdisjoint(uses[1])


def _uses(finding: Finding) -> frozenset[Place]:
    return (finding.basis.causes | {finding.location.place}) - finding.basis.memory
