"""Edits for the findings of recordings of Python programs: `check F.sst --diff`, `run --diff`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from streamsan.analysis.checked import Checked
from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.defects import problem_of
from streamsan.cli.edited import Edited
from streamsan.cli.report_options import ReportOptions, say_each
from streamsan.cli.seeker import Tell, without_edit
from streamsan.edits.recorded.recorded_fixes import RecordedFixes, fixes_of_recording
from streamsan.edits.source_text import EditError
from streamsan.edits.trial import NotFixed
from streamsan.evidence.proofs import Proofs
from streamsan.findings.finding import Finding, Fix
from streamsan.findings.suppressions import PYTHON_SUFFIXES
from streamsan.report import Problem
from streamsan.rules.case import case_of
from streamsan.trace import Trace
from streamsan.trace.own_code import is_own_source

NO_PROOFS = Proofs(lambda finding: False, fixes=False)
TWICE = "its file has edits for another recording already: make those, and record again"


def seek(
    edited: Edited, paths: Sequence[str], options: SourceOptions, reporting: ReportOptions, tell: Tell
) -> list[str]:
    """Seek edits for recordings, and add them. Returns those that are of no Python program."""
    others = []
    for path in paths:
        try:
            checked = analyse_path(path, options, proofs=NO_PROOFS)
        except Exception as error:
            edited.unreadable.append(problem_of(path, error))
            continue
        say_each(Problem(path, message) for message in checked.problems)
        if not add_edits(edited, checked, reporting, tell):
            others.append(path)
    return others


def add_edits(edited: Edited, checked: Checked, reporting: ReportOptions, tell: Tell) -> bool:
    """Add the edits for what a recording's report shows. Returns False where it is of no Python program."""
    kept = reporting.report([checked]).findings
    trace = _trace_of(checked.findings)
    if trace is None:
        return any(file.endswith(PYTHON_SUFFIXES) for file in checked.stored_lines)
    if not _is_of_python(trace):
        return False
    shown = [each for each in kept if reporting.shows(each)]
    texts = _Texts()
    try:
        fixes = fixes_of_recording(trace, shown, texts.read, lambda done, total: tell(checked.path, done, total))
    except Exception as error:
        edited.failed.append(problem_of(checked.path, error))
        return True
    for file, data in fixes.contents.items():
        real = os.path.realpath(file)
        if real in edited.after:
            _take_back(fixes, file)
            continue
        edited.before[real], edited.after[real], edited.names[real] = texts.read(file), data, file
    edited.fixed += fixes.fixed
    edited.left += fixes.left
    edited.notes += len(kept) - len(shown)
    return True


def with_edits(checked: Checked, tell: Tell) -> Checked | None:
    """Return a recording with an edit for each finding, of the text as it is; None where it is of no Python program."""
    trace = _trace_of(checked.findings)
    if trace is None or not _is_of_python(trace):
        return None
    texts = _Texts()
    findings = []
    for number, finding in enumerate(checked.findings):
        tell(checked.path, number, len(checked.findings))
        try:
            fixes = fixes_of_recording(trace, [finding], texts.read)
        except Exception as error:
            findings.append(without_edit(finding, problem_of(checked.path, error).message))
            continue
        if fixes.fixed:
            (fixed,) = fixes.fixed
            finding = replace(finding, fix=Fix(fixed.summary, verified=True, edits=fixed.edits), no_fix="")
        else:
            finding = without_edit(finding, fixes.left[0].reason)
        findings.append(finding)
    return replace(checked, findings=tuple(findings))


class _Texts:
    """Files of the program, each read once: below the current folder, as a trace may name any file."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}
        self._folder = os.path.join(os.path.realpath(os.getcwd()), "")

    def read(self, file: str) -> bytes:
        """Return the bytes of a file. Raises EditError, OSError."""
        if file not in self._known:
            real = os.path.realpath(file)
            if not real.startswith(self._folder):
                raise EditError(f"{file} lies outside the current folder")
            if not os.path.isfile(real):
                raise EditError(f"{file} is not here")
            self._known[file] = Path(real).read_bytes()
        return self._known[file]


def _trace_of(findings: Sequence[Finding]) -> Trace | None:
    cases = (case_of(finding) for finding in findings)
    return next((case.names for case in cases if case is not None and isinstance(case.names, Trace)), None)


def _is_of_python(trace: Trace) -> bool:
    """Tell whether the program's own code is Python anywhere."""
    files = {trace.site(number).file for number in range(1, len(trace.sites))}
    return any(file.endswith(PYTHON_SUFFIXES) and is_own_source(file) for file in files)


def _take_back(fixes: RecordedFixes, file: str) -> None:
    """Leave out the fixes that edit a file."""
    for each in [each for each in fixes.fixed if any(edit.file == file for edit in each.edits)]:
        fixes.fixed.remove(each)
        fixes.left.append(NotFixed(each.finding, TWICE))
