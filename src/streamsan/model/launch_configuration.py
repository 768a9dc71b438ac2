"""Whether a launch's grid and block fit the machine."""

from __future__ import annotations

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.statuses import INVALID_CONFIGURATION, INVALID_FUNCTION, INVALID_HANDLE, INVALID_VALUE, SUCCESS
from streamsan.model.values import Value
from streamsan.platforms import CUDA

_FUNCTIONS = ("func", "f", "kernel")


def configuration_status(core: ModelCore, call: Call) -> int:
    """Return what a launch returns for its function, grid, block and shared memory."""
    if core.machine is None:
        return SUCCESS
    runtime = call.api.domain == "runtime"
    if any(call.values.get(name) == 0 for name in _FUNCTIONS):
        return INVALID_FUNCTION if runtime else INVALID_HANDLE
    if not _fits(core.machine, dimensions(call, "grid"), dimensions(call, "block")):
        return INVALID_CONFIGURATION if runtime else INVALID_VALUE
    shared = _first(call, "sharedMem", "sharedMemBytes", "dynamicSmemBytes")
    most = core.machine.attribute(CUDA.constants["cudaDevAttrMaxSharedMemoryPerBlockOptin"], 0)
    return INVALID_VALUE if isinstance(shared, int) and shared > most else SUCCESS


def dimensions(call: Call, word: str) -> tuple[int, int, int] | None:
    """Return the grid or block ("grid", "block") of a launch, None where a number is not known."""
    found: list[int] = []
    for axis in "xyz":
        value = _first(call, f"{word}Dim{axis.upper()}", f"{word}Dim.{axis}")
        if value is None:
            by_value = call.structures.get(f"{word}Dim", {})
            value = by_value.get(axis)
        if not isinstance(value, int):
            return None
        found.append(value)
    return found[0], found[1], found[2]


def _first(call: Call, *names: str) -> Value:
    for name in names:
        if name in call.values:
            return call.values[name]
        for fields in call.structures.values():
            if name in fields:
                return fields[name]
    return None


def _fits(machine: Machine, grid: tuple[int, int, int] | None, block: tuple[int, int, int] | None) -> bool:
    for sizes, word in ((grid, "Grid"), (block, "Block")):
        for size, axis in zip(sizes or (), "XYZ", strict=False):
            if not 0 < size <= machine.attribute(CUDA.constants[f"cudaDevAttrMax{word}Dim{axis}"], 0):
                return False
    threads = block[0] * block[1] * block[2] if block is not None else 0
    return threads <= machine.attribute(CUDA.constants["cudaDevAttrMaxThreadsPerBlock"], 0)
