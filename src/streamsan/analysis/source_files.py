"""A source and its findings: the reader explores it world by world, each is checked, and their findings are merged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamsan.analysis.checked import Checked, UnreadableError, reason_of
from streamsan.analysis.source_roots import SourceRoots
from streamsan.analysis.worlds import CheckedWorld, merge_worlds, once_per_reason
from streamsan.evidence import prove
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.findings.finding import Finding, Location, Place
from streamsan.findings.reading_gaps import Unread
from streamsan.order import engine
from streamsan.order.wide_waits import facts_on_waits
from streamsan.rules.catalogue.written_calls import not_understood
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Trace
from streamsan.trace.store import owners

if TYPE_CHECKING:
    from streamsan.cuda_source.world import Reading
    from streamsan.cuda_syntax.tree import Problem, Span

SOURCE_SUFFIXES = frozenset({".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp"})
HEADER_SUFFIXES = frozenset({".cuh", ".h", ".hpp"})
LARGEST_SOURCE = 64 << 20
PROBED = 8192
"""bytes at the start of a file that tell text from binary"""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How sources are read: macros as `-D` gives them, folders as `-I` gives them; and where those of traces are."""

    defines: Mapping[str, str] = field(default_factory=dict)
    include_dirs: Sequence[str] = ()
    roots: SourceRoots = field(default_factory=SourceRoots)
    """where the sources are that traces name"""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """real path -> what to take a file for, in place of what is in it: edits that were not written"""


def analyse_source(path: str, options: SourceOptions, proofs: Proofs = ALL) -> Checked:
    """Check one source with what it includes: all worlds, merged. Raises UnreadableError."""
    checked, found = _checked_source(path, options)
    return replace(checked, findings=tuple(prove(checked.findings, found, proofs)))


def unproven_source(path: str, options: SourceOptions) -> Checked:
    """Check one source, without witnesses and fixes. Raises UnreadableError."""
    return _checked_source(path, options)[0]


def _checked_source(path: str, options: SourceOptions) -> tuple[Checked, dict[Trace, tuple[Finding, ...]]]:
    """Check one source, and return beside its findings those of each world."""
    empty = _probe_source(path)
    if empty:
        return Checked(path, (), 0, {path: ""}, problems=("empty file, nothing to check",)), {}
    # Imported late: a trace needs no reader of source, which takes longer to load than most runs to check.
    from streamsan import cuda_source

    try:
        reading = cuda_source.read(
            Path(path),
            defines=dict(options.defines),
            include_dirs=[Path(folder) for folder in options.include_dirs],
            contents=options.contents,
        )
    except OSError as error:
        raise UnreadableError(path, reason_of(error)) from error
    worlds = []
    found: dict[Trace, tuple[Finding, ...]] = {}
    places: set[Place] = set()
    for world in reading.worlds:
        executed = executed_places(world.trace)
        places.update(executed)
        analysis = engine.analyse(world.trace)
        facts = [*analysis.facts, *facts_on_waits(world.trace, analysis)]
        found[world.trace] = tuple(findings_of(world.trace, facts))
        worlds.append(CheckedWorld(world.entry, found[world.trace], executed))
    unread = [_unread(problem) for problem in reading.problems]
    findings = once_per_reason(sorted([*merge_worlds(worlds), *unread], key=lambda finding: finding.order))
    return Checked(path, tuple(findings), len(places), reading.files, unread=_not_read(path, reading)), found


def _not_read(path: str, reading: Reading) -> Unread:
    return Unread(
        includes=_places(problem.span for problem in reading.missing_includes),
        stopped=frozenset([path] if reading.stopped else ()),
        without_functions=frozenset([path] if reading.without_functions else ()),
        missed=_places(reading.missed),
        reached=_places(reading.reached),
    )


def _places(spans: Iterable[Span]) -> frozenset[Place]:
    return frozenset(Place(span.file, span.line, span.column) for span in spans)


def _unread(problem: Problem) -> Finding:
    span = problem.span
    return not_understood(Location(span.file, span.line, span.column, "", span.end_line, span.end_column), problem.text)


def _probe_source(path: str) -> bool:
    """Tell whether a source is empty. Raises UnreadableError when it cannot be read, or is no text."""
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
