"""`streamsan sim --diff` and `--fix`: edits of a Python program's text, each tried by running the program again."""

from __future__ import annotations

import os
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.judged_worlds import executed_places
from streamsan.cli.edited import Edited
from streamsan.cli.report_options import ReportOptions
from streamsan.cli.rewriting import is_writable
from streamsan.cli.seeker import Seeker, Tell
from streamsan.cli.simulated import Ran, SimulatedProgram, TooSlowError, checked
from streamsan.edits.python.language import Python
from streamsan.edits.python.module_text import PythonText
from streamsan.edits.source import Contents, State
from streamsan.edits.source_text import EditError
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.findings.finding import Finding
from streamsan.report import Problem
from streamsan.trace import Trace

MOST_SECONDS = 600
"""that a program is run for edits of it, in all"""
NOTHING = State((), -1)
"""what a run with an edit is worth that did not come to its end"""
INSTALLED = ("site-packages", "dist-packages")


def seek(program: SimulatedProgram, first: Ran, reporting: ReportOptions, tell: Tell) -> Edited:
    """Seek edits for the findings of a run that its report shows, each on top of those before it."""
    seeker = _RunSeeker(program, first, reporting, tell)
    seeker.seek(program.name)
    return seeker.edited


def with_edits(
    checked: Checked, program: SimulatedProgram, first: Ran, reporting: ReportOptions, tell: Tell
) -> tuple[Checked, list[Problem]]:
    """Return what was found in a run with an edit for each finding, of the text as it is; and what went wrong."""
    seeker = _RunSeeker(program, first, reporting, tell)
    return seeker.with_edits(checked), seeker.edited.failed


class _RunSeeker(Seeker):
    SEVERAL_AT_ONCE = False  # one edit often makes several findings of a run go away

    def __init__(self, program: SimulatedProgram, first: Ran, reporting: ReportOptions, tell: Tell) -> None:
        super().__init__(reporting, tell)
        self._program = program
        self._first = first
        self._looks: WeakKeyDictionary[Trace, Sequence[Mapping[str, Any]]] = WeakKeyDictionary()
        self._begin = time.monotonic()
        script = os.path.dirname(os.path.realpath(program.name)) if program.kind == "script" else ""
        folders = {os.path.join(each, "") for each in (script, os.path.realpath(os.getcwd())) if each}
        self._folders = tuple(folders)
        paths = sysconfig.get_paths()
        self._foreign = tuple(os.path.join(os.path.realpath(paths[each]), "") for each in ("stdlib", "platstdlib"))

    def state(self, path: str, contents: Contents) -> State:
        """Run the program with new contents, and check what it did."""
        if contents and time.monotonic() > self._begin + MOST_SECONDS:
            self._stopped()
            return NOTHING
        try:
            ran = self._program.run_again(contents) if contents else self._first
            found = checked(ran, path)
        except (TooSlowError, UnreadableError):
            return NOTHING
        assert ran.trace is not None
        self._looks[ran.trace] = ran.looks
        return State(found.findings, len(executed_places(ran.trace)), ran.status)

    def read(
        self, path: str, contents: Contents, original: Callable[[str], bytes]
    ) -> Callable[[EditableTrace], Python]:

        def of_trace(trace: EditableTrace) -> Python:
            assert isinstance(trace.trace, Trace)
            return Python(trace, self._python_texts(contents, trace.trace, original), self._looks[trace.trace])

        return of_trace

    def texts(self, path: str, contents: Contents, findings: Sequence[Finding]) -> Mapping[str, str]:
        files = {each.location.file: os.path.realpath(each.location.file) for each in findings}
        new = {file: contents[real] for file, real in files.items() if real in contents}
        return {file: "\n".join(PythonText(file, data).lines) for file, data in new.items()}

    def has_changed(self, path: str, file: str, data: bytes) -> bool:
        return os.stat(file).st_mtime > self._program.started

    def is_editable(self, file: str) -> bool:
        """Tell whether a file is one of the program's own, and may be written."""
        real = os.path.realpath(file)
        return real.startswith(self._folders) and self._is_own(real) and is_writable(real)

    # -- parts ----------------------------------------------------------------------------------

    def _stopped(self) -> None:
        words = f"no more edits were sought: the program ran for {MOST_SECONDS} seconds with those that were tried"
        if not any(problem.message == words for problem in self.edited.failed):
            self.edited.failed.append(Problem(self._program.name, words))

    def _python_texts(
        self, contents: Contents, trace: Trace, original: Callable[[str], bytes]
    ) -> Mapping[str, PythonText]:
        texts: dict[str, PythonText] = {}
        for file in {trace.site(number).file for number in range(1, len(trace.sites))}:
            real = os.path.realpath(file)
            if not file.endswith(".py") or not self._is_own(real) or not os.path.isfile(real):
                continue
            try:
                texts[file] = PythonText(file, contents[real] if real in contents else original(file))
            except EditError:
                continue
        return texts

    def _is_own(self, real: str) -> bool:
        """Tell whether a file belongs to the program: not to Python, and not to what is installed for it."""
        return not real.startswith(self._foreign) and not any(each in INSTALLED for each in Path(real).parts)
