"""Numba's settings by which `numba.cuda` calls CUDA through `cuda.bindings`, and so runs on the simulated device."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec

BINDINGS = "NUMBA_CUDA_USE_NVIDIA_BINDING"
DRIVER = "NUMBA_CUDA_DRIVER"


def numba_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to add to a program's environment; what the user has set stays.

    Numba opens the driver's library before it asks the bindings, and calls nothing of it: any library will do.
    """
    engine = find_spec("streamsan.order._engine")
    wanted = {BINDINGS: "1"}
    if environment.get(BINDINGS, "1") != "0" and engine is not None and engine.origin is not None:
        wanted[DRIVER] = engine.origin
    return {name: value for name, value in wanted.items() if name not in environment}


def calls_bindings() -> bool:
    """Tell whether the `numba.cuda` of this process calls CUDA through `cuda.bindings`."""
    driver = sys.modules.get("numba.cuda.cudadrv.driver")
    return bool(getattr(driver, "USE_NV_BINDING", False))
