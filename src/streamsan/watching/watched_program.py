"""A program that is recorded by `streamsan run` in a process of its own, with its output in files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import BinaryIO

SHOWN = 4096
"""bytes at the end of each output that a view shows"""


class WatchedProgram:
    """One run. Its outputs are kept apart, and whole: `forward` gives them on unchanged."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        """Start `streamsan` with these words; outputs lie in `folder`. Raises OSError."""
        self._paths = [os.path.join(folder, name) for name in ("stdout", "stderr")]
        with open(self._paths[0], "wb") as output, open(self._paths[1], "wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "streamsan", *words],
                stdin=subprocess.DEVNULL,  # the keyboard is the view's
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def is_over(self) -> bool:
        """Tell whether the run has ended, report and all."""
        return self._process.poll() is not None

    def last_output(self) -> str:
        """Return the end of what was printed, on standard output, then on standard error."""
        return "\n".join(filter(None, map(_end_of, self._paths)))

    def interrupt(self) -> None:
        """Send the program what Ctrl-C sends; `streamsan run` leaves it to the program."""
        if not self.is_over:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGINT)

    def pass_on(self, number: int) -> None:
        """Give a signal to `streamsan run`, which passes it on to the program."""
        self._process.send_signal(number)

    def end(self) -> None:
        """Ask a run that goes on to end, and wait for that."""
        if not self.is_over:
            self.pass_on(signal.SIGTERM)
            self._process.wait()

    def forward(self, output: BinaryIO, errors: BinaryIO) -> int:
        """Give on all that was printed, and what is still to come; return the exit status, below 0 for a signal."""
        with open(self._paths[0], "rb") as printed, open(self._paths[1], "rb") as said:
            while True:
                over = self.is_over
                for source, target in ((printed, output), (said, errors)):
                    shutil.copyfileobj(source, target)
                    target.flush()
                if over:
                    return self._process.returncode
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.2)


def _end_of(path: str) -> str:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - SHOWN))
        return file.read().decode("utf-8", "replace").rstrip("\n")
