"""The worlds of a source, each held against the rules, and their findings merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from streamsan.analysis.source_worlds import JudgedWorld, ReadWorld
from streamsan.analysis.worlds import CheckedWorld, merge_worlds
from streamsan.findings.finding import Finding, Place, Severity
from streamsan.order import engine
from streamsan.order.wide_waits import facts_on_waits
from streamsan.rules.catalogue import RULES
from streamsan.rules.pipeline import findings_of
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
    checked: list[CheckedWorld] = []
    each: list[JudgedWorld] = []
    places: set[Place] = set()
    for read in worlds:
        world = read.world
        executed = executed_places(world.trace)
        places.update(executed)
        analysis = engine.analyse(world.trace)
        facts = [*analysis.facts, *facts_on_waits(world.trace, analysis)]
        found = tuple(findings_of(world.trace, facts))
        checked.append(CheckedWorld(read.entry, found, executed, world.decisions, world.given_up, world.contrary))
        each.append(JudgedWorld(read, found, analysis.needed_waits))
    merged = merge_worlds(checked)
    if has_gaps:
        merged = [one.weakened(Severity.NOTE) if RULES[one.code].finds_needless else one for one in merged]
    return Verdict(merged, each, places)


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
