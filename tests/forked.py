"""`streamsan`, and programs under `streamsan sim`, in forks of the test's process.

Python, numpy and streamsan are imported there already: each saves a second. Tests whose subject is the process start
real ones: tests/cli/test_sim_command.py and test_run_command.py the commands as a user types them,
tests/cli/test_sim_shared_memory.py families.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import multiprocessing.process
import multiprocessing.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from streamsan.cli import main, simulated
from streamsan.recorder.injection import DRIVER
from streamsan.sim.settings import CODE

TESTS = str(Path(__file__).parent)


@pytest.fixture
def forked_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run programs under `streamsan sim` in forks, while the test lasts."""
    monkeypatch.setattr(simulated, "run_program", _run_program)
    monkeypatch.setattr(simulated, "_run_unseen", _run_unseen)


def streamsan(
    folder: Path, *arguments: str, environment: Mapping[str, str] = os.environ, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `python -m streamsan` with arguments in a folder."""

    def command() -> object:
        os.chdir(folder)
        _load_driver()
        simulated.run_program, simulated._run_unseen = _run_program, _run_unseen
        return main(arguments)

    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given.write(text.encode())
        given.seek(0)
        variables = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        status = _forked(command, variables, given.fileno(), output.fileno(), errors.fileno())
        shown = [(stream.seek(0), stream.read().decode())[1] for stream in (output, errors)]
    assert "streamsan/cli" not in shown[1], shown[1]  # in a traceback
    return subprocess.CompletedProcess(["streamsan", *arguments], status, *shown)


def _load_driver() -> None:
    """Load the driver that the environment names: the loader reads LD_LIBRARY_PATH only as a process starts."""
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        library = Path(folder, DRIVER)
        if library.is_file() and library.stat().st_size:
            ctypes.CDLL(str(library))
            return


def _run_program(_path: str, command: Sequence[str], environment: simulated.Environment, output: int = 1) -> int:
    return _forked(_program(command), environment(0), 0, output, 2)


def _run_unseen(command: Sequence[str], environment: Mapping[bytes, bytes], _seconds: float, with_input: bool) -> int:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return _forked(_program(command), environment, 0 if with_input else null, null, null)
    finally:
        os.close(null)


def _program(command: Sequence[str]) -> Callable[[], object]:
    """Return what does as `python -c CODE ARGUMENTS...`."""

    def run() -> None:
        sys.argv = ["-c", *command[command.index(CODE) + 1 :]]
        exec(compile(CODE, "<string>", "exec"), {"__name__": "__main__"})

    return run


def _forked(body: Callable[[], object], environment: Mapping[bytes, bytes], *streams: int) -> int:
    """Run a function as the whole program of a child, with an environment and three streams; return how it ended."""
    _load_what_programs_load()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        # What all tests hold is shared with them: a collection in here would write to all of it, and so copy it.
        gc.freeze()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.environb.clear()
        os.environb.update(environment)
        _be_the_program(body)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@functools.cache
def _load_what_programs_load() -> None:
    """Import and read once for all children what each would load for itself."""
    import numpy.ma  # noqa: F401  -- `numpy.unique` imports it

    from streamsan.analysis import traces  # noqa: F401
    from streamsan.cli import check, configuration, run, sim, verbs  # noqa: F401
    from streamsan.cuda_source import explore  # noqa: F401
    from streamsan.evidence import second_pass  # noqa: F401
    from streamsan.launched_code import resolution  # noqa: F401
    from streamsan.model.hardware import load_machine
    from streamsan.platforms import CUDA
    from streamsan.recorder import completion  # noqa: F401
    from streamsan.report.formats import json, text  # noqa: F401
    from streamsan.sim import program_process, program_text  # noqa: F401
    from streamsan.sim.bindings import namespace, nvrtc_functions  # noqa: F401
    from streamsan.trace.symboliser import finished_file  # noqa: F401

    load_machine(1)
    assert CUDA.effects
    assert CUDA.waits
    assert CUDA.memory


def _be_the_program(body: Callable[[], object]) -> NoReturn:
    """Run a function as an interpreter runs its program, down to its end."""
    status = 1
    try:
        _forget_the_tests()
        try:
            status = _status_of(body())
        except SystemExit as error:
            status = _status_of(error.code)
        except KeyboardInterrupt:
            status = -signal.SIGINT
        threading._shutdown()  # type: ignore[attr-defined]
        multiprocessing.util._exit_function()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
    finally:
        os._exit(status)


def _forget_the_tests() -> None:
    """Leave of the test's process what a fresh interpreter has, and what streamsan has imported."""
    atexit._clear()
    multiprocessing.process._children = set()  # type: ignore[attr-defined]
    multiprocessing.util._finalizer_registry.clear()  # type: ignore[attr-defined]
    warnings.resetwarnings()
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, sys.__unraisablehook__
    threading.excepthook = threading.__excepthook__
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_pytest")]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, given), *(entry for entry in sys.path if not entry.startswith(TESTS))]
    for name in [name for name in sys.modules if name.partition(".")[0] == "cuda" or _is_of_the_tests(name)]:
        del sys.modules[name]


def _is_of_the_tests(name: str) -> bool:
    return (getattr(sys.modules[name], "__file__", None) or "").startswith(TESTS)


def _status_of(code: object) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1
