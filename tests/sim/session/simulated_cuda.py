"""cuda.bindings for tests of a simulated device: named at the top, and the device's own at each use."""

from __future__ import annotations

import importlib
from typing import Any


class Module:
    """A module of cuda.bindings; inside of `with device()` that is the simulated one."""

    def __init__(self, name: str) -> None:
        self._name = f"cuda.bindings.{name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)

    def it(self) -> Any:
        """Return the module itself."""
        return importlib.import_module(self._name)


driver, nvrtc, runtime = Module("driver"), Module("nvrtc"), Module("runtime")


def ok(result: Any) -> Any:
    """Return what a call of the bindings gave, without its status, which must be success."""
    status, *rest = result
    assert int(status) == 0, status
    return rest[0] if len(rest) == 1 else tuple(rest)


def stream() -> Any:
    """Make a stream that is in no order with others."""
    return ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
