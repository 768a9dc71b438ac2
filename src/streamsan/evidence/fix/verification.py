"""Analyses an edited trace again: is the finding gone, and is none new?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from streamsan.evidence.fix.edited_trace import FIRST_INSERTED_SITE, INSERTED, Analysed, EditedTrace
from streamsan.findings.finding import Finding, same_finding
from streamsan.findings.same_findings import SameFindings
from streamsan.order import engine
from streamsan.order.engine import Requirement
from streamsan.order.facts import Fact, Operation
from streamsan.order.wide_waits import facts_on_waits
from streamsan.rules.case import Names
from streamsan.rules.every_rule import RULES
from streamsan.rules.pipeline import finding_of, findings_of


class Outcome(Struct, frozen=True):
    """What an edit did."""

    gone: bool
    """the finding that it was made for is gone"""
    new: tuple[Finding, ...]
    """findings that were not there before, or are stronger now"""

    @property
    def good(self) -> bool:
        """Whether the finding is gone, and none is new."""
        return self.gone and not self.new

    @property
    def spared(self) -> tuple[Finding, ...] | None:
        """New notes on cost, as on waits that nothing needs any more; None where something else is against the edit."""
        if not self.gone or not all(_is_spared(finding) for finding in self.new):
            return None
        return self.new


def _is_spared(finding: Finding) -> bool:
    return is_on_cost(finding) and finding.location.file != INSERTED


def is_on_cost(finding: Finding) -> bool:
    """Tell whether a finding is a note on what something costs: no reason to leave an order out."""
    return RULES[finding.code].is_on_cost


class MadeFindings:
    """The findings of one trace's facts, each made once, whichever part or edit of the trace has its fact."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._made: dict[tuple[object, ...], Finding] = {}

    def of(self, trace: Names, fact: Fact) -> Finding:
        """Return the finding of a fact of a trace that has the original's sites, and those of what was put in."""
        operations = (fact.operation, *(operation for _, operation in fact.related))
        if any(operation.site > FIRST_INSERTED_SITE for operation in operations):
            return finding_of(trace, fact)
        key = _identity(fact, operations)
        if key not in self._made:
            self._made[key] = finding_of(self._names, fact)
        return self._made[key]


class Verification:
    """The findings of one trace as it is, to hold those of its edits against.

    `made` are the findings of the trace that this one is a part of.
    """

    def __init__(
        self, trace: Analysed, known: Sequence[Finding] | None = None, made: MadeFindings | None = None
    ) -> None:
        self._made = made or MadeFindings(trace)
        if known is None:
            analysis = engine.analyse(trace)
            known = findings_of(trace, [*analysis.facts, *facts_on_waits(trace, analysis)], self._made.of)
        self.before = SameFindings(known)

    def of(self, edited: EditedTrace, finding: Finding) -> Outcome:
        """Analyse an edited trace for a finding of the trace."""
        analysis = engine.analyse(edited)
        outcome = compare(self.before, findings_of(edited, analysis.facts, self._made.of), finding)
        if not outcome.good:
            return outcome
        # Asking whether a wait is needed takes an analysis for each: only where all else speaks for the edit. An edit
        # without a wait of the host makes none too wide.
        waits = facts_on_waits(edited, analysis, wide=edited.waits)
        if not waits:
            return outcome
        return compare(self.before, findings_of(edited, [*analysis.facts, *waits], self._made.of), finding)

    def requirements(self, trace: Analysed) -> frozenset[Requirement]:
        """Return the required orders of a trace that no promise gives."""
        return engine.unmet_requirements(trace.threads, trace.packed())


def _identity(fact: Fact, operations: Sequence[Operation]) -> tuple[object, ...]:
    """Return what tells a fact about operations of the original trace from others."""
    same = tuple((each.sequence, each.site, each.kind, each.stream, each.flags, each.status) for each in operations)
    doubt = (fact.rests_on, fact.assumed, fact.may_be_equal, fact.unseen, fact.likely, fact.count)
    return (fact.code, fact.variant, *doubt, tuple(role for role, _ in fact.related), fact.touches, *same)


def compare(before: SameFindings, after: Sequence[Finding], finding: Finding) -> Outcome:
    """Hold the findings after an edit against those before it."""
    gone = not any(same_finding(finding, other) for other in after)
    new = tuple(
        other
        for other in after
        if not any(_no_stronger(each, other) for each in before.same(other)) and not same_finding(finding, other)
    )
    return Outcome(gone, new)


def _no_stronger(known: Finding, other: Finding) -> bool:
    """A wait that was redundant for one reason may be so for another."""
    return RULES[known.code].finds_needless or known.strength <= other.strength
