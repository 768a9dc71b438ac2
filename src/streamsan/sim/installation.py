"""Puts the simulated `cuda.bindings` into this process's imports, and takes it out again."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from streamsan.sim.shim_path import SHIM


class Installation:
    """While it is entered, `import cuda.bindings` gives the simulated modules. May be nested."""

    _depth = 0
    _saved: dict[str, ModuleType] = {}  # noqa: RUF012 - one state for the whole process, as sys.modules is

    def __enter__(self) -> Installation:
        if Installation._depth == 0:
            Installation._saved = _taken_out()
            sys.path.insert(0, SHIM)
            importlib.invalidate_caches()
        Installation._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        Installation._depth -= 1
        if Installation._depth == 0:
            _taken_out()
            sys.modules.update(Installation._saved)
            Installation._saved = {}
            if SHIM in sys.path:
                sys.path.remove(SHIM)
            importlib.invalidate_caches()


def _taken_out() -> dict[str, ModuleType]:
    """Remove the modules of `cuda` from those that are imported, and return them."""
    names = [name for name in sys.modules if name == "cuda" or name.startswith("cuda.")]
    return {name: sys.modules.pop(name) for name in names}
