"""A Python program on the simulated device: run for its user, and run again, unseen, with edits of its text."""

from __future__ import annotations

import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.traces import unproven_trace
from streamsan.recorder.child_process import run_program
from streamsan.sim import overlay
from streamsan.sim.fault_files import faults_in
from streamsan.sim.numba_settings import numba_settings
from streamsan.sim.options import SimulationOptions
from streamsan.sim.settings import CODE, FAILED, VARIABLE, Settings
from streamsan.sim.shim_path import SHIM
from streamsan.sim.trace_parts import collect
from streamsan.trace import Trace, TraceError

STDOUT, STDERR = 1, 2
LONGER = 5
"""times the time of the first run that a run with edits may take, and `AT_LEAST` seconds beside"""
AT_LEAST = 30.0


class Ran(Struct, frozen=True):
    """One run of a program."""

    status: int
    """below 0 for the signal that ended it"""
    trace: Trace | None
    """None: it ended before its first call was recorded"""
    looks: Sequence[Mapping[str, Any]] = ()
    """what its functions could name, see `streamsan.python_program.visible_names`"""
    faults: Sequence[str] = ()
    """what its work did wrong on the device, one line each"""
    failed: bool = False
    """streamsan could not begin, and has said why"""


class TooSlowError(Exception):
    """A run with edits took far longer than the program did."""


class SimulatedProgram:
    """A program with its arguments, and the device that it runs on."""

    def __init__(self, kind: str, command: Sequence[str], options: SimulationOptions, kernels: str) -> None:
        """`kind` is "script" or "module"; `command` begins with its path or name."""
        self.kind = kind
        self.command = list(command)
        self.options = options
        self.kernels = kernels
        self.started = 0.0
        self._seconds = 0.0
        self._position = _position_of_input()

    @property
    def name(self) -> str:
        """The script or module, as it was given."""
        return self.command[0]

    def run(self, *, looked_at: bool = False, output: int = STDOUT) -> Ran:
        """Run it for its user.

        `looked_at`: what its functions can name is noted, for edits. `output` is where its standard output goes.
        """
        self.started = time.time()
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="streamsan-") as folder:
            if looked_at:
                overlay.give(folder, {})
            command, environment = self._started_in(folder)
            status = run_program(sys.executable, command, lambda process: environment, output)
            self._seconds = time.monotonic() - begin
            return self._ran(status, folder, looked_at)

    def run_again(self, contents: Mapping[str, bytes]) -> Ran:
        """Run it once more, unseen, with new contents of some of its files. Raises TooSlowError."""
        folder = tempfile.mkdtemp(prefix="streamsan-")
        try:
            overlay.give(folder, contents)
            command, environment = self._started_in(folder)
            _rewind_input(self._position)
            status = _run_unseen(command, environment, LONGER * self._seconds + AT_LEAST, self._position is not None)
            return self._ran(status, folder, True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _started_in(self, folder: str) -> tuple[list[str], dict[bytes, bytes]]:
        settings = Settings(self.options, folder, self.name, self.kernels)
        python_path = os.pathsep.join([SHIM, *_import_path(os.environ.get("PYTHONPATH", ""))])
        added = {os.fsencode(name): os.fsencode(value) for name, value in numba_settings(os.environ).items()}
        environment = {
            **os.environb,
            **added,
            VARIABLE.encode(): os.fsencode(settings.packed()),
            b"PYTHONPATH": os.fsencode(python_path),
        }
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        return [sys.executable, *flags, "-P", "-c", CODE, self.kind, *self.command], environment

    @staticmethod
    def _ran(status: int, folder: str, looked_at: bool) -> Ran:
        if os.path.exists(os.path.join(folder, FAILED)):
            return Ran(status, None, failed=True)
        looks: Sequence[Mapping[str, Any]] = ()
        if looked_at:
            from streamsan.python_program.visible_names import read

            looks = read(folder)
        return Ran(status, collect(folder), looks, faults_in(folder))


def checked(ran: Ran, path: str) -> Checked:
    """Check what a program did, without witnesses and fixes. Raises UnreadableError."""
    if ran.trace is None:
        raise UnreadableError(path, "the program was ended before its first call was recorded")
    try:
        return unproven_trace(ran.trace, path)
    except TraceError as error:
        raise UnreadableError(path, error.reason) from error


def _run_unseen(command: Sequence[str], environment: Mapping[bytes, bytes], seconds: float, with_input: bool) -> int:
    given = None if with_input else subprocess.DEVNULL
    with subprocess.Popen(
        command,
        env=environment,
        stdin=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return process.wait(seconds)
        except BaseException as error:
            # The program and all that it started.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise TooSlowError from error
            raise


def _position_of_input() -> int | None:
    """Return where standard input stands, if it is a file that can be read again."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR)
    except OSError:
        return None


def _rewind_input(position: int | None) -> None:
    if position is not None:
        with suppress(OSError):
            os.lseek(0, position, os.SEEK_SET)


def _import_path(given: str) -> list[str]:
    """Return what is to stand in PYTHONPATH behind the shim: what was there, and streamsan where nothing finds it."""
    entries = [entry for entry in given.split(os.pathsep) if entry]
    package = str(Path(__file__).resolve().parents[2])
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    if package not in {os.path.realpath(entry) for entry in (*entries, *installed)}:
        entries.append(package)
    return entries
