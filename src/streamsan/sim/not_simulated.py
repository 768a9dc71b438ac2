"""Modules that call the driver from compiled code: their import ends a simulated program with one line."""

from __future__ import annotations

import sys
from types import TracebackType


class NotSimulatedError(ImportError):
    """A module is not simulated. `str()` says which, and what is."""

    def __init__(self, module: str) -> None:
        """Name the module."""
        super().__init__(
            f"streamsan sim simulates cuda.bindings (driver, runtime, nvrtc); {module} is not simulated", name=module
        )


class NotSimulatedNameError(AttributeError):
    """Part of a module is not simulated. `str()` says which."""

    def __init__(self, name: str) -> None:
        """Take the name with its module's."""
        super().__init__(f"{name} is not simulated by streamsan sim", name=name.rpartition(".")[2])


def say_in_one_line() -> None:
    """Let a program that one of these errors ends say so in one line, not in a traceback."""
    shown = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, NotSimulatedError):
            print(f"{error}{_importer(trace)}", file=sys.stderr)
        elif isinstance(error, NotSimulatedNameError):
            print(f"{error}{_line(trace)}", file=sys.stderr)
        else:
            shown(kind, error, trace)

    sys.excepthook = show


def _importer(trace: TracebackType | None) -> str:
    """Return which module wanted the import, where that is not the program itself."""
    module, line = "", 0
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        if not name.startswith(("cuda", "importlib", "_frozen_importlib")):
            module, line = name, trace.tb_lineno
        trace = trace.tb_next
    return f" ({module} imports it in line {line})" if module not in ("", "__main__") else ""


def _line(trace: TracebackType | None) -> str:
    """Return where the program is that used the name."""
    file, line = "", 0
    while trace is not None:
        if not str(trace.tb_frame.f_globals.get("__name__", "")).startswith("streamsan."):
            file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return f" ({file}:{line})" if file else ""
