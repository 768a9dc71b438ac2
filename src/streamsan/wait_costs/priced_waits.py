"""What each wait of a recorded run cost, and what would be won without."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from streamsan.evidence.fix.edited_trace import Analysed
from streamsan.evidence.fix.verification import MadeFindings, Verification
from streamsan.findings.finding import Finding, Location
from streamsan.findings.wait_cost import SAVES, SPREAD, RunCosts, WaitCost
from streamsan.order.places import place_of
from streamsan.rules.case import Case, case_of
from streamsan.trace import Trace
from streamsan.vocabulary import RuleCode
from streamsan.wait_costs.changes import (
    WAITS,
    Change,
    allocated_once,
    stream_ordered,
    waits_by_place,
    without,
)
from streamsan.wait_costs.measured_run import MeasuredRun, Saving

MOST_OPERATIONS = 2_000_000
"""Of longer runs nothing is asked: all their operations would have to be held in memory."""
MOST_PLACES = 16
"""places of one run that are asked about, those where the calls took longest"""
LEAVES_WORK_BEHIND = 1_500
"""ns: what a call that leaves stream-ordered work behind takes at most (F-18: an allocation, a launch, a free: 4 us)"""


class _Asked(Struct, frozen=True):
    """One place, and the change that is asked about."""

    location: Location
    call: str
    rows: tuple[int, ...]
    change: Change
    adds_order: bool | None
    finding: Finding | None = None
    """what says that it can go"""


def with_costs(
    trace: Trace, findings: Sequence[Finding], found: Sequence[Finding], needed: Collection[tuple[int, int]]
) -> tuple[tuple[Finding, ...], RunCosts | None]:
    """Return the findings of a recording with what would be won, and what all its waits cost.

    The recording has times of the device. `found` are all findings of the trace, `needed` sites and APIs of the waits
    that brought something. A very long recording has no costs. Raises TraceError where a slot is damaged.
    """
    if trace.operations > MOST_OPERATIONS:
        return tuple(findings), None
    run = MeasuredRun(trace)
    verification = Verification(trace, found, MadeFindings(trace))
    asked = _asked(run, findings, verification, needed)
    savings = [
        run.saving(each.change.edits(run.trace).applied().slots, each.change.cheap, LEAVES_WORK_BEHIND)
        for each in asked
    ]
    costs = [_cost(trace, run, each, saving) for each, saving in zip(asked, savings, strict=True)]
    together = _together(run, asked, verification)
    priced = {id(each.finding): saving for each, saving in zip(asked, savings, strict=True) if each.finding is not None}
    waits = tuple(sorted(costs, key=lambda cost: (-cost.saves_ns, cost.location.file, cost.location.line)))
    told = tuple(_priced(finding, priced.get(id(finding))) for finding in findings)
    return told, RunCosts(trace.path, run.recorded, waits, together.nanoseconds, together.spread)


def _priced(finding: Finding, saving: Saving | None) -> Finding:
    if saving is None:
        return finding
    return replace(finding, properties={**finding.properties, SAVES: saving.nanoseconds, SPREAD: saving.spread})


def _asked(
    run: MeasuredRun, findings: Sequence[Finding], verification: Verification, needed: Collection[tuple[int, int]]
) -> list[_Asked]:
    trace = run.trace
    can_go = list(_that_can_go(run, findings, verification))
    told = {row for each in can_go for row in each.rows}
    brings = {(place_of(trace.trace, site), api) for site, api in needed}
    others = []
    for (place, api), rows in waits_by_place(trace).items():
        if told.isdisjoint(rows):
            location, call = _named(trace.trace, int(trace.slots["site"][rows[0]]), api)
            others.append(_Asked(location, call, tuple(rows), without(rows), (place, api) in brings))
    others.sort(key=lambda each: -run.waited(each.rows))
    return [*can_go, *others][: max(MOST_PLACES, len(can_go))]


def _that_can_go(run: MeasuredRun, findings: Sequence[Finding], verification: Verification) -> Iterator[_Asked]:
    """Yield what findings say that can go, as far as the trace without it has no new finding: no order is broken."""
    for finding in findings:
        case = case_of(finding)
        if case is None:
            continue
        change = _change(run, finding, case)
        if change is None:
            continue
        outcome = verification.of(change.edits(run.trace).applied(), finding)
        if outcome.spared is None and not (finding.fix is not None and finding.fix.verified):
            continue
        rows = run.trace.instances(case.operation)
        adds = False if case.operation.kind in WAITS else None
        yield _Asked(finding.location, case.api(case.operation), tuple(rows), change, adds, finding)


def _change(run: MeasuredRun, finding: Finding, case: Case) -> Change | None:
    match case.fact.code:
        case RuleCode.REDUNDANT_SYNC if finding.fix is not None and finding.fix.verified:
            return without(run.trace.instances(case.operation))
        case RuleCode.BLOCKING_FREE:
            return stream_ordered(run.trace, case)
        case RuleCode.ALLOCATION_CHURN:
            return allocated_once(run.trace, case)
        case _:
            return None


def _together(run: MeasuredRun, asked: Sequence[_Asked], verification: Verification) -> Saving:
    """Return what would be won without all that can go; nothing where the changes do not go together."""
    changes = [each.change for each in asked if each.finding is not None]
    if not changes:
        return Saving(0, 0)
    change = Change()
    for each in changes:
        change = change.beside(each)
    edited = change.edits(run.trace).applied()
    first = next(each.finding for each in asked if each.finding is not None)
    if verification.of(edited, first).spared is None:
        return Saving(0, 0)
    return run.saving(edited.slots, change.cheap, LEAVES_WORK_BEHIND)


def _cost(trace: Trace, run: MeasuredRun, asked: _Asked, saving: Saving) -> WaitCost:
    return WaitCost(
        path=trace.path,
        location=asked.location,
        call=asked.call,
        count=len(asked.rows),
        waited_ns=run.waited(asked.rows),
        saves_ns=saving.nanoseconds,
        spread_ns=saving.spread,
        adds_order=asked.adds_order,
        code=asked.finding.code if asked.finding is not None else "",
    )


def _named(trace: Analysed, number: int, api: int) -> tuple[Location, str]:
    """Return where a call is, and what is called."""
    site = trace.site(number)
    name = trace.apis[api] if 0 < api < len(trace.apis) else ""
    return Location(site.file, site.line, site.column, site.function), site.runtime or name
