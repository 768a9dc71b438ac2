"""A source and its findings: the reader explores it world by world, each is checked, and their findings are merged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from streamsan.analysis.checked import Checked, UnreadableError, reason_of
from streamsan.analysis.source_options import SourceOptions
from streamsan.analysis.worlds import CheckedWorld, merge_worlds, once_per_reason
from streamsan.cuda_syntax.file_content import LARGEST_SOURCE
from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.findings.finding import Finding, Location, Place, Severity
from streamsan.findings.reading_gaps import Unread
from streamsan.order import engine
from streamsan.order.wide_waits import facts_on_waits
from streamsan.rules.catalogue import RULES
from streamsan.rules.catalogue.written_calls import not_understood
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Trace
from streamsan.trace.store import owners

if TYPE_CHECKING:
    from streamsan.cuda_source.world import Reading
    from streamsan.cuda_syntax.tree import Problem, Span, Unit

PROBED = 8192
"""bytes at the start of a file that tell text from binary"""


def analyse_source(path: str, options: SourceOptions, proofs: Proofs = ALL) -> Checked:
    """Check one source with what it includes: all worlds, merged. Raises UnreadableError."""
    checked, worlds = _checked_source(path, options)
    if any(map(proofs.wanted, checked.findings)):
        # Imported late: for nothing found nothing is proven.
        from streamsan.evidence.second_pass import prove

        found = {world.trace: world.found for world in worlds}
        wording = None
        if proofs.fixes:
            from streamsan.edits.written_steps import wording_of

            wording = wording_of({world.trace: world.unit for world in worlds}.get)
        checked = replace(checked, findings=tuple(prove(checked.findings, found, proofs, wording)))
    if proofs.drawn:
        from streamsan.analysis.drawn_runs import Run, drawn

        checked = drawn(checked, [Run(world.trace, world.title, world.needed_waits) for world in worlds])
    return checked


@dataclass(frozen=True, slots=True)
class _World:
    """One path through a source."""

    trace: Trace
    found: tuple[Finding, ...]
    title: str
    needed_waits: frozenset[tuple[int, int]]
    unit: Unit
    """the tree of the source itself"""


def unproven_source(path: str, options: SourceOptions) -> Checked:
    """Check one source, without witnesses and fixes. Raises UnreadableError."""
    return _checked_source(path, options)[0]


def _checked_source(path: str, options: SourceOptions) -> tuple[Checked, list[_World]]:
    """Check one source, and return beside its findings its worlds."""
    if _probe_source(path, options.contents):
        return Checked(path, (), 0, {path: ""}, problems=("empty file, nothing to check",)), []
    # Imported late: a trace needs no reader of source, which takes longer to load than most runs to check.
    from streamsan import cuda_source

    worlds: list[CheckedWorld] = []
    read: list[_World] = []
    places: set[Place] = set()
    unread: dict[tuple[Place, str], Finding] = {}
    gaps: list[Unread] = []
    files: dict[str, str] = {}
    foreign: set[str] = set()
    own: set[str] = set()
    seen = FilesSeen()
    paths = options.program_of(path)
    for number, program in enumerate(options.compiled(paths)):
        try:
            reading = cuda_source.read_program(program, contents=options.contents)
        except OSError as error:
            raise UnreadableError(path, reason_of(error)) from error
        for world in reading.worlds:
            executed = executed_places(world.trace)
            places.update(executed)
            analysis = engine.analyse(world.trace)
            facts = [*analysis.facts, *facts_on_waits(world.trace, analysis)]
            found = tuple(findings_of(world.trace, facts))
            name = f"{number} {world.entry}"
            worlds.append(CheckedWorld(name, found, executed, world.decisions, world.given_up, world.contrary))
            title = f"{path}: {world.entry}, path {len(read) + 1}"
            read.append(_World(world.trace, found, title, analysis.needed_waits, reading.units[0]))
        for finding in map(_unread, reading.problems):
            unread.setdefault((finding.location.place, finding.message), finding)
        gaps.append(_not_read(path, reading))
        files.update(reading.files)
        seen.add(reading.seen)
        foreign |= reading.foreign
        own |= reading.files.keys() - reading.foreign
    # A header that is the user's in one configuration is so in all.
    foreign -= own
    merged = merge_worlds(worlds)
    if any(each.has_work for each in gaps):
        merged = [each.weakened(Severity.NOTE) if RULES[each.code].finds_needless else each for each in merged]
    every = sorted([*merged, *unread.values()], key=lambda finding: finding.order)
    findings = once_per_reason(finding for finding in every if finding.location.file not in foreign)
    checked = Checked(path, tuple(findings), len(places), files, unread=Unread.merged(gaps), seen=seen)
    if len(paths) > 1:
        checked = replace(checked, program=paths, executed=frozenset(places))
    return checked, read


def _not_read(path: str, reading: Reading) -> Unread:
    """Return what was not read of a source; nobody expects that of a system's headers."""
    return Unread(
        includes=_places(problem.span for problem in _own(reading.missing_includes, reading)),
        macros=_places(problem.span for problem in _own(reading.unread_macros, reading)),
        stopped=frozenset([path] if reading.stopped else ()),
        without_functions=frozenset([path] if reading.without_functions else ()),
        missed={Place(span.file, span.line, span.column): why for span, why in reading.missed.items()},
        reached=_places(reading.reached),
    )


def _own(problems: Iterable[Problem], reading: Reading) -> Iterator[Problem]:
    return (problem for problem in problems if problem.span.file not in reading.foreign)


def _places(spans: Iterable[Span]) -> frozenset[Place]:
    return frozenset(Place(span.file, span.line, span.column) for span in spans)


def _unread(problem: Problem) -> Finding:
    span = problem.span
    return not_understood(Location(span.file, span.line, span.column, "", span.end_line, span.end_column), problem.text)


def _probe_source(path: str, contents: Mapping[str, bytes]) -> bool:
    """Tell whether a source is empty. Raises UnreadableError when it cannot be read, or is no text."""
    given = contents.get(os.path.realpath(path)) if contents else None
    if given is not None:
        start, size = given[:PROBED], len(given)
    else:
        try:
            with open(path, "rb") as file:
                start = file.read(PROBED)
                size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise UnreadableError(path, reason_of(error)) from error
    if start.startswith(b"\x7fELF"):
        raise UnreadableError(path, "binary file (ELF), not source")
    if b"\0" in start:
        raise UnreadableError(path, "binary file, not source")
    if size > LARGEST_SOURCE:
        raise UnreadableError(path, f"{size >> 20} MiB: too large for a source")
    return size <= PROBED and not start.strip()


def executed_places(trace: Trace) -> dict[Place, int]:
    """Return how many operations of a trace were issued at each place that is known."""
    counts: dict[int, int] = {}
    for chunk in trace.chunks():
        sites, numbers = np.unique(chunk["site"][owners(chunk)], return_counts=True)
        for site, number in zip(sites.tolist(), numbers.tolist(), strict=True):
            counts[site] = counts.get(site, 0) + number
    places: dict[Place, int] = {}
    for number, count in counts.items():
        site = trace.site(number)
        if site.line:
            place = Place(site.file or trace.path, site.line, site.column)
            places[place] = places.get(place, 0) + count
    return places
