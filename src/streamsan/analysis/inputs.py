"""From an input to its findings: a source through the source reader, a trace from its file, both through one engine."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamsan.analysis.worlds import CheckedWorld, merge_worlds, once_per_reason
from streamsan.evidence import prove
from streamsan.findings.finding import Finding, Location, Place
from streamsan.order import engine
from streamsan.order.recordings import recording_limits, recording_remarks
from streamsan.order.source_waits import facts_on_waits
from streamsan.rules.catalogue.calls import not_understood
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Trace, TraceError, family
from streamsan.trace.store import Slots, SlotStore, owners

if TYPE_CHECKING:
    from streamsan.cuda_syntax.tree import Problem

SOURCE_SUFFIXES = frozenset({".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp"})
HEADER_SUFFIXES = frozenset({".cuh", ".h", ".hpp"})
TRACE_SUFFIX = ".sst"
LARGEST_SOURCE = 64 << 20
PROBED = 8192
"""bytes at the start of a file that tell text from binary"""

Progress = Callable[[int, int], None]
"""called with the operations analysed so far and their total"""


class UnreadableError(Exception):
    """An input cannot be checked. `str()` is one line with the reason, without the file's name."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one input."""

    path: str
    findings: tuple[Finding, ...]
    operations: int
    sources: Mapping[str, str] = field(default_factory=dict)
    """texts that findings may quote from: the source and what it includes"""
    problems: tuple[str, ...] = ()
    """what limits the result, one line each"""
    remarks: tuple[str, ...] = ()
    """what inputs of this sort never show, one line each"""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How sources are read: macros as `-D` gives them, folders as `-I` gives them."""

    defines: Mapping[str, str] = field(default_factory=dict)
    include_dirs: Sequence[str] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """real path -> what to take a file for, in place of what is in it: edits that were not written"""


def analyse_path(
    path: str | os.PathLike[str], options: SourceOptions | None = None, progress: Progress | None = None
) -> Checked:
    """Check one file, a source or a trace by its suffix. Raises UnreadableError."""
    name = os.fspath(path)
    _require_file(name)
    suffix = Path(name).suffix.lower()
    if suffix == TRACE_SUFFIX:
        return analyse_trace(name, progress)
    if suffix in SOURCE_SUFFIXES:
        return analyse_source(name, options or SourceOptions())
    raise UnreadableError(name, f"unknown kind of file: '{suffix}' is neither a CUDA C++ source nor a trace (.sst)")


def analyse_source(path: str, options: SourceOptions) -> Checked:
    """Check one source with what it includes: all worlds, merged. Raises UnreadableError."""
    checked, found = _checked_source(path, options)
    return replace(checked, findings=tuple(prove(checked.findings, found)))


def unproven_source(path: str, options: SourceOptions) -> Checked:
    """Check one source, without witnesses and fixes. Raises UnreadableError."""
    return _checked_source(path, options)[0]


def _checked_source(path: str, options: SourceOptions) -> tuple[Checked, dict[Trace, tuple[Finding, ...]]]:
    """Check one source, and return beside its findings those of each world."""
    empty = _probe_source(path)
    if empty:
        return Checked(path, (), 0, {path: ""}, ("empty file, nothing to check",)), {}
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
    return Checked(path, tuple(findings), len(places), reading.files), found


def _unread(problem: Problem) -> Finding:
    span = problem.span
    return not_understood(Location(span.file, span.line, span.column, "", span.end_line), problem.text)


def analyse_trace(path: str, progress: Progress | None = None, name: str = "") -> Checked:
    """Check one trace file, with the other files of its run; reports call it `name`. Raises UnreadableError.

    One that was cut off is checked as far as it goes, and says so.
    """
    try:
        if os.path.getsize(path) == 0:
            raise UnreadableError(path, "empty file, not a trace")
        trace = family.read(path)
        if progress is not None:
            trace.slots = _WatchedSlots(trace.slots, trace.operations, progress)
        trace.path = name or path
        return check_trace(trace, name or path)
    except TraceError as error:
        raise UnreadableError(path, error.reason) from error
    except OSError as error:
        raise UnreadableError(path, reason_of(error)) from error


def check_trace(trace: Trace, path: str, sources: Mapping[str, str] | None = None) -> Checked:
    """Check a trace that is at hand; `sources` are texts that its findings may quote from. Raises TraceError."""
    checked, found = _checked_trace(trace, path, sources)
    return replace(checked, findings=tuple(prove(checked.findings, {trace: found})))


def unproven_trace(trace: Trace, path: str) -> Checked:
    """Check a trace that is at hand, without witnesses and fixes. Raises TraceError."""
    return _checked_trace(trace, path, None)[0]


def _checked_trace(trace: Trace, path: str, sources: Mapping[str, str] | None) -> tuple[Checked, tuple[Finding, ...]]:
    """Check a trace, and return beside its findings all of them, also those that say the same."""
    analysis = engine.analyse(trace)
    found = tuple(findings_of(trace, analysis.facts))
    problems = list(trace.problems)
    if analysis.problems:
        problems.append(f"{analysis.problems} operations cannot be what they say, and were left out")
    if not trace.complete and not any("partial result" in problem for problem in problems):
        problems.append("partial result: the trace was cut off, and only what it holds was checked")
    problems += recording_limits(trace, analysis)
    remarks = tuple(recording_remarks(trace, analysis))
    findings = tuple(once_per_reason(found))
    return Checked(path, findings, analysis.operations, sources or {}, tuple(problems), remarks), found


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


def reason_of(error: OSError) -> str:
    """Return the reason of an operating system's error, without the file's name."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def _require_file(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise UnreadableError(path, reason_of(error) if isinstance(error, OSError) else "no such file") from error
    if not stat.S_ISREG(mode):
        raise UnreadableError(path, "not a regular file")


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


class _WatchedSlots:
    """Slots that tell how many of them were read."""

    def __init__(self, slots: SlotStore, total: int, progress: Progress) -> None:
        self._slots = slots
        self._total = total
        self._progress = progress

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots, and tell after each chunk."""
        done = 0
        for chunk in self._slots.chunks(size, first):
            yield chunk
            done += int(np.count_nonzero(owners(chunk)))
            self._progress(done, self._total)

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()


def merge_inputs(results: Sequence[Checked]) -> list[Finding]:
    """Return the findings of several inputs, each once: two sources may include the same header."""
    seen: set[tuple[str, str, int, int, str]] = set()
    merged: list[Finding] = []
    for finding in sorted((f for result in results for f in result.findings), key=lambda f: (f.order, f.strength)):
        location = finding.location
        key = (finding.code, location.file, location.line, location.column, finding.message)
        if key not in seen:
            seen.add(key)
            merged.append(finding)
    return merged
