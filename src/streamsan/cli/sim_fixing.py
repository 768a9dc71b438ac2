"""`streamsan sim --diff` and `--fix`: edits of a Python program's text, each tried by running the program again."""

from __future__ import annotations

import os
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.source_files import executed_places
from streamsan.cli.defects import problem_of
from streamsan.cli.fixing import NO_EDIT, Edited, Tell
from streamsan.cli.progress import progress
from streamsan.cli.report_options import ReportOptions
from streamsan.cli.rewriting import is_writable
from streamsan.cli.simulated import Ran, SimulatedProgram, TooSlowError, checked
from streamsan.edits.fixes import SourceFixes, fixes_of, fixes_of_each
from streamsan.edits.python.language import Python
from streamsan.edits.python.text import PythonText
from streamsan.edits.source import Contents, Source, State
from streamsan.edits.text import EditError
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.findings.finding import Finding, Fix, Place
from streamsan.report import Problem
from streamsan.report.printable import printable
from streamsan.trace import Trace

MOST_SECONDS = 600
"""that a program is run for edits of it, in all"""
NOTHING = State((), -1)
"""what a run with an edit is worth that did not come to its end"""
INSTALLED = ("site-packages", "dist-packages")


@contextmanager
def seeking() -> Iterator[Tell]:
    """Give a function that shows how many findings are done: on a terminal only, and gone when done."""
    with progress() as show:
        if show is None:
            yield lambda program, done, total: None
        else:
            yield lambda program, done, total: show(f"edits of {printable(program)[-60:]}", done, total)


def seek(program: SimulatedProgram, first: Ran, reporting: ReportOptions, tell: Tell) -> Edited:
    """Seek edits for the findings of a run that its report shows, each on top of those before it."""
    seeker = _Seeker(program, first, reporting, tell)
    fixes = seeker.sought(together=True)
    edited = seeker.edited
    if fixes is not None:
        edited.after.update((real, data) for real, data in fixes.contents.items() if edited.before[real] != data)
        edited.fixed += fixes.fixed
        edited.left += fixes.left
        edited.notes += sum(not reporting.shows(each) for each in seeker.kept(fixes.contents, fixes.remaining))
    return edited


def with_edits(
    checked: Checked, program: SimulatedProgram, first: Ran, reporting: ReportOptions, tell: Tell
) -> tuple[Checked, list[Problem]]:
    """Return what was found in a run with an edit for each finding, of the text as it is; and what went wrong.

    A finding without an edit says why in its property `no_edit`.
    """
    seeker = _Seeker(program, first, reporting, tell)
    fixes = seeker.sought(together=False)
    if fixes is None:
        return checked, seeker.edited.failed
    fixed = {_identity(each.finding): Fix(each.summary, verified=True, edits=each.edits) for each in fixes.fixed}
    left = {_identity(each.finding): each.reason for each in fixes.left}
    findings = []
    for finding in checked.findings:
        key = _identity(finding)
        if key in fixed:
            findings.append(replace(finding, fix=fixed[key], no_fix=""))
        elif key in left:
            findings.append(replace(finding, properties={**finding.properties, NO_EDIT: left[key]}))
        else:
            findings.append(finding)
    return replace(checked, findings=tuple(findings)), seeker.edited.failed


def _identity(finding: Finding) -> tuple[str, Place, str]:
    return finding.code, finding.location.place, finding.message


class _Seeker:
    def __init__(self, program: SimulatedProgram, first: Ran, reporting: ReportOptions, tell: Tell) -> None:
        self.edited = Edited()
        self._tell = tell
        self._program = program
        self._reporting = reporting
        self._first = first
        self._looks: WeakKeyDictionary[Trace, Sequence[Mapping[str, Any]]] = WeakKeyDictionary()
        self._begin = time.monotonic()
        script = os.path.dirname(os.path.realpath(program.name)) if program.kind == "script" else ""
        folders = {os.path.join(each, "") for each in (script, os.path.realpath(os.getcwd())) if each}
        self._folders = tuple(folders)
        paths = sysconfig.get_paths()
        self._foreign = tuple(os.path.join(os.path.realpath(paths[each]), "") for each in ("stdlib", "platstdlib"))

    def sought(self, *, together: bool) -> SourceFixes | None:
        """Return edits for the findings: of all that the report shows in one text, or for each by itself.

        None where that was not possible, which `edited.failed` says.
        """
        source = Source(
            check=self.state,
            keep=self.kept,
            editable=self.editable,
            original=self.original,
            several_at_once=False,  # one edit often makes several findings of a run go away
            read=lambda contents: lambda trace: self.language(contents, trace),
            wanted=self._reporting.shows if together else lambda finding: True,
            tell=lambda done, total: self._tell(self._program.name, done, total),
        )
        try:
            return fixes_of(source) if together else fixes_of_each(source)
        except Exception as error:
            self.edited.failed.append(problem_of(self._program.name, error))
            return None

    # -- what a source is asked for -------------------------------------------------------------

    def state(self, contents: Contents) -> State:
        """Run the program with new contents, and check what it did."""
        if contents and time.monotonic() > self._begin + MOST_SECONDS:
            self._stopped()
            return NOTHING
        try:
            ran = self._program.run_again(contents) if contents else self._first
            found = checked(ran, self._program.name)
        except (TooSlowError, UnreadableError):
            return NOTHING
        assert ran.trace is not None
        self._looks[ran.trace] = ran.looks
        return State(found.findings, len(executed_places(ran.trace)), ran.status)

    def kept(self, contents: Contents, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Return the findings that are selected and not suppressed."""
        texts: dict[str, str] = {}
        for finding in findings:
            real = os.path.realpath(finding.location.file)
            data = contents.get(real)
            if data is not None:
                texts[finding.location.file] = "\n".join(PythonText(real, data).lines)
        found = Checked(self._program.name, tuple(findings), 0, texts)
        return self._reporting.report([found]).findings

    def editable(self, file: str) -> bool:
        """Tell whether a file is one of the program's own, and may be written."""
        real = os.path.realpath(file)
        return real.startswith(self._folders) and self._is_own(real) and is_writable(real)

    def original(self, file: str) -> bytes:
        """Return the bytes of a file that the program ran. Raises OSError, UnreadableError."""
        real = os.path.realpath(file)
        known = self.edited.before.get(real)
        if known is None:
            if os.stat(real).st_mtime > self._program.started:
                raise UnreadableError(file, "the file changed while the program ran")
            known = self.edited.before[real] = Path(real).read_bytes()
            self.edited.names[real] = file
        return known

    def language(self, contents: Contents, trace: EditableTrace) -> Python:
        """Return the program's language for one run."""
        assert isinstance(trace.trace, Trace)
        return Python(trace, self._texts(contents, trace.trace), self._looks[trace.trace])

    # -- parts ----------------------------------------------------------------------------------

    def _stopped(self) -> None:
        words = f"no more edits were sought: the program ran for {MOST_SECONDS} seconds with those that were tried"
        if not any(problem.message == words for problem in self.edited.failed):
            self.edited.failed.append(Problem(self._program.name, words))

    def _texts(self, contents: Contents, trace: Trace) -> Mapping[str, PythonText]:
        texts: dict[str, PythonText] = {}
        for file in {trace.site(number).file for number in range(1, len(trace.sites))}:
            real = os.path.realpath(file)
            if not file.endswith(".py") or not self._is_own(real) or not os.path.isfile(real):
                continue
            try:
                texts[file] = PythonText(file, contents[real] if real in contents else self.original(file))
            except EditError:
                continue
        return texts

    def _is_own(self, real: str) -> bool:
        """Tell whether a file belongs to the program: not to Python, and not to what is installed for it."""
        return not real.startswith(self._foreign) and not any(each in INSTALLED for each in Path(real).parts)
