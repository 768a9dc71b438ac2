"""`streamsan check --diff` and `--fix`: the fixes of all sources that were named, shown or written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.source_files import SOURCE_SUFFIXES, SourceOptions, unproven_source
from streamsan.analysis.traces import TRACE_SUFFIX
from streamsan.cli.defects import problem_of
from streamsan.cli.inputs import Input
from streamsan.cli.patches import unified_diff
from streamsan.cli.pipes import silence_stdout
from streamsan.cli.report_options import ReportOptions
from streamsan.cli.rewriting import RewriteError, is_writable, require_unchanged, rewrite
from streamsan.findings.finding import Finding, Fix, Place, Severity
from streamsan.report import Problem
from streamsan.report.printable import printable

if TYPE_CHECKING:
    from streamsan.edits.fixes import SourceFixes
    from streamsan.edits.source import Contents, State
    from streamsan.edits.trial import Fixed, NotFixed

NO_EDIT = "no_edit"
"""the property of a finding that says why its text has no edit"""
NEEDS_SOURCE = "edits need source: name the sources that the program was built from"


@dataclass(slots=True)
class Edited:
    """What was found to change in all inputs."""

    before: dict[str, bytes] = field(default_factory=dict)
    """real path -> bytes as they were read"""
    after: dict[str, bytes] = field(default_factory=dict)
    """real path -> new bytes, of files that change"""
    names: dict[str, str] = field(default_factory=dict)
    """real path -> the name that the file was reached by"""
    fixed: list[Fixed] = field(default_factory=list)
    left: list[NotFixed] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    """what could not be checked at all"""
    failed: list[Problem] = field(default_factory=list)
    """what could be checked, and not edited"""
    notes: int = 0
    """findings for which no edits were sought, because they are notes that nobody asked for"""
    needs_source: bool = False
    """only traces were named"""


Tell = Callable[[str, int, int], None]
"""called with the source that edits are sought for, the findings done, and those there are"""


def seek(inputs: Sequence[Input], options: SourceOptions, reporting: ReportOptions, tell: Tell) -> Edited:
    """Seek edits for the findings that the report shows; later sources are checked with the edits of the earlier.

    Notes are left alone but where `--notes` shows them or `--select` names them.
    """
    return _Seeker(inputs, options, reporting, tell).run()


def with_edits(
    results: Iterable[Checked], options: SourceOptions, reporting: ReportOptions, tell: Tell
) -> tuple[list[Checked], list[Problem]]:
    """Return checked inputs whose findings have edits, each one of the text as it is; and what went wrong.

    A finding without an edit says why in its property `no_edit`.
    """
    checked = list(results)
    inputs = [Input(result.path, only_if_not_included=False) for result in checked]
    seeker = _Seeker(inputs, options, reporting, tell)
    return [seeker.with_edits(result) for result in checked], seeker.edited.failed


def show(edited: Edited, notes: bool) -> bool:
    """Print the patch, and to standard error what it does and what has no edit. Returns whether there is a patch."""
    patch = b"".join(
        unified_diff(edited.names[real], edited.before[real], data) for real, data in sorted(edited.after.items())
    )
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        silence_stdout()
    say(edited, notes, "fix")
    return bool(patch)


def write(edited: Edited, notes: bool) -> list[Problem]:
    """Write the new contents, and say so. Returns what could not be written, and why.

    All files or none: a fix may need several.
    """
    problems = []
    for real in sorted(edited.after):
        try:
            require_unchanged(real, edited.before[real])
        except RewriteError as error:
            problems.append(Problem(edited.names[real], f"{error}: nothing was written"))
    if problems:
        return problems
    for real, data in sorted(edited.after.items()):
        try:
            rewrite(real, edited.before[real], data)
        except RewriteError as error:
            problems.append(Problem(edited.names[real], f"not fixed: {error}"))
    say(edited, notes, "fixed")
    return problems


def say(edited: Edited, notes: bool, word: str) -> None:
    """Say on standard error what the edits do, and why other findings have none."""
    for fixed in edited.fixed:
        _say(fixed.finding, f"{word}: {fixed.summary}")
    hidden = 0
    for left in edited.left:
        if left.finding.severity is Severity.NOTE and not notes:
            hidden += 1
        else:
            _say(left.finding, f"no automatic edit: {left.reason}")
    if hidden:
        many = "note has" if hidden == 1 else "notes have"
        click.echo(f"streamsan: {hidden} {many} no automatic edit (--notes says why)", err=True)
    if edited.notes:
        many = "note was" if edited.notes == 1 else "notes were"
        click.echo(f"streamsan: {edited.notes} {many} left alone (with --notes they are edited as well)", err=True)


def _say(finding: Finding, text: str) -> None:
    where = finding.location
    line = f"streamsan: {where.file}:{where.line}: {finding.code}: {text}"
    click.echo(printable(line), err=True)


class _Seeker:
    def __init__(self, inputs: Sequence[Input], options: SourceOptions, reporting: ReportOptions, tell: Tell) -> None:
        self._inputs = inputs
        self._options = options
        self._reporting = reporting
        self._tell = tell
        self.edited = Edited()
        self._states: dict[str, Checked] = {}
        """path of a source -> what is in it with all edits so far"""
        self._named = {os.path.realpath(each.path) for each in inputs}
        self._folders = tuple({os.path.dirname(real) + os.sep for real in self._named})

    def run(self) -> Edited:
        """Check all sources, then fix one after the other."""
        included: set[str] = set()
        sources = [each for each in self._inputs if Path(each.path).suffix.lower() != TRACE_SUFFIX]
        if self._inputs and not sources:
            self.edited.needs_source = True
            self.edited.unreadable += [Problem(each.path, NEEDS_SOURCE) for each in self._inputs]
        for number, each in enumerate(sources):
            if each.only_if_not_included and os.path.realpath(each.path) in included:
                continue
            self._tell(each.path, number, len(sources))
            checked = self._check(each.path, {})
            if checked is not None:
                self._states[each.path] = checked
                included.update(os.path.realpath(file) for file in checked.sources)
        for path in list(self._states):
            fixes = self._sought(path, together=True)
            if fixes is not None:
                self._take(path, fixes)
                self.edited.notes += sum(
                    not self._reporting.shows(each) for each in self._kept(path, {}, fixes.remaining)
                )
        return self.edited

    def with_edits(self, checked: Checked) -> Checked:
        """Return a checked source with an edit for each finding, where there is one."""
        if Path(checked.path).suffix.lower() == TRACE_SUFFIX:
            return replace(checked, findings=tuple(_without_edit(each, NEEDS_SOURCE) for each in checked.findings))
        self._states[checked.path] = checked
        fixes = self._sought(checked.path, together=False)
        if fixes is None:
            return checked
        fixed = {_identity(each.finding): Fix(each.summary, verified=True, edits=each.edits) for each in fixes.fixed}
        left = {_identity(each.finding): each.reason for each in fixes.left}
        findings = []
        for finding in checked.findings:
            key = _identity(finding)
            if key in fixed:
                findings.append(replace(finding, fix=fixed[key], no_fix=""))
            else:
                findings.append(_without_edit(finding, left[key]) if key in left else finding)
        return replace(checked, findings=tuple(findings))

    def _sought(self, path: str, together: bool) -> SourceFixes | None:
        try:
            return self._fixes(path, together)
        except Exception as error:
            self.edited.failed.append(problem_of(path, error))
            return None

    def _fixes(self, path: str, together: bool) -> SourceFixes:
        # Imported late: only who wants edits waits for what makes them.
        from streamsan.edits.cpp.language import read
        from streamsan.edits.fixes import fixes_of, fixes_of_each
        from streamsan.edits.source import Source

        source = Source(
            check=lambda contents: self._state(path, contents),
            keep=lambda contents, findings: self._kept(path, contents, findings),
            editable=self._editable,
            original=lambda file: self._original(path, file),
            read=lambda contents: read(
                path,
                self._options.defines,
                self._options.include_dirs,
                lambda file: self._original(path, file),
                contents,
            ),
            accepts=lambda contents, files: self._others_accept(path, contents, files),
            contents=dict(self.edited.after),
            wanted=self._reporting.shows if together else lambda finding: True,
            tell=lambda done, total: self._tell(path, done, total),
        )
        return fixes_of(source) if together else fixes_of_each(source)

    def _take(self, path: str, fixes: SourceFixes) -> None:
        edited = self.edited
        changed = {real for real, data in fixes.contents.items() if edited.after.get(real, edited.before[real]) != data}
        edited.after.update((real, fixes.contents[real]) for real in changed)
        edited.fixed += fixes.fixed
        edited.left += fixes.left
        for other, known in list(self._states.items()):
            if other != path and not changed.isdisjoint(os.path.realpath(name) for name in known.sources):
                state = self._check(other, edited.after)
                if state is not None:
                    self._states[other] = state

    def _check(self, path: str, contents: Contents) -> Checked | None:
        try:
            return unproven_source(path, replace(self._options, contents=contents))
        except Exception as error:
            self.edited.unreadable.append(problem_of(path, error))
        return None

    def _state(self, path: str, contents: Contents) -> State:
        from streamsan.edits.source import State

        known = self._states[path]
        # What was checked already need not be read again.
        fresh = contents != self.edited.after
        checked = unproven_source(path, replace(self._options, contents=contents)) if fresh else known
        return State(checked.findings, checked.operations)

    def _kept(self, path: str, contents: Contents, findings: Sequence[Finding]) -> Sequence[Finding]:
        checked = self._states[path]
        texts = dict(checked.sources)
        for name in texts:
            new = contents.get(os.path.realpath(name))
            if new is not None:
                texts[name] = _decoded(new)
        report = self._reporting.report([replace(checked, findings=tuple(findings), sources=texts)])
        return report.findings

    def _others_accept(self, path: str, contents: Contents, files: Collection[str]) -> bool:
        from streamsan.edits.comparison import new_findings

        real = {os.path.realpath(file) for file in files}
        for other, state in self._states.items():
            if other == path or real.isdisjoint(os.path.realpath(name) for name in state.sources):
                continue
            try:
                after = unproven_source(other, replace(self._options, contents=contents))
            except UnreadableError:
                return False
            if new_findings(state.findings, after.findings):
                return False
        return True

    def _editable(self, file: str) -> bool:
        """Tell whether a file was named, or lies beside or below one that was."""
        real = os.path.realpath(file)
        beside = real.startswith(self._folders) and Path(real).suffix.lower() in SOURCE_SUFFIXES
        return (real in self._named or beside) and is_writable(real)

    def _original(self, path: str, file: str) -> bytes:
        real = os.path.realpath(file)
        known = self.edited.before.get(real)
        if known is None:
            known = Path(real).read_bytes()
            if _decoded(known) != self._states[path].sources.get(file):
                raise UnreadableError(file, "the file changed while it was checked")
            self.edited.before[real] = known
            self.edited.names[real] = file
        return known


def _identity(finding: Finding) -> tuple[str, Place, str]:
    return finding.code, finding.location.place, finding.message


def _without_edit(finding: Finding, reason: str) -> Finding:
    return replace(finding, properties={**finding.properties, NO_EDIT: reason})


def _decoded(data: bytes) -> str:
    from streamsan.cuda_syntax.source_code import decode

    return decode(data)[0]
