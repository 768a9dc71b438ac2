"""What waits cost, for people: a table behind the counts, and a line of a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsan.findings.finding import Finding
from streamsan.findings.fingerprint import shown_path
from streamsan.findings.time_words import time_in_words
from streamsan.findings.wait_cost import SAVES, SPREAD, RunCosts, WaitCost
from streamsan.report.printable import printable
from streamsan.report.styled_line import StyledLine

MOST_RUNS = 3
"""runs that have a table"""
MOST = 8
"""places that the table names"""
LEAST = 0.002
"""of the run: what saves less is not named"""

_INSTEAD = {"SS501": "stream-ordered memory instead", "SS502": "allocated once instead"}


def saving_in_words(finding: Finding) -> str:
    """Return what a finding with a price would save."""
    return _with_spread(int(finding.properties[SAVES]), int(finding.properties[SPREAD]))


def cost_lines(runs: Sequence[RunCosts]) -> Iterator[StyledLine]:
    """Yield the tables of the runs that would save most."""
    shown = sorted(runs, key=lambda run: -max((wait.saves_ns for wait in run.waits), default=0))[:MOST_RUNS]
    for costs in shown:
        yield from _table(costs)
    if len(runs) > len(shown):
        yield StyledLine.of((f"{len(runs) - len(shown)} more recordings have times (--format json has all)", "dim"))


def _table(costs: RunCosts) -> Iterator[StyledLine]:
    saves = ""
    if costs.together_ns > 0:
        saves = f"; without all that can go {_with_spread(costs.together_ns, costs.together_spread_ns)} less"
    yield StyledLine.of(
        (f"waits of {printable(shown_path(costs.path))}", "bold"),
        f" (the run took {time_in_words(costs.recorded_ns)}{saves}):",
    )
    rows = [cost for cost in costs.waits if cost.saves_ns >= LEAST * costs.recorded_ns][:MOST]
    cells = [(_with_spread(cost.saves_ns, cost.spread_ns), cost.call, _place(cost), _about(cost)) for cost in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(3)] if cells else []
    for row in cells:
        saved, call, place = (text.ljust(width) for text, width in zip(row, widths, strict=False))
        yield StyledLine.of(f"  {saved} less without  {call}  {place}  {row[3]}")
    rest = len(costs.waits) - len(rows)
    if rest:
        others = f"{'the other ' if rows else ''}{rest} {'place saves' if rest == 1 else 'places save'}"
        yield StyledLine.of((f"  {others} next to nothing", "dim"))


def _with_spread(nanoseconds: int, spread: int) -> str:
    time = time_in_words(nanoseconds)
    return f"{time} (+- {time_in_words(spread)})" if spread else time


def _place(cost: WaitCost) -> str:
    where = printable(shown_path(cost.location.file))
    return f"{where}:{cost.location.line}" if cost.location.line else where


def _about(cost: WaitCost) -> str:
    times = "once" if cost.count == 1 else f"{cost.count:,} times"
    took = f"{times}, {time_in_words(cost.waited_ns)} in all"
    if cost.code:
        return f"{took}; {_INSTEAD.get(cost.code, 'nothing needs it')} ({cost.code})"
    return f"{took}; it adds order" if cost.adds_order else took
