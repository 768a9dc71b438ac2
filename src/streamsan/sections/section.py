"""What is found in a block of a running program."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Sequence

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.traces import analyse_section
from streamsan.checking.reporting import Reporting
from streamsan.findings.finding import Finding, Severity
from streamsan.recorder.completion import complete
from streamsan.recorder.preconditions import RecordingError
from streamsan.report import Problem, Report
from streamsan.report.formats.text import finding_lines
from streamsan.sections.present_recorder import (
    TOO_LATE,
    begins_at,
    cuda_is_initialised,
    process_began,
    recorder_of_this_process,
)

CUT = "partial result: the block did more than the recording has room for, and only its end was checked"


class Section:
    """A block of the program, from the moment in which this is made until `end`."""

    def __init__(
        self,
        *,
        fixes: bool = True,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        suppressions: Sequence[str] = (),
    ) -> None:
        """Begin. The options are those of `streamsan.check`. Raises RecordingError, OptionError."""
        self._reporting = Reporting.of(select=select, ignore=ignore, suppressions=suppressions, fixes=fixes)
        self._recorder = recorder_of_this_process()
        self._process = os.getpid()
        self._name = os.path.basename(sys.argv[0]) or "python"
        self._first = self._recorder.latest() + 1
        self._report: Report | None = None
        self.told = False
        """a report on it was given"""

    def end(self) -> None:
        """End the block: what comes later is no part of it. Raises RecordingError where CUDA was used unseen."""
        # A forked child leaves the block too: it is its parent's.
        if self._report is None and os.getpid() == self._process:
            self._report = self._checked()

    def report(self) -> Report:
        """Check the block, as far as it has come, and return the report: findings, notes too, and what limits it."""
        return self._report or self._checked()

    def findings(self) -> list[Finding]:
        """Check the block, as far as it has come, and return all findings, notes too."""
        return list(self.report().findings)

    def problem(self) -> str:
        """Return the report on warnings and errors, "" if there are none."""
        report = self.report()
        if all(finding.severity is Severity.NOTE for finding in report.findings):
            return ""
        self.told = True
        return "\n".join(line.plain for line in finding_lines(report, None)).rstrip()

    def check(self) -> None:
        """Raise AssertionError, with the report as its message, if a finding is a warning or an error.

        What limits the result is a warning of Python's.
        """
        for problem in self.report().problems:
            if not problem.remark:
                warnings.warn(f"streamsan: {problem.message}", RuntimeWarning, stacklevel=3)
        if wrong := self.problem():
            raise AssertionError(f"streamsan found in this block\n\n{wrong}")

    def _checked(self) -> Report:
        if self._recorder.file():
            return self._read()
        omissions = self._recorder.omissions()
        if cuda_is_initialised():
            raise RecordingError(next(iter(omissions), TOO_LATE))
        return self._reporting.report([], [Problem(self._name, line) for line in omissions])

    def _read(self) -> Report:
        with tempfile.TemporaryDirectory(prefix="streamsan-", ignore_cleanup_errors=True) as folder:
            copy = self._recorder.copy(folder, self._first)
            lines = self._recorder.omissions()
            if min(begins_at(part.path) for part in os.scandir(folder)) > self._first:
                lines.append(CUT)
            completed = complete([copy], process_began(), source=True, redaction=None)
            lines += [problem.removeprefix(f"{copy}: ") for problem in completed.problems]
            checked = self._analysed(copy)
        lines += checked.problems
        return self._reporting.report([checked], [Problem(self._name, line) for line in dict.fromkeys(lines)])

    def _analysed(self, copy: str) -> Checked:
        try:
            return analyse_section(
                copy, self._first, self._recorder.settings.output, self._name, proofs=self._reporting.proofs
            )
        except UnreadableError as error:
            raise RecordingError(f"the recording of this process cannot be read: {error.reason}") from error
