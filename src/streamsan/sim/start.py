"""Begins and ends the session of a process that `streamsan sim` started, directly or through its parents."""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, ModuleType

from streamsan.sim import active, fork_watch, overlay, thread_watch, wait_watch
from streamsan.sim.kernel_bodies import Body
from streamsan.sim.loaded_kernels import BODIES
from streamsan.sim.not_simulated import say_in_one_line
from streamsan.sim.numba_settings import calls_bindings
from streamsan.sim.session import Session
from streamsan.sim.settings import Settings, from_environment
from streamsan.vocabulary import ExitKind

NUMBA = "numba.cuda"
UNSEEN = ("torch", "cupy", NUMBA, "jax", "tensorflow", "pycuda")
"""Modules that reach CUDA without `cuda.bindings`; Numba can use them."""


HANGS = 2
"""exit status of a program that would wait for ever"""


class KernelFileError(Exception):
    """A file of kernel bodies cannot be used. `str()` is one line with its name and the reason."""


def ensure_session() -> None:
    """Begin the session of this process, if it is one of a simulated program and has none yet."""
    if active.current() is None:
        settings = from_environment()
        if settings is not None:
            begin(settings)


def begin(settings: Settings) -> Session:
    """Begin a session that lasts as long as the process. Raises KernelFileError."""
    session = Session(settings.options, settings.program, settings.folder)
    if overlay.install(settings.folder):
        # Imported late: only a run that edits are sought for looks at what the program can name.
        from streamsan.python_program.visible_names import Names

        session.sites.watch = Names(settings.folder, session.builder).note
    if settings.kernels:
        session.kernels.register(bodies_of(settings.kernels))
    session.on_hang = _end_at_once
    active.push(session)
    thread_watch.watch()
    fork_watch.watch()
    wait_watch.watch()
    say_in_one_line()
    # Registered first, so it runs last: exit handlers of the program may still call CUDA.
    atexit.register(_end)
    return session


def bodies_of(file: str) -> Mapping[str, Body]:
    """Return the kernel bodies that a file gives. Raises KernelFileError."""
    try:
        found = runpy.run_path(file).get(BODIES)
    except OSError as error:
        raise KernelFileError(f"{file}: {error.strerror}") from error
    except (Exception, SystemExit) as error:
        raise KernelFileError(f"{file}: {type(error).__name__}: {' '.join(str(error).split())}") from error
    if not isinstance(found, Mapping) or not all(callable(body) for body in found.values()):
        raise KernelFileError(f"{file}: {BODIES} is not there, or does not give a function for each name")
    return found


def ended_by(status: object) -> None:
    """Note with which status the program ends, as sys.exit takes it.

    One that fails, or that an exception did not let come to its end, was not going to free everything: what is left is
    no finding.
    """
    session = active.current()
    if session is not None and status not in (None, 0):
        session.exit_kind = ExitKind.ABORTED


def _end_at_once(line: str) -> None:
    """End a program that can never go on, with status 2: this is what its user would do to it."""
    with suppress(Exception):
        sys.stdout.flush()
    print(f"streamsan: {line}", file=sys.stderr, flush=True)
    os._exit(HANGS)


def _end() -> None:
    session = active.current()
    if session is not None:
        if not session.is_forked and hasattr(sys, "last_value"):
            # Python has shown an uncaught exception of a process that the program started itself.
            session.exit_kind = ExitKind.ABORTED
        _tear_down(sys.modules.get("__main__"))
        _say_unseen(session)
        session.end_process()


def _say_unseen(session: Session) -> None:
    """Note libraries that call CUDA from compiled code: what they did is not simulated and not in the trace."""
    for name in UNSEEN:
        if name in sys.modules and not (name == NUMBA and calls_bindings()):
            session.not_understood(f"CUDA calls of {name} are not simulated: nothing is known of them")


def _tear_down(module: ModuleType | None) -> None:
    """Let go of the main module's objects: what they free in `__del__` is freed now, while somebody sees it.

    Functions, classes and modules stay: Python's own end leaves them to these methods too.
    """
    if module is None or from_environment() is None:
        return
    names = vars(module)
    for name, value in list(names.items()):
        if not name.startswith("__") and not isinstance(value, ModuleType | FunctionType | BuiltinFunctionType | type):
            names[name] = None
        del value
    gc.collect()
