"""From facts to findings: each fact by its rule, then one finding for each cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streamsan.findings.finding import Finding
from streamsan.findings.same_findings import merge
from streamsan.order.facts import Fact
from streamsan.rules.case import Case, Names
from streamsan.rules.every_rule import rule_of
from streamsan.rules.pool_calls import seen_by_callers
from streamsan.rules.precedence import first_of_each_cause, without_consequences


def finding_of(trace: Names, fact: Fact) -> Finding:
    """Return what its rule says of a fact."""
    return rule_of(fact).finding(Case(trace, seen_by_callers(trace, fact)))


def findings_of(
    trace: Names, facts: Iterable[Fact], make: Callable[[Names, Fact], Finding] = finding_of
) -> list[Finding]:
    """Return the findings of a trace's facts, sorted by place. `make` may give findings that were made before."""
    held = (fact for fact in first_of_each_cause(facts) if rule_of(fact).holds(Case(trace, fact)))
    return without_consequences(merge(make(trace, fact) for fact in held))
