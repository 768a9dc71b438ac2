"""A source and its findings: the reader explores it world by world, each is checked, and their findings are merged."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from streamsan.analysis.checked import Checked, UnreadableError, reason_of
from streamsan.analysis.source_options import SourceOptions
from streamsan.analysis.source_worlds import JudgedWorld, ReadWorld
from streamsan.cuda_syntax.file_content import LARGEST_SOURCE
from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.findings.finding import Finding, Location, Place
from streamsan.findings.reading_gaps import Unread

if TYPE_CHECKING:
    from streamsan.cuda_source.world import Reading
    from streamsan.cuda_syntax.tree import Problem, Span

PROBED = 8192
"""bytes at the start of a file that tell text from binary"""


def analyse_source(path: str, options: SourceOptions, proofs: Proofs = ALL) -> Checked:
    """Check one source with what it includes: all worlds, merged. Raises UnreadableError."""
    checked, worlds = _checked_source(path, options)
    if any(map(proofs.wanted, checked.findings)):
        # Imported late: for nothing found nothing is proven.
        from streamsan.evidence.second_pass import prove

        found = {each.read.world.trace: each.found for each in worlds}
        wording = None
        if proofs.fixes:
            from streamsan.edits.written_steps import wording_of

            wording = wording_of({each.read.world.trace: each.read.unit for each in worlds}.get)
        checked = replace(checked, findings=tuple(prove(checked.findings, found, proofs, wording)))
    if proofs.drawn:
        from streamsan.analysis.drawn_runs import Run, drawn

        checked = drawn(checked, [Run(each.read.world.trace, each.read.title, each.needed_waits) for each in worlds])
    return checked


def unproven_source(path: str, options: SourceOptions) -> Checked:
    """Check one source, without witnesses and fixes. Raises UnreadableError."""
    return _checked_source(path, options)[0]


def _checked_source(path: str, options: SourceOptions) -> tuple[Checked, list[JudgedWorld]]:
    """Check one source, and return beside its findings its worlds."""
    if _probe_source(path, options.contents):
        return Checked(path, (), 0, {path: ""}, problems=("empty file, nothing to check",)), []
    # Imported late: a trace needs no reader of source, which takes longer to load than most runs to check.
    from streamsan import cuda_source

    read: list[ReadWorld] = []
    unread: dict[tuple[Place, str], Problem] = {}
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
            title = f"{path}: {world.entry}, path {len(read) + 1}"
            read.append(ReadWorld(world, f"{number} {world.entry}", title, reading.units[0]))
        for problem in reading.problems:
            unread.setdefault((_place(problem.span), problem.text), problem)
        gaps.append(_not_read(path, reading))
        files.update(reading.files)
        seen.add(reading.seen)
        foreign |= reading.foreign
        own |= reading.files.keys() - reading.foreign
    # A header that is the user's in one configuration is so in all.
    foreign -= own
    merged: list[Finding] = []
    worlds: list[JudgedWorld] = []
    places: set[Place] = set()
    if any(each.world.trace.operations for each in read):
        # Imported late: many sources do nothing, and what judges them takes longer to load than they to read.
        from streamsan.analysis.judged_worlds import judged

        verdict = judged(read, any(each.has_work for each in gaps))
        merged, worlds, places = verdict.findings, verdict.worlds, verdict.places
    findings = _told(merged, unread.values(), foreign)
    checked = Checked(path, tuple(findings), len(places), files, unread=Unread.merged(gaps), seen=seen)
    if len(paths) > 1:
        checked = replace(checked, program=paths, executed=frozenset(places))
    return checked, worlds


def _not_read(path: str, reading: Reading) -> Unread:
    """Return what was not read of a source; nobody expects that of a system's headers."""
    return Unread(
        includes=_places(problem.span for problem in _own(reading.missing_includes, reading)),
        macros=_places(problem.span for problem in _own(reading.unread_macros, reading)),
        stopped=frozenset([path] if reading.stopped else ()),
        without_functions=frozenset([path] if reading.without_functions else ()),
        missed={_place(span): why for span, why in reading.missed.items()},
        reached=_places(reading.reached),
    )


def _told(merged: list[Finding], unread: Iterable[Problem], foreign: Container[str]) -> list[Finding]:
    """Return the findings with what could not be read, sorted, without those in headers that are nobody's to mend."""
    problems = list(unread)
    if not merged and not problems:
        return []
    # Imported late: the rules are needed only where something is found.
    from streamsan.rules.catalogue.written_calls import not_understood, once_per_reason

    every = [*merged, *(not_understood(_location(each.span), each.text) for each in problems)]
    every.sort(key=lambda finding: finding.order)
    return once_per_reason(finding for finding in every if finding.location.file not in foreign)


def _location(span: Span) -> Location:
    return Location(span.file, span.line, span.column, "", span.end_line, span.end_column)


def _own(problems: Iterable[Problem], reading: Reading) -> Iterator[Problem]:
    return (problem for problem in problems if problem.span.file not in reading.foreign)


def _places(spans: Iterable[Span]) -> frozenset[Place]:
    return frozenset(map(_place, spans))


def _place(span: Span) -> Place:
    return Place(span.file, span.line, span.column)


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
