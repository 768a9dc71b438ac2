"""What comes of checking one input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.findings.finding import Finding, Place
from streamsan.findings.reading_gaps import Unread, real_path
from streamsan.findings.same_findings import merge

if TYPE_CHECKING:
    from streamsan.findings.wait_cost import RunCosts
    from streamsan.timeline import Timeline
    from streamsan.trace.source_lines import SourceLines


class UnreadableError(Exception):
    """An input cannot be checked. `str()` is one line with the reason, without the file's name."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


def reason_of(error: OSError) -> str:
    """Return the reason of an operating system's error, without the file's name."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


class Checked(Struct, frozen=True):
    """The result of one input."""

    path: str
    findings: tuple[Finding, ...]
    operations: int
    sources: Mapping[str, str] = field(default_factory=dict)
    """texts that findings may quote from: the source and what it includes"""
    stored_lines: SourceLines = field(default_factory=dict)
    """lines of further sources that a trace carries"""
    problems: tuple[str, ...] = ()
    """what limits the result, one line each"""
    remarks: tuple[str, ...] = ()
    """what inputs of this sort never show, one line each"""
    unread: Unread = field(default_factory=Unread)
    program: tuple[str, ...] = ()
    """of a program of several sources: all of them"""
    executed: frozenset[Place] = frozenset()
    """of such a program: the places of its operations, for another one may have some of the sources, too"""
    wait_costs: tuple[RunCosts, ...] = ()
    """what waits cost, of each recording that says when the device did its work"""
    files: int = 1
    """how many files were checked; of a program they are counted by `program`"""
    timelines: tuple[Timeline, ...] = ()
    """the runs, where a report draws them"""
    seen: FilesSeen = field(default_factory=FilesSeen)
    """of a source: what of the file system the result depends on"""


def files_of(results: Sequence[Checked]) -> int:
    """Return how many files were checked."""
    shared = {file for result in results for file in result.program}
    return len(shared) + sum(result.files for result in results if not result.program)


def operations_of(results: Sequence[Checked]) -> int:
    """Return how many operations several inputs have; those of a source in several programs count once."""
    shared = {place for result in results for place in result.executed}
    return len(shared) + sum(result.operations for result in results if not result.program)


def merge_inputs(results: Sequence[Checked]) -> list[Finding]:
    """Return the findings of several inputs, each once: two sources may include the same header.

    Those of ranks of a job, each recorded by itself, are one finding where they have a cause in common.
    """
    found = [finding for result in results for finding in result.findings]
    if len(results) > 1 and any(finding.ranks for finding in found):
        found = [*merge(each for each in found if each.ranks), *(each for each in found if not each.ranks)]
    seen: set[tuple[str, str, int, int, str]] = set()
    merged: list[Finding] = []
    for finding in sorted(found, key=lambda f: (f.order, f.strength)):
        location = finding.location
        key = (finding.code, real_path(location.file), location.line, location.column, finding.message)
        if key not in seen:
            seen.add(key)
            merged.append(finding)
    return merged
