"""The report of `streamsan sim`: what a run's trace shows, and where that is written."""

from __future__ import annotations

import signal
from collections import deque
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.traces import check_trace, unproven_trace
from streamsan.cli.report_options import ReportOptions, deliver, fails_strictly, has_findings, say_problems
from streamsan.cli.simulated import Ran
from streamsan.evidence.proofs import Proofs
from streamsan.report import Problem, Report
from streamsan.trace import Trace, TraceError
from streamsan.trace.store import owners

_CRASHES = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT})


class Reporter(Struct, frozen=True):
    """How the report is made, and where it goes."""

    options: ReportOptions
    file: str
    witness: bool
    """whether witnesses are replayed"""
    stream: TextIO | None
    """where it goes without a file; None: nowhere"""

    def deliver(self, report: Report) -> tuple[bool, bool]:
        """Write a report. Returns whether there are findings, and whether it was not written or, `--strict`, not all
        was seen.
        """
        if self.witness:
            # Imported late: only a replay waits for what performs it.
            from streamsan.replay.replayed_findings import with_replays

            report = replace(report, findings=tuple(with_replays(report.findings)))
        say_problems(report)
        written = True
        if self.file:
            written = deliver(report, self.options, self.file)
        elif self.stream is not None:
            self.stream.write(self.options.render(report, self.stream))
            self.stream.flush()
        return has_findings(report), fails_strictly(report, self.options) or not written


def checked_run(trace: Trace | None, target: str, proofs: Proofs | None) -> tuple[list[Checked], list[Problem]]:
    """Check what a program did. Returns the result, if there is one, and what limits it.

    `proofs`: what is sought of witnesses and fixes; None: nothing.
    """
    if trace is None:
        return [], [Problem(target, "not checked: the program was ended before its first call was recorded")]
    try:
        checked = unproven_trace(trace, target) if proofs is None else check_trace(trace, target, proofs=proofs)
    except (TraceError, UnreadableError) as error:
        return [], [Problem(target, f"not checked: {error}")]
    return [checked], [Problem(target, message) for message in checked.problems]


def crashes(status: int, trace: Trace | None, target: str) -> list[Problem]:
    """Return that a program ended itself by a wrong access (status: below 0 for the signal), and its last call."""
    if -status not in _CRASHES:
        return []
    line = f"the program ended by {signal.Signals(-status).name}"
    last = deque((chunk[owners(chunk)][-1:] for chunk in trace.chunks()), 1) if trace is not None else ()
    for slot in (slot for slots in last for slot in slots):
        assert trace is not None
        site, api = trace.site(int(slot["site"])), trace.apis[int(slot["api"])]
        place = f" at {site.file}:{site.line}" if site.line else ""
        line += f"; the last call that was recorded is `{api}`{place}" if api else ""
    return [Problem(target, f"{line}. A copy to host memory of unknown size may overwrite the program's own")]


def faults(ran: Ran, target: str) -> list[Problem]:
    """Return what work of the program did wrong on the device: the program may not have looked at the error."""
    return [Problem(target, f"work on the device failed: {line}", remark=True) for line in ran.faults]
