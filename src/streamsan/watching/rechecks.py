"""Checks of a trace that grows, each a process of its own, so rarely that all of them together stay a share of the run.

A check takes as long as the trace is. The next one begins when the trace has grown by half, or the run is quiet and
the trace has grown at all, but not before RATIO times as long as the last one took has passed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import BinaryIO

from streamsan.analysis.checked import UnreadableError
from streamsan.checking.json_findings import json_findings
from streamsan.findings.finding import Finding

RATIO = 5.0
GROWTH = 1.5

Start = Callable[[str, BinaryIO], "subprocess.Popen[bytes]"]


def start_check(options: Sequence[str], path: str, output: BinaryIO) -> subprocess.Popen[bytes]:
    """Start a check of a trace whose JSON report goes to a file; no fixes: they are for the report at the end.

    `options`: further ones of `streamsan check`.
    """
    words = ["check", "--no-fixes", "--format", "json", "--exit-zero", "--jobs", "1", *options, "--", path]
    return subprocess.Popen(
        # Not `-m` alone: the current folder is no place to import modules from.
        [sys.executable, "-P", "-m", "streamsan", *words],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.DEVNULL,
    )


class Rechecks:
    """The checks of one run."""

    def __init__(self, clock: Callable[[], float], start: Start) -> None:
        self._clock = clock
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._output: BinaryIO | None = None
        self._began = self._free_from = float("-inf")
        self._path = ""
        self._asked = 0
        self.checked = 0
        """operations that the last check saw, at least"""
        self.findings: Sequence[Finding] = ()

    @property
    def running(self) -> bool:
        """Whether a check runs."""
        return self._process is not None

    def look(self, path: str, operations: int, quiet: bool) -> None:
        """Take what a check found, and begin the next one where it is time. `quiet`: nothing came since last time."""
        if self._process is not None:
            self._take()
        if self._process is None and self._is_due(operations, quiet):
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 (until the process has ended)
            self._process = self._start(path, self._output)
            self._path, self._asked, self._began = path, operations, self._clock()

    def stop(self) -> None:
        """End a check that runs."""
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()
            self._process.wait()
            self._process = None

    def _is_due(self, operations: int, quiet: bool) -> bool:
        if operations <= self._asked or self._clock() < self._free_from:
            return False
        return quiet or operations >= GROWTH * self._asked

    def _take(self) -> None:
        assert self._process is not None
        assert self._output is not None
        if self._process.poll() is None:
            return
        self._process = None
        now = self._clock()
        self._free_from = now + RATIO * (now - self._began)
        self._output.seek(0)
        # A file that was half written may be none for a check; the next one sees more.
        with self._output as output, suppress(UnreadableError):
            self.findings = json_findings(self._path, output.read()).findings
            self.checked = self._asked
