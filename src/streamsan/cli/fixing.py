"""`streamsan check --diff` and `--fix`: the fixes of all sources that were named, shown or written."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamsan.analysis import (
    SOURCE_SUFFIXES,
    TRACE_SUFFIX,
    Checked,
    SourceOptions,
    UnreadableError,
    reason_of,
    unproven_source,
)
from streamsan.cli.defects import defect
from streamsan.cli.inputs import Input
from streamsan.cli.patches import unified_diff
from streamsan.cli.pipes import silence_stdout
from streamsan.cli.report_options import ReportOptions
from streamsan.cli.rewriting import RewriteError, is_writable, require_unchanged, rewrite
from streamsan.findings import Finding, Severity
from streamsan.report import Problem
from streamsan.report.excerpt import printable

if TYPE_CHECKING:
    from streamsan.evidence.source_fixes import Contents, Fixed, NotFixed, SourceFixes, State

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
    needs_source: bool = False
    """only traces were named"""


def seek(inputs: Sequence[Input], options: SourceOptions, reporting: ReportOptions) -> Edited:
    """Seek edits for the selected findings of the inputs; later ones are checked with the edits of the earlier."""
    return _Seeker(inputs, options, reporting).run()


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


def _say(finding: Finding, text: str) -> None:
    where = finding.location
    line = f"streamsan: {where.file}:{where.line}: {finding.code}: {text}"
    click.echo(printable(line), err=True)


class _Seeker:
    def __init__(self, inputs: Sequence[Input], options: SourceOptions, reporting: ReportOptions) -> None:
        self._inputs = inputs
        self._options = options
        self._reporting = reporting
        self._edited = Edited()
        self._states: dict[str, Checked] = {}
        """path of a source -> what is in it with all edits so far"""
        self._named = {os.path.realpath(each.path) for each in inputs}
        self._folders = tuple({os.path.dirname(real) + os.sep for real in self._named})

    def run(self) -> Edited:
        """Check all sources, then fix one after the other."""
        included: set[str] = set()
        sources = [each for each in self._inputs if Path(each.path).suffix.lower() != TRACE_SUFFIX]
        if self._inputs and not sources:
            self._edited.needs_source = True
            self._edited.unreadable += [Problem(each.path, NEEDS_SOURCE) for each in self._inputs]
        for each in sources:
            if each.only_if_not_included and os.path.realpath(each.path) in included:
                continue
            checked = self._check(each.path, {})
            if checked is not None:
                self._states[each.path] = checked
                included.update(os.path.realpath(file) for file in checked.sources)
        for path in list(self._states):
            self._fix(path)
        return self._edited

    def _fix(self, path: str) -> None:
        # Imported late: only who wants edits waits for what makes them.
        from streamsan.evidence.source_fixes import Source, fixes_of

        source = Source(
            path=path,
            defines=self._options.defines,
            include_dirs=self._options.include_dirs,
            check=lambda contents: self._state(path, contents),
            keep=lambda contents, findings: self._kept(path, contents, findings),
            editable=self._editable,
            original=lambda file: self._original(path, file),
            accepts=lambda contents, files: self._others_accept(path, contents, files),
            contents=dict(self._edited.after),
        )
        try:
            self._take(path, fixes_of(source))
        except OSError as error:
            self._edited.failed.append(Problem(path, reason_of(error)))
        except UnreadableError as error:
            self._edited.failed.append(Problem(error.path, error.reason))
        except Exception as error:
            # A defect of ours must not take the other sources with it.
            if os.environ.get("STREAMSAN_DEBUG"):
                raise
            self._edited.failed.append(Problem(path, defect(error)))

    def _take(self, path: str, fixes: SourceFixes) -> None:
        edited = self._edited
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
        except UnreadableError as error:
            self._edited.unreadable.append(Problem(path, error.reason))
        except Exception as error:
            if os.environ.get("STREAMSAN_DEBUG"):
                raise
            self._edited.unreadable.append(Problem(path, defect(error)))
        return None

    def _state(self, path: str, contents: Contents) -> State:
        from streamsan.evidence.source_fixes import State

        checked = unproven_source(path, replace(self._options, contents=contents))
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
        from streamsan.evidence.source_compare import brings_up

        real = {os.path.realpath(file) for file in files}
        for other, state in self._states.items():
            if other == path or real.isdisjoint(os.path.realpath(name) for name in state.sources):
                continue
            try:
                after = unproven_source(other, replace(self._options, contents=contents))
            except UnreadableError:
                return False
            if brings_up(state.findings, after.findings):
                return False
        return True

    def _editable(self, file: str) -> bool:
        """Tell whether a file was named, or lies beside or below one that was."""
        real = os.path.realpath(file)
        beside = real.startswith(self._folders) and Path(real).suffix.lower() in SOURCE_SUFFIXES
        return (real in self._named or beside) and is_writable(real)

    def _original(self, path: str, file: str) -> bytes:
        real = os.path.realpath(file)
        known = self._edited.before.get(real)
        if known is None:
            known = Path(real).read_bytes()
            if _decoded(known) != self._states[path].sources.get(file):
                raise UnreadableError(file, "the file changed while it was checked")
            self._edited.before[real] = known
            self._edited.names[real] = file
        return known


def _decoded(data: bytes) -> str:
    from streamsan.cuda_source.syntax.source import decode

    return decode(data)[0]
