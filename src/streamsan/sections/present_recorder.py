"""The recorder in this process: how it gets there, and what it has written."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from streamsan.recorder.environment import COLLECTIVES, HEAPS, INJECTION, SETTINGS, Settings
from streamsan.recorder.injection import DRIVER, has_driver
from streamsan.recorder.launch import Wanted, omissions_in, prepared_settings
from streamsan.recorder.preconditions import RecordingError, obstacle, required_library
from streamsan.recorder.run_files import run_files
from streamsan.trace import reader
from streamsan.trace.family import OLDER, SUFFIX

NOT_INITIALIZED = 3
"""CUDA_ERROR_NOT_INITIALIZED"""
TOO_LATE = (
    "CUDA was in use in this process before the recorder was asked for: call streamsan.torch.prepare() before that "
    "(with pytest: --streamsan-check), or start the program by `streamsan run`"
)
MOST_BYTES = 1 << 30
"""of the recording that is kept, where nobody says another number"""
_MOST_ATTEMPTS = 8
_COUNTER_BYTES = 8


class NoDriverError(RecordingError):
    """There is no CUDA driver on this machine."""


class PresentRecorder(Struct, frozen=True):
    """The recorder of this process, from the moment on in which CUDA is initialised."""

    settings: Settings

    def latest(self) -> int:
        """Return the number of the latest operation of the run."""
        try:
            with open(self.settings.counter, "rb") as file:
                return int.from_bytes(file.read(_COUNTER_BYTES), sys.byteorder)
        except OSError as error:
            raise RecordingError(f"the recording of this process is gone: {error.strerror}") from error

    def omissions(self) -> list[str]:
        """Return what could not be recorded, a line each."""
        return omissions_in(self.settings.omissions)

    def file(self) -> str:
        """Return the file that this process writes, "" as long as there is none."""
        own = [
            file.path
            for file in run_files(self.settings.output)
            if file.run == self.settings.run and file.process == os.getpid() and not file.older
        ]
        return own[-1] if own else ""

    def copy(self, folder: str, first: int) -> str:
        """Copy the file as it is now into a folder, with the part before it where that has operations from `first` on.

        Return the copy's path, "" where there is no file. Its process writes on meanwhile: what is committed is whole.
        """
        copy = os.path.join(folder, f"section{SUFFIX}")
        older = os.path.join(folder, f"section{OLDER}{SUFFIX}")
        for _ in range(_MOST_ATTEMPTS):
            path = self.file()
            if not path:
                return ""
            try:
                before = os.stat(path).st_ino
                shutil.copyfile(path, copy)
                Path(older).unlink(missing_ok=True)
                part_before = path.removesuffix(SUFFIX) + OLDER + SUFFIX
                if begins_at(copy) > first and os.path.exists(part_before):
                    shutil.copyfile(part_before, older)
                if os.stat(path).st_ino == before:
                    return copy
            except FileNotFoundError:
                pass  # a new file was begun
        raise RecordingError("the recording is renewed faster than it can be read: allow it more bytes")


def begins_at(path: str) -> int:
    """Return the number of a trace's first operation that does not restate another, 0 where it has all."""
    return int(reader.open_file(path).tables.metadata.get(reader.BEGINS_AT, 0))


def process_began() -> float:
    """Return when this process began, in seconds since 1970, to the second."""
    with open("/proc/self/stat", "rb") as file:
        ticks = int(file.read().rpartition(b")")[2].split()[19])
    # The kernel counts in hundredths.
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK") + 0.1


def cuda_is_initialised() -> bool:
    """Tell whether CUDA is in use in this process. Initialises and loads nothing."""
    try:
        driver = ctypes.CDLL(DRIVER, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    context = ctypes.c_void_p()
    return bool(driver.cuCtxGetCurrent(ctypes.byref(context)) != NOT_INITIALIZED)


def recorder_of_this_process(max_bytes: int = 0) -> PresentRecorder:
    """Return the recorder of this process; it is asked for where `streamsan run` or an earlier call has not done so.

    Raises RecordingError where there can be none.
    """
    if SETTINGS not in os.environ:
        _ask_for_recorder(max_bytes or MOST_BYTES)
    found = PresentRecorder(Settings.unpacked(os.environ[SETTINGS]))
    if not found.file() and cuda_is_initialised():
        raise RecordingError(next(iter(found.omissions()), TOO_LATE))
    return found


def _ask_for_recorder(max_bytes: int) -> None:
    library = required_library()
    if reason := obstacle(os.environb, library):
        raise RecordingError(reason)
    if not has_driver():
        raise NoDriverError(f"there is no CUDA driver ({DRIVER}) on this machine")
    if cuda_is_initialised():
        raise RecordingError(TOO_LATE)
    folder = tempfile.mkdtemp(prefix="streamsan-")
    atexit.register(_remove, folder, os.getpid())
    settings = prepared_settings(folder, "", sys.executable, os.environb, Wanted(max_bytes=max_bytes))
    # The driver reads the environment as it is when CUDA is initialised, and so does streamsan.h.
    os.environ[INJECTION] = str(library)
    os.environ.setdefault(HEAPS, str(library))
    os.environ.setdefault(COLLECTIVES, str(library))
    os.environ[SETTINGS] = settings.packed(os.getpid())


def _remove(folder: str, owner: int) -> None:
    # A forked child has the exit handlers of its parent.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
