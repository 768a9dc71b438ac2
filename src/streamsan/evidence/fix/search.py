"""The search for an edit of a trace: single steps first, then steps that put right what others bring up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from streamsan.evidence.fix.candidates import candidates, rank
from streamsan.evidence.fix.edited_trace import INSERTED, EditableTrace
from streamsan.evidence.fix.order_steps import EventBetween, Place
from streamsan.evidence.fix.reasons import why_left_alone
from streamsan.evidence.fix.steps import Step
from streamsan.evidence.fix.verification import Outcome
from streamsan.findings.finding import Finding
from streamsan.rules.case import Case, case_of
from streamsan.rules.every_rule import RULES, rule_of

MOST_TRIES = 20
"""edits that are tried for one finding"""
MOST_STEPS = 3
"""steps of one edit: what one step brings up, another may put right"""

Tried = Callable[[EditableTrace, Step, Finding], tuple[EditableTrace, Outcome] | None]
"""makes a step for a finding and analyses what comes out; None where there is no place for it, or no budget left"""
Written = Callable[[Step], str]
"""a step -> what the program's text would have of it, "" where it cannot be written"""
Attempt = tuple[tuple[Step, ...], EditableTrace, Outcome]
"""steps that were made, the trace that they gave, and what came of it"""


class _Waiting(Struct, frozen=True):
    """An edit that does, while one of its rank may do better."""

    rank: int
    apart: bool
    has_notes: bool
    steps: tuple[Step, ...]
    spared: tuple[Finding, ...]


class Search:
    """The search for an edit that makes one finding go away and brings no other.

    Where the program's text is known, an edit that can be written there comes before one that cannot.
    """

    def __init__(self, trace: EditableTrace, tried: Tried, finding: Finding, written: Written | None = None) -> None:
        self._trace = trace
        self._tried = tried
        self._finding = finding
        self._written = written
        self._not_written: tuple[tuple[Step, ...], tuple[Finding, ...]] | None = None
        self._tries = 0
        self._waiting: list[_Waiting] = []
        self.spared: tuple[Finding, ...] = ()
        """waits that nothing needs any more after the edit that was found"""
        self.outcomes: list[Outcome] = []
        """what the edits did that did not do"""

    def run(self, case: Case) -> tuple[Step, ...] | None:
        """Return the steps of the first edit that does, None where none does."""
        pending: list[Attempt] = []
        for step in candidates(case, self._trace):
            if self._waiting and rank(step) > self._waiting[0].rank:
                break
            # With a step that does, only those are worth an analysis that can be written.
            if self._not_written is not None and not self._is_written(step):
                continue
            found = self._try((), self._trace, step, pending)
            if found:
                return found
        if self._waiting:
            return self._best()
        if self._not_written is not None:
            found, self.spared = self._not_written
            return found
        # Single steps did not do: put right what they bring up.
        while pending:
            steps, trace, outcome = pending.pop(0)
            for following in _following(outcome, trace):
                found = self._try(steps, trace, following, pending)
                if found:
                    return found
        if self._waiting:
            return self._best()
        return None

    def _try(
        self, steps: tuple[Step, ...], base: EditableTrace, step: Step, pending: list[Attempt]
    ) -> tuple[Step, ...] | None:
        if self._tries >= MOST_TRIES:
            return None
        self._tries += 1
        tried = self._tried(base, step, self._finding)
        if tried is None:
            return None
        trace, outcome = tried
        done = (*steps, step)
        if not steps and outcome.spared is not None and not self._is_written(step):
            self._not_written = self._not_written or (done, outcome.spared)
            return None
        # In a text, an event with its two calls apart takes more than one with both at one place: it comes behind.
        apart = self._written is not None and not steps and isinstance(step, EventBetween) and step.place is Place.APART
        if outcome.good and not apart:
            return done
        if outcome.spared is not None:
            # A wait that nothing needs any more stays: the program may count on it elsewhere. Of edits of one rank, one
            # that brings up no note comes first.
            self._waiting.append(_Waiting(rank(step), apart, bool(outcome.new), done, outcome.spared))
            return None
        self.outcomes.append(outcome)
        if outcome.gone and len(done) < MOST_STEPS and _can_be_put_right(outcome):
            pending.append((done, trace, outcome))
        return None

    def _best(self) -> tuple[Step, ...]:
        best = min(self._waiting, key=lambda each: (each.apart, each.has_notes))
        self.spared = best.spared
        return best.steps

    def _is_written(self, step: Step) -> bool:
        return self._written is None or bool(self._written(step))


def _can_be_put_right(outcome: Outcome) -> bool:
    unordered = {finding.location.place for finding in outcome.new if RULES[finding.code].comes_with_edits}
    return all(
        finding.location.file != INSERTED
        and case_of(finding) is not None
        # What a free costs goes with what it waits for.
        and (finding.location.place in unordered or can_go(finding))
        for finding in outcome.new
    )


def can_go(finding: Finding) -> bool:
    """Tell whether a finding says that a call can be taken out as it is."""
    case = case_of(finding)
    return case is not None and rule_of(case.fact).finds_needless and not why_left_alone(finding)


def _following(outcome: Outcome, trace: EditableTrace) -> Iterable[Step]:
    """Yield what may be done about the first order that is missing after an edit."""
    for finding in outcome.new:
        case = case_of(finding)
        if case is not None and rule_of(case.fact).comes_with_edits:
            yield from candidates(case, trace)
            return
