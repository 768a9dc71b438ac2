"""One cause, one finding: what merely follows from a finding that is reported stays silent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamsan.findings.finding import Finding, Place
from streamsan.order.facts import Fact
from streamsan.rules.every_rule import RULES, rule_of


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
    causes = _Causes(findings)
    return [
        finding
        for finding in findings
        if not (
            causes.explain_failure(finding)
            if RULES[finding.code].is_failure
            else causes.explain_at_place(finding) or causes.explain_for_memory(finding)
        )
    ]


class _Causes:
    """Findings by what they may explain: a finding is held against those only that say something about its code."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._codes: set[str] = set()
        self._at: dict[Place, dict[str, list[Finding]]] = {}
        self._of_memory: dict[Place, list[Finding]] = {}
        self._of_use: dict[tuple[Place, Place], list[Finding]] = {}
        for finding in findings:
            rule = RULES[finding.code]
            self._codes.add(finding.code)
            self._at.setdefault(finding.location.place, {}).setdefault(finding.code, []).append(finding)
            for place in finding.basis.memory:
                if rule.outranks_for_memory:
                    self._of_memory.setdefault(place, []).append(finding)
                for use in _uses(finding) if rule.outranks_for_use else ():
                    self._of_use.setdefault((place, use), []).append(finding)

    def explain_failure(self, failure: Finding) -> bool:
        """Tell whether a finding says why a call fails, however mildly: one at the call, or what broke it before."""
        location = failure.location
        if location.line and any(RULES[code].explains_failure for code in self._at[location.place]):
            return True
        return any(RULES[code].breaks(failure.basis.status) for code in self._codes)

    def explain_at_place(self, finding: Finding) -> bool:
        """Tell whether a cause is reported at the consequence's own place, or at one of its operations."""
        outranking = _OUTRANKING[finding.code]
        return bool(outranking) and any(
            _explains(cause, finding)
            for place in {finding.location.place, *finding.basis.operations}
            for code, causes in self._at.get(place, {}).items()
            if code in outranking
            for cause in causes
            if cause is not finding
        )

    def explain_for_memory(self, finding: Finding) -> bool:
        """Tell whether a finding about the same memory explains one, or about a use of it in common."""
        memory, code = finding.basis.memory, finding.code
        if code in _OUTRANKED_FOR_MEMORY and any(
            RULES[code].code in RULES[cause.code].outranks_for_memory and cause.strength <= finding.strength
            for place in memory
            for cause in self._of_memory.get(place, ())
        ):
            return True
        return code in _OUTRANKED_FOR_USE and any(
            RULES[code].code in RULES[cause.code].outranks_for_use and cause.strength <= finding.strength
            for place in memory
            for use in _uses(finding)
            for cause in self._of_use.get((place, use), ())
        )


def _explains(cause: Finding, consequence: Finding) -> bool:
    if cause.strength > consequence.strength:
        return False
    if cause.location.place == consequence.location.place:
        return cause.location.line != 0  # else it is not known that they are at one place
    # SS101 is reported at the use and SS102 at the free: one pair of operations, named from both ends.
    both = {cause.location.place, consequence.location.place}
    return both <= cause.basis.operations and both <= consequence.basis.operations


def _uses(finding: Finding) -> frozenset[Place]:
    return (finding.basis.causes | {finding.location.place}) - finding.basis.memory


_OUTRANKING = {
    code: frozenset(other for other, cause in RULES.items() if rule.code in cause.outranks)
    for code, rule in RULES.items()
}
"""code -> codes of the findings from which one of this code may merely follow, at the same operations"""
_OUTRANKED_FOR_MEMORY = frozenset(f"SS{int(code)}" for rule in RULES.values() for code in rule.outranks_for_memory)
_OUTRANKED_FOR_USE = frozenset(f"SS{int(code)}" for rule in RULES.values() for code in rule.outranks_for_use)
