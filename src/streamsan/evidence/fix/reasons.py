"""Why a finding has no verified fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from streamsan.evidence.fix.host_order import THREADS_DECIDE, threads_decide
from streamsan.evidence.fix.verification import Outcome
from streamsan.findings.finding import Confidence, Finding
from streamsan.rules.case import case_of
from streamsan.rules.every_rule import RULES

NOTHING_TRIED = "nothing in the trace says where an edit could go"
NOT_KNOWN = "what has to change is the program's decision"
NEEDED_ELSEWHERE = "another path through the program, or code that was not read, may need the wait"


def why_left_alone(finding: Finding) -> str:
    """Return why no edit is to be tried for a finding, "" where nothing speaks against one."""
    rule, case = RULES[finding.code], case_of(finding)
    reason = rule.without_fix if case is None else rule.no_fix(case.fact)
    if not reason and rule.finds_needless and finding.confidence is Confidence.POSSIBLE:
        return NEEDED_ELSEWHERE
    return reason or (THREADS_DECIDE if case is not None and threads_decide(case) else "")


def without_fix(finding: Finding) -> Finding:
    """Return a finding whose rule has no edit to try, with the rule's reason."""
    return replace(finding, no_fix=why_left_alone(finding) or NOT_KNOWN)


def unsought(finding: Finding) -> Finding:
    """Return a finding for which no edit was to be tried."""
    return replace(
        finding,
        no_fix=why_left_alone(finding) or ("none was sought" if finding.fix is None else "it was not tried out"),
    )


def too_long(finding: Finding) -> Finding:
    """Return a finding of a trace that is not analysed again."""
    return replace(finding, no_fix="the trace is too long to analyse its edits again")


def one_of_many(finding: Finding) -> Finding:
    """Return a finding that has graver ones before it."""
    return replace(finding, no_fix="the fixes of graver findings were tried first (of a source, --diff tries all)")


def like_the_first(finding: Finding) -> Finding:
    """Return a finding of a site that has many, where the first was proven for all."""
    reason = "that of the first finding at this site stands for all"
    no_witness = "" if finding.witness else reason
    return replace(finding, no_witness=no_witness, no_fix=why_left_alone(finding) or reason)


def tried_in_vain(finding: Finding, outcomes: Sequence[Outcome], cut: bool) -> Finding:
    """Return a finding for which no edit did what it should."""
    if not outcomes:
        if cut:
            return replace(finding, no_fix="the trace is too long to analyse more edits again")
        return replace(finding, no_fix=why_left_alone(finding) or NOTHING_TRIED)
    for outcome in outcomes:
        if outcome.gone and outcome.new:
            other = outcome.new[0]
            where = f" at line {other.location.line}" if other.location.line else ""
            return replace(finding, no_fix=f"each edit that was tried brings up another finding: {other.code}{where}")
    return replace(finding, no_fix="no edit that was tried gives the order that is missing")


def costs_then(notes: Iterable[tuple[str, int]]) -> str:
    """Return what to say of new notes on cost, by code and line. The waits stay: other code may need them."""
    lines: dict[str, list[int]] = {}
    for code, line in sorted(set(notes)):
        lines.setdefault(code, []).append(line)
    # Waits that nothing needs come first: of these it is known best what to do.
    order = sorted(lines, key=lambda code: (not RULES[code].finds_needless, code))
    words = [RULES[code].after_edits.format(lines=" and ".join(map(str, lines[code]))) for code in order]
    others = [code for code, phrase in zip(order, words, strict=True) if not phrase]
    words = [phrase for phrase in words if phrase]
    if others:
        words.append(f"this brings up a note on cost: {', '.join(others)}")
    return f" ({'; '.join(words)})" if words else ""
