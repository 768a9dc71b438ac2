"""What `streamsan.testing.device()` gives: the simulated device as a test sees it."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.analysis.checked import Checked
from streamsan.analysis.traces import check_trace
from streamsan.findings.finding import Finding, Severity
from streamsan.report import Report
from streamsan.report.formats import text
from streamsan.sim.session import Session
from streamsan.trace import Trace
from streamsan.vocabulary import ExitKind


class Device:
    """A simulated device, during and after its `with` block."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._trace: Trace | None = None
        self.told = False
        """a report on it was given"""

    @property
    def kernels(self) -> dict[str, Callable[..., object]]:
        """Bodies of kernels by name; may be added to."""
        return self._session.kernels.bodies

    def trace(self) -> Trace:
        """Return the trace so far; after the block, the whole one."""
        return self._session.trace() if self._trace is None else self._trace

    def findings(self) -> list[Finding]:
        """Check the trace so far and return all findings, notes too."""
        return list(self._checked().findings)

    def check(self) -> None:
        """Raise AssertionError, with the report as its message, if a finding is a warning or an error."""
        found = self.problem()
        if found:
            raise AssertionError(f"the simulated device found\n\n{found}")

    def problem(self) -> str:
        """Return the report on findings at warning or above so far, "" if there are none."""
        checked = self._checked()
        wrong = tuple(finding for finding in checked.findings if finding.severity is not Severity.NOTE)
        if not wrong:
            return ""
        self.told = True
        report = Report(findings=wrong, files=1, operations=checked.operations, sources=self._quoted(wrong))
        lines = [line.plain for line in text.lines(report, width=None)]
        return "\n".join([*lines, *self._session.faults])

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of device memory as they are now, whatever is still pending. Raises IllegalAddressError."""
        with self._session.lock:
            return self._session.memory.view(int(address), size).tobytes() if size else b""

    def write(self, address: int, data: bytes) -> None:
        """Change bytes of device memory at once. Raises IllegalAddressError."""
        with self._session.lock:
            if data:
                self._session.memory.view(int(address), len(data))[:] = memoryview(data)

    def faults(self) -> list[str]:
        """Return what work did wrong on the device so far (errors 700 and 719), one line each."""
        return list(self._session.faults)

    def gave_up(self) -> None:
        """Note that an exception ended the program: what it would have freed at its end is no finding."""
        self._session.exit_kind = ExitKind.ABORTED

    def close(self) -> None:
        """End the program: what is still pending runs, and the trace is complete."""
        if self._trace is None:
            self._trace = self._session.finish()
            self._session.discard()

    def _checked(self) -> Checked:
        trace = self.trace()
        return check_trace(trace, trace.path)

    def _quoted(self, findings: tuple[Finding, ...]) -> dict[str, str]:
        files = {finding.location.file for finding in findings}
        files |= {related.file for finding in findings for related in finding.related}
        texts = {file: self._session.sources.text(file) for file in sorted(files)}
        return {file: found for file, found in texts.items() if found is not None}
