"""Why a finding has no verified fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from streamsan.analysis.worlds import REDUNDANT
from streamsan.evidence.fix.verification import Outcome
from streamsan.findings.finding import Finding
from streamsan.rules import RULES

TOO_WIDE = "SS503"

NOTHING_TRIED = "nothing in the trace says where an edit could go"
NOT_KNOWN = "what has to change is the program's decision"


def without_fix(finding: Finding) -> Finding:
    """Return a finding whose rule has no edit to try, with the rule's reason."""
    rule = RULES.get(finding.code)
    case = finding.basis.case
    reason = NOT_KNOWN
    if rule is not None:
        reason = (rule.no_fix(case.fact) if case is not None else rule.without_fix) or NOT_KNOWN
    return replace(finding, no_fix=reason)


def too_long(finding: Finding) -> Finding:
    """Return a finding of a trace that is not analysed again."""
    return replace(finding, no_fix="the trace is too long to analyse its edits again")


def one_of_many(finding: Finding) -> Finding:
    """Return a finding that has graver ones before it."""
    return replace(finding, no_fix="the fixes of graver findings were tried first (of a source, --diff tries all)")


def tried_in_vain(finding: Finding, outcomes: Sequence[Outcome], cut: bool) -> Finding:
    """Return a finding for which no edit did what it should."""
    if not outcomes:
        if cut:
            return replace(finding, no_fix="the trace is too long to analyse more edits again")
        rule, case = RULES.get(finding.code), finding.basis.case
        reason = rule.no_fix(case.fact) if rule is not None and case is not None else ""
        return replace(finding, no_fix=reason or NOTHING_TRIED)
    for outcome in outcomes:
        if outcome.gone and outcome.new:
            other = outcome.new[0]
            where = f" at line {other.location.line}" if other.location.line else ""
            return replace(finding, no_fix=f"each edit that was tried brings up another finding: {other.code}{where}")
    return replace(finding, no_fix="no edit that was tried gives the order that is missing")


def costs_then(notes: Iterable[tuple[str, int]]) -> str:
    """Return what to say of new notes on cost, by code and line. The waits stay: other code may need them."""
    every = sorted(set(notes))
    needless = [line for code, line in every if code == REDUNDANT]
    wide = [line for code, line in every if code == TOO_WIDE]
    words = []
    if needless:
        words.append(f"the wait of line {' and '.join(map(str, needless))} is not needed any more then")
    if wide:
        words.append(f"the wait of line {' and '.join(map(str, wide))} is wider than needed then")
    others = sorted({code for code, _ in every if code not in (REDUNDANT, TOO_WIDE)})
    if others:
        words.append(f"this brings up a note on cost: {', '.join(others)}")
    return f" ({'; '.join(words)})" if words else ""
