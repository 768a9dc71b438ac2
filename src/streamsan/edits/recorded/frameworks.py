"""How PyTorch, CuPy and pyopencl write a wait; which of them, or cuda.bindings, a module uses."""

from __future__ import annotations

import ast

from msgspec import Struct

from streamsan.edits.python.imports import imports_of
from streamsan.edits.python.places import PythonPlace
from streamsan.edits.recorded.name_scopes import is_bound
from streamsan.platforms import CUDA


class Framework(Struct, frozen=True):
    """The words of one framework."""

    module: str
    default: str
    """the default stream, behind the module's name"""
    stream_waits: str
    """one stream waits for what another has so far; {module} {waits} {runs}"""
    host_waits: str
    """for a stream; {runs}"""
    device_waits: str
    """for all; behind the module's name"""
    default_handle: int = CUDA.legacy_stream

    def default_stream(self, place: PythonPlace) -> str:
        """Return the default stream as it is written at a place, "" where the framework has no name there."""
        name = self.name(place)
        return f"{name}.{self.default}" if name and self.default else ""

    def name(self, place: PythonPlace) -> str:
        """Return what a module calls the framework, "" where that is not known at a place."""
        for node in place.text.tree.body:
            for alias in node.names if isinstance(node, ast.Import) else ():
                if alias.name.partition(".")[0] == self.module:
                    name = alias.asname or self.module
                    if (not alias.asname or alias.name == self.module) and is_bound(name, place):
                        return name
        return ""


TORCH = Framework(
    "torch",
    "cuda.default_stream()",
    "{waits}.wait_stream({runs})",
    "{runs}.synchronize()",
    "cuda.synchronize()",
)
CUPY = Framework(
    "cupy",
    "cuda.Stream.null",
    "{waits}.wait_event({runs}.record())",
    "{runs}.synchronize()",
    "cuda.runtime.deviceSynchronize()",
)
PYOPENCL = Framework("pyopencl", "", "", "{runs}.finish()", "", -1)


class _Bindings(Framework, frozen=True):
    """cuda.bindings: its calls are written as those around them (`streamsan.edits.python.phrases`)."""

    def default_stream(self, place: PythonPlace) -> str:
        return "0"

    def name(self, place: PythonPlace) -> str:
        return next((each.name for each in imports_of(place)), "")


BINDINGS = _Bindings("cuda.bindings", "", "", "", "")


def framework_of(place: PythonPlace) -> Framework | None:
    """Return the framework that a module uses: of several the one that has streams of its own."""
    return next((each for each in (TORCH, CUPY, PYOPENCL, BINDINGS) if each.name(place)), None)
