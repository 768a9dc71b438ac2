"""One cause, one finding: what merely follows from a finding that is reported stays silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamsan.findings.finding import Finding, Place
from streamsan.order.facts import Fact
from streamsan.rules.catalogue import RULES, rule_of


def first_of_each_cause(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts without those that repeat a mistake further down: the most certain speaks, of these the first.

    Which facts repeat another one their rules say (`Rule.cause`).
    """
    kept: list[Fact] = []
    causes: set[tuple[object, ...]] = set()
    for fact in sorted(facts, key=lambda fact: (_doubt(fact), fact.operation.sequence, fact.code)):
        cause = rule_of(fact).cause(fact)
        if cause is not None and (fact.code, *cause) in causes:
            continue
        if cause is not None:
            causes.add((fact.code, *cause))
        kept.append(fact)
    return kept


def _doubt(fact: Fact) -> tuple[bool, bool, int]:
    return fact.assumed, fact.may_be_equal, int(fact.rests_on)


def without_consequences(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that another one, at the same operations and no weaker, already explains."""
    causes: dict[Place, list[Finding]] = {}
    for finding in findings:
        causes.setdefault(finding.location.place, []).append(finding)
    for_memory = [
        finding
        for finding in findings
        if RULES[finding.code].outranks_for_memory or RULES[finding.code].outranks_for_use
    ]
    return [
        finding
        for finding in findings
        if not (
            _failure_is_explained(finding, causes, findings)
            if RULES[finding.code].is_failure
            else _is_explained(finding, causes) or any(_explains_for_memory(cause, finding) for cause in for_memory)
        )
    ]


def _failure_is_explained(
    failure: Finding, causes: Mapping[Place, Sequence[Finding]], findings: Sequence[Finding]
) -> bool:
    """Tell whether another finding says why a call fails, however mildly: one at the call, or what broke it before."""
    location = failure.location
    if location.line and any(RULES[other.code].explains_failure for other in causes[location.place]):
        return True
    return any(RULES[code].breaks(failure.basis.status) for code in {other.code for other in findings})


def _is_explained(finding: Finding, causes: Mapping[Place, Sequence[Finding]]) -> bool:
    # A cause is reported at the consequence's own place, or at one of its operations.
    places = {finding.location.place, *finding.basis.operations}
    return any(_explains(cause, finding) for place in places for cause in causes.get(place, ()) if cause is not finding)


def _explains(cause: Finding, consequence: Finding) -> bool:
    if RULES[consequence.code].code not in RULES[cause.code].outranks or cause.strength > consequence.strength:
        return False
    if cause.location.place == consequence.location.place:
        return cause.location.line != 0  # else it is not known that they are at one place
    # SS101 is reported at the use and SS102 at the free: one pair of operations, named from both ends.
    both = {cause.location.place, consequence.location.place}
    return both <= cause.basis.operations and both <= consequence.basis.operations


def _explains_for_memory(cause: Finding, consequence: Finding) -> bool:
    if cause.strength > consequence.strength or cause.basis.memory.isdisjoint(consequence.basis.memory):
        return False
    rule, code = RULES[cause.code], RULES[consequence.code].code
    if code in rule.outranks_for_memory:
        return True
    return code in rule.outranks_for_use and not _uses(cause).isdisjoint(_uses(consequence))


def _uses(finding: Finding) -> frozenset[Place]:
    return (finding.basis.causes | {finding.location.place}) - finding.basis.memory
