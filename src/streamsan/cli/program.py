"""What is said of programs that are not started, and ending as one ended: what `run` and `sim` have in common."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from contextlib import suppress

import click

from streamsan.analysis.checked import reason_of
from streamsan.recorder.child_process import NOT_FOUND
from streamsan.report.printable import printable

NOT_EXECUTABLE = 126


def say_not_started(name: str, error: OSError) -> int:
    """Say in one line why a program was not started; return the exit status that a shell would give."""
    click.echo(f"streamsan: {printable(name)}: {reason_of(error)}", err=True)
    return NOT_FOUND if error.errno in (errno.ENOENT, errno.ENOTDIR) else NOT_EXECUTABLE


def end_as(status: int) -> int:
    """Return a program's exit status; if a signal ended it, end by that signal, as it would have been without us."""
    if status >= 0:
        return status
    number = -status
    # The program has left its core file, where one was wanted.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    with suppress(OSError, ValueError):  # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number
