"""Starting a program as a shell does, and waiting for it; it keeps what it inherits, and signals reach it."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

NOT_FOUND = 127
_SHELL = "/bin/sh"

Environment = Callable[[int], Mapping[bytes, bytes]]
"""process id of the program -> its environment"""

# From the keyboard these go to the program too: it decides what they mean, and its report follows.
_LEFT_TO_THE_PROGRAM = (signal.SIGINT, signal.SIGQUIT)
# These are sent to one process, and meant for the program (batch systems announce the end of its time with SIGUSR1).
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def find_program(name: str, environment: Mapping[bytes, bytes]) -> str:
    """Return the path of a program as a shell with this environment finds it.

    Raises OSError: FileNotFoundError, or PermissionError.
    """
    if "/" in name:
        os.stat(name)
        if os.path.isdir(name) or not os.access(name, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return name
    refused = False
    search_path = os.fsdecode(environment.get(b"PATH", os.fsencode(os.defpath)))
    for folder in search_path.split(os.pathsep):
        path = os.path.join(folder or ".", name)
        if os.path.isfile(path):
            if os.access(path, os.X_OK):
                return path
            refused = True
    if refused:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    raise FileNotFoundError(errno.ENOENT, "command not found", name)


def run_program(path: str, arguments: Sequence[str], environment: Environment, output: int = 1) -> int:
    """Run a program (arguments[0] is its name) and return its exit status, below 0 for the signal that ended it.

    It inherits all that is inherited over exec; `output` is the descriptor that becomes its standard output. Raises
    OSError when it cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with _signals_as_bytes() as (arrived, before, mask):
        told, tell = os.pipe()  # closed by a successful exec, else it carries the reason
        try:
            # None may arrive between the fork and the exec: the child would handle it as we do.
            signal.pthread_sigmask(signal.SIG_BLOCK, before)
            child = os.fork()
            if child == 0:
                _become(path, arguments, environment, tell, before, mask, output)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask - {signal.SIGCHLD})
            os.close(tell)
        with os.fdopen(told, "rb") as answer:
            reason = answer.read()
        status = _wait(child, arrived)
    if reason:
        raise OSError(int(reason), os.strerror(int(reason)), path)
    return status


@contextmanager
def _signals_as_bytes() -> Iterator[tuple[int, Mapping[signal.Signals, Any], set[int]]]:
    """Let each signal that is passed on, and SIGCHLD, arrive as a byte in a pipe.

    Yields the descriptor to read, the handlers before by signal, and the mask before. A handler in Python would run too
    late: if the signal comes just before the call that waits for the child, or if another thread takes it, Python runs
    the handler when that call has returned.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    before: dict[signal.Signals, Any] = {}
    arrived, arrive = os.pipe()
    os.set_blocking(arrive, False)
    awakened = signal.set_wakeup_fd(arrive, warn_on_full_buffer=False)
    try:
        for number in (*_LEFT_TO_THE_PROGRAM, *PASSED_ON, signal.SIGCHLD):
            # SIGCHLD even so: where it is ignored, nothing is left of a child to wait for.
            if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
                ours = signal.SIG_IGN if number in _LEFT_TO_THE_PROGRAM else _nothing_more
                before[number] = signal.signal(number, ours)
        yield arrived, before, mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(awakened)
        os.close(arrived)
        os.close(arrive)


def _nothing_more(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal of which a byte in the pipe tells."""


def _wait(child: int, arrived: int) -> int:
    """Pass signals on to the child until it has ended; return its exit status."""
    while True:
        for number in os.read(arrived, 1):
            if number != signal.SIGCHLD:
                os.kill(child, number)  # it is there, or not yet waited for
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)


def _become(
    path: str,
    arguments: Sequence[str],
    environment: Environment,
    tell: int,
    before: Mapping[signal.Signals, Any],
    mask: Iterable[int],
    output: int,
) -> NoReturn:
    """In the child: become the program, or tell why not."""
    try:
        if output != 1:
            os.dup2(output, 1)
        # Python ignores SIGPIPE and SIGXFSZ for itself; what was ignored before it started stays so.
        for number in (*before, signal.SIGPIPE, signal.SIGXFSZ):
            ignored = before.get(number) is signal.SIG_IGN
            signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        variables = environment(os.getpid())
        try:
            os.execve(path, list(arguments), variables)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            os.execve(_SHELL, [_SHELL, path, *arguments[1:]], variables)  # a script without `#!`, as execvp does it
    except BaseException as error:
        reason = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
        os.write(tell, str(reason).encode())
    finally:
        os._exit(NOT_FOUND)
