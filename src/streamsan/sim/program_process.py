"""The process in which `streamsan sim` runs a program: everything as `python` itself would have it.

python -P -c "from streamsan.sim.program_process import main; main()" script PATH ARGUMENTS...
python -P -c "from streamsan.sim.program_process import main; main()" module NAME ARGUMENTS...
"""

from __future__ import annotations

import io
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from streamsan.sim.settings import FAILED, Settings, from_environment
from streamsan.sim.shim_path import SHIM
from streamsan.sim.start import KernelFileError, begin, ended_by

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def main() -> NoReturn:
    """Run the program that the arguments name, to its end."""
    kind, target, *arguments = sys.argv[1:]
    settings = from_environment()
    if settings is None:
        sys.exit("streamsan: this is for `streamsan sim` to call")
    if SHIM not in sys.path:
        sys.path.insert(0, SHIM)  # -E and -I keep PYTHONPATH out
    try:
        begin(settings)
    except KernelFileError as error:
        _refuse(settings, str(error))
    sys.argv = [target, *arguments]
    try:
        if kind == "module":
            _run_module(target)
        else:
            _run_script(target)
    except SystemExit as error:
        ended_by(error.code)
        raise
    except KeyboardInterrupt as error:
        ended_by(1)
        _show(error)
        sys.excepthook = _nothing  # Python ends itself by the signal, as it does without streamsan
        raise
    except BaseException as error:
        ended_by(1)
        _show(error)
        sys.exit(1)
    sys.exit(0)


def _refuse(settings: Settings, reason: str) -> NoReturn:
    print(f"streamsan: {reason}", file=sys.stderr)
    Path(settings.folder, FAILED).touch()
    os._exit(2)


def _run_script(path: str) -> None:
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    file = os.path.abspath(path)
    module = ModuleType("__main__")
    module.__dict__.update(
        __file__=file,
        __builtins__=sys.modules["builtins"],
        __loader__=SourceFileLoader("__main__", file),
        __cached__=None,
        __annotations__={},
    )
    with io.open_code(file) as opened:
        code: CodeType = compile(opened.read(), file, "exec", dont_inherit=True)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _run_module(name: str) -> None:
    sys.path.insert(0, os.getcwd())
    sys.argv[0] = "-m"
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=sys.modules["builtins"], __cached__=None, __annotations__={})
    sys.modules["__main__"] = module
    # What `python -m` itself calls: the module runs in __main__, and so pickles and spawns as it does there.
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]


def _show(error: BaseException) -> None:
    """Show an uncaught exception without the frames of streamsan."""
    own = _own(error.__traceback__)
    sys.excepthook(type(error), error.with_traceback(own), own)


def _own(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the program's first frame on."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(name: str) -> bool:
    return name.startswith((_PACKAGE, "<frozen runpy>")) or name == "<string>"


def _nothing(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    return None
