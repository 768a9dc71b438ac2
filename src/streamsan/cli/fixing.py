"""`streamsan check --diff` and `--fix`: edits for the findings of all sources that were named."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.source_files import unproven_source
from streamsan.analysis.source_options import SourceOptions
from streamsan.analysis.suffixes import SOURCE_SUFFIXES, TRACE_SUFFIX
from streamsan.checking.defects import problem_of
from streamsan.checking.folders import Input
from streamsan.cli import recorded_fixing
from streamsan.cli.edited import Edited
from streamsan.cli.report_options import ReportOptions
from streamsan.cli.rewriting import is_writable
from streamsan.cli.seeker import Seeker, Tell, without_edit
from streamsan.cuda_syntax.file_content import decode
from streamsan.edits.comparison import new_findings
from streamsan.edits.cpp.language import Cpp, read
from streamsan.edits.source import Contents, State
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.findings.finding import Finding
from streamsan.report import Problem

NEEDS_SOURCE = "edits need source: name the sources that the program was built from"


def seek(inputs: Sequence[Input], options: SourceOptions, reporting: ReportOptions, tell: Tell) -> Edited:
    """Seek edits for the findings that the report shows; later sources are checked with the edits of the earlier.

    Notes are left alone but where `--notes` shows them or `--select` names them.
    """
    return _SourceSeeker([each.path for each in inputs], options, reporting, tell).run(inputs)


def with_edits(
    results: Iterable[Checked], options: SourceOptions, reporting: ReportOptions, tell: Tell
) -> tuple[list[Checked], list[Problem]]:
    """Return checked inputs whose findings have edits, each one of the text as it is; and what went wrong."""
    checked = list(results)
    seeker = _SourceSeeker([result.path for result in checked], options, reporting, tell)
    return [seeker.with_edits(result) for result in checked], seeker.edited.failed


class _SourceSeeker(Seeker):
    SEVERAL_AT_ONCE = True

    def __init__(self, named: Iterable[str], options: SourceOptions, reporting: ReportOptions, tell: Tell) -> None:
        super().__init__(reporting, tell)
        self._options = options
        # Standard input is no file: what it says is known from the beginning.
        self.edited.before.update(options.contents)
        self.edited.names.update((os.path.realpath(path), path) for path in named if options.contents)
        self._states: dict[str, Checked] = {}
        """path of a source -> what is in it with all edits so far"""
        # Of the paths as given: a link among them does not lead out of its folder.
        folders = {os.path.realpath(os.path.dirname(path) or os.curdir) for path in named}
        self._folders = tuple(folder.rstrip(os.sep) + os.sep for folder in folders)

    def run(self, inputs: Sequence[Input]) -> Edited:
        """Check all sources, then fix one after the other; then what was recorded of Python programs."""
        included: set[str] = set()
        sources = [each for each in inputs if not _is_trace(each.path)]
        traces = [each.path for each in inputs if _is_trace(each.path)]
        others = recorded_fixing.seek(self.edited, traces, self._options, self._reporting, self._tell)
        self.edited.recordings = bool(inputs) and not sources
        if inputs and not sources and len(others) == len(traces):
            self.edited.needs_source = True
            self.edited.unreadable += [Problem(each.path, NEEDS_SOURCE) for each in inputs]
        for number, each in enumerate(sources):
            if each.only_if_not_included and os.path.realpath(each.path) in included:
                continue
            self._tell(each.path, number, len(sources))
            if self._check(each.path):
                included.update(os.path.realpath(file) for file in self._states[each.path].sources)
        for path in list(self._states):
            changed = self.seek(path)
            for other in list(self._states):
                if other != path and self._has_any(other, changed):
                    self._check(other)
        return self.edited

    def with_edits(self, checked: Checked) -> Checked:
        """Return a checked source with an edit for each finding, where there is one."""
        if _is_trace(checked.path):
            edited = recorded_fixing.with_edits(checked, self._tell)
            findings = (without_edit(each, NEEDS_SOURCE) for each in checked.findings)
            return edited if edited is not None else replace(checked, findings=tuple(findings))
        self._states[checked.path] = checked
        return super().with_edits(checked)

    def _check(self, path: str) -> bool:
        """Check a source with all edits so far. Returns whether it could be read."""
        try:
            self._states[path] = unproven_source(path, self._with(self.edited.after))
        except Exception as error:
            self.edited.unreadable.append(problem_of(path, error))
            return False
        return True

    def _with(self, contents: Contents) -> SourceOptions:
        return replace(self._options, contents={**self._options.contents, **contents})

    def _has_any(self, path: str, files: Collection[str]) -> bool:
        return any(os.path.realpath(name) in files for name in self._states[path].sources)

    # -- what a source says -----------------------------------------------------------------------

    def state(self, path: str, contents: Contents) -> State:
        """Check a source with new contents; what was checked already is not read again."""
        checked = self._states[path]
        if contents != self.edited.after:
            checked = unproven_source(path, self._with(contents))
        return State(checked.findings, checked.operations)

    def read(self, path: str, contents: Contents, original: Callable[[str], bytes]) -> Callable[[EditableTrace], Cpp]:
        compiler, *_ = self._options.configurations(path)
        return read(path, compiler, original, self._with(contents).contents)

    def texts(self, path: str, contents: Contents, findings: Sequence[Finding]) -> Mapping[str, str]:
        texts = self._states[path].sources
        new = {name: contents.get(os.path.realpath(name)) for name in texts}
        return {name: text if (data := new[name]) is None else decode(data)[0] for name, text in texts.items()}

    def has_changed(self, path: str, file: str, data: bytes) -> bool:
        return decode(data)[0] != self._states[path].sources.get(file)

    def is_editable(self, file: str) -> bool:
        """Tell whether a file, where links lead to, lies beside or below one that was named."""
        real = os.path.realpath(file)
        if real in self._options.contents:  # standard input: nothing is written
            return True
        return real.startswith(self._folders) and Path(real).suffix.lower() in SOURCE_SUFFIXES and is_writable(real)

    def others_accept(self, path: str, contents: Contents, files: Collection[str]) -> bool:
        real = {os.path.realpath(file) for file in files}
        for other, state in self._states.items():
            if other == path or not self._has_any(other, real):
                continue
            try:
                after = unproven_source(other, self._with(contents))
            except UnreadableError:
                return False
            if new_findings(state.findings, after.findings):
                return False
        return True


def _is_trace(path: str) -> bool:
    return Path(path).suffix.lower() == TRACE_SUFFIX
