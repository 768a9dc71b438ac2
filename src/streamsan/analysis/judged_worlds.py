"""The worlds of a source, each held against the rules, and their findings merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from streamsan.analysis.source_worlds import JudgedWorld, ReadWorld
from streamsan.findings.finding import Finding, Place, Severity
from streamsan.order import engine
from streamsan.order.facts import Fact
from streamsan.order.wide_waits import facts_on_waits
from streamsan.trace import Trace
from streamsan.trace.packed_slots import sites_in


class Verdict(Struct, frozen=True):
    """What the worlds of a source have."""

    findings: list[Finding]
    """merged"""
    worlds: list[JudgedWorld]
    places: set[Place]
    """of all operations"""


def judged(worlds: Sequence[ReadWorld], has_gaps: bool) -> Verdict:
    """Return what worlds have. Where work was not read, that a wait is needless is a note."""
    facts: list[list[Fact]] = []
    executed: list[dict[Place, int]] = []
    needed: list[frozenset[tuple[int, int]]] = []
    for read in worlds:
        trace = read.world.trace
        analysis = engine.analyse(trace)
        facts.append([*analysis.facts, *facts_on_waits(trace, analysis)])
        executed.append(executed_places(trace))
        needed.append(analysis.needed_waits)
    places = {place for counts in executed for place in counts}
    if not any(facts):
        return Verdict([], [JudgedWorld(read, (), waits) for read, waits in zip(worlds, needed, strict=True)], places)
    # Imported late: of most sources there is nothing to say, and the rules take longer to load than such a one to read.
    from streamsan.analysis.worlds import CheckedWorld, merge_worlds
    from streamsan.rules.every_rule import RULES
    from streamsan.rules.pipeline import findings_of

    found = [tuple(findings_of(read.world.trace, each)) for read, each in zip(worlds, facts, strict=True)]
    merged = merge_worlds(
        [
            CheckedWorld(read.entry, own, counts, read.world.decisions, read.world.either_way, read.world.contrary)
            for read, own, counts in zip(worlds, found, executed, strict=True)
        ]
    )
    if has_gaps:
        merged = [one.weakened(Severity.NOTE) if RULES[one.code].finds_needless else one for one in merged]
    return Verdict(merged, [JudgedWorld(*each) for each in zip(worlds, found, needed, strict=True)], places)


def executed_places(trace: Trace) -> dict[Place, int]:
    """Return how many operations of a trace were issued at each place that is known."""
    counts: Counter[int] = Counter()
    for part in trace.packed():
        counts += sites_in(bytes(part))
    places: dict[Place, int] = {}
    for number, count in counts.items():
        site = trace.site(number)
        if site.line:
            place = Place(site.file or trace.path, site.line, site.column)
            places[place] = places.get(place, 0) + count
    return places
