"""The rules: facts of the order engine become findings.

`findings_of` is pure. A rule knows its code, its contract and what was observed; it knows nothing of where a trace
came from, but for SS601, which is milder where the program itself ran.

Where a finding is reported: at the use (SS101, SS103, SS205), at the later of two uses (SS109), at the free, unmap or
unregister (SS102, SS104, SS107, SS201, SS202, SS203, SS206, SS501), at what the host does with the buffer (SS108), at
the reset, destruction or exit (SS106), at the child's first call (SS204), at the allocation (SS305, SS401, SS402,
SS502), at the graph's launch (SS301, SS303), at the use or free of a graph's own memory (SS304), at the wait (SS503,
SS504), at the call itself (SS207, SS302, SS306, SS601, SS602, SS603).
"""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.findings.finding import Finding, merge
from streamsan.order.facts import Fact
from streamsan.rules.calls import MalformedCall, NotUnderstood
from streamsan.rules.captures import IllegalDuringCapture
from streamsan.rules.case import Case, Names
from streamsan.rules.churn import AllocationChurn
from streamsan.rules.conflicts import UnorderedConflict
from streamsan.rules.costs import BlockingFree
from streamsan.rules.failures import UncheckedFailure
from streamsan.rules.frees import DoubleFree, ForeignContextFree, InvalidFree, OrderDroppingFree
from streamsan.rules.graph_memory import GraphMemoryLeak, GraphMemoryRestriction, GraphMemoryUnordered
from streamsan.rules.graphs import GraphRelaunchUnfreed, GraphStalePointer
from streamsan.rules.handles import StaleHandle
from streamsan.rules.host_buffers import HostBufferInFlight
from streamsan.rules.implicit import ReliesOnImplicitSync
from streamsan.rules.leaks import Leak, UnbalancedAllocation
from streamsan.rules.lifetime import UnmappedInUse, UseAfterFree, UseBeforeAlloc, UseRacesFree
from streamsan.rules.precedence import first_of_each_cause, without_consequences
from streamsan.rules.process import CallOutsideMain, UseAfterFork
from streamsan.rules.redundancy import RedundantSync
from streamsan.rules.reset import ResetRacesWork
from streamsan.rules.rule import Rule
from streamsan.rules.wide_waits import WaitTooWide

RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        UseAfterFree(),
        UseRacesFree(),
        UseBeforeAlloc(),
        UnmappedInUse(),
        ResetRacesWork(),
        ReliesOnImplicitSync(),
        HostBufferInFlight(),
        UnorderedConflict(),
        DoubleFree(),
        InvalidFree(),
        ForeignContextFree(),
        UseAfterFork(),
        StaleHandle(),
        OrderDroppingFree(),
        CallOutsideMain(),
        GraphRelaunchUnfreed(),
        IllegalDuringCapture(),
        GraphStalePointer(),
        GraphMemoryUnordered(),
        UnbalancedAllocation(),
        GraphMemoryRestriction(),
        Leak(),
        GraphMemoryLeak(),
        BlockingFree(),
        AllocationChurn(),
        WaitTooWide(),
        RedundantSync(),
        UncheckedFailure(),
        MalformedCall(),
        NotUnderstood(),
    )
}
"""Every rule by its code, in the order of the codes."""


def findings_of(trace: Names, facts: Iterable[Fact]) -> list[Finding]:
    """Return the findings of a trace's facts, sorted by place. Facts of codes without a rule say nothing."""
    found = []
    for fact in first_of_each_cause(facts):
        rule = RULES.get(f"SS{fact.code}")
        if rule is not None:
            found.append(rule.finding(Case(trace, fact)))
    return without_consequences(merge(found))
