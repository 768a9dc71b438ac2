"""Functions that need no device: structures from numbers, names of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from streamsan.model.error_calls import words
from streamsan.model.statuses import INVALID_VALUE
from streamsan.platforms.python_bindings import ModuleName, catalogue
from streamsan.sim import active
from streamsan.sim.bindings.binding_calls import error
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.enums import member
from streamsan.sim.bindings.plans import Plan

_MODULES: tuple[ModuleName, ...] = ("runtime", "driver")


def size_of(kind: type) -> int:
    """`sizeof(objType)`: the bytes of the C type behind a class of one of the modules. Raises TypeError."""
    for module in _MODULES:
        size = catalogue(module).sizes.get(kind.__name__) if find(module, kind.__name__) is kind else None
        if size is not None:
            return size
    raise TypeError(f"Unknown type: {kind}")


def runtime_version() -> tuple[object, ...]:
    """`getLocalRuntimeVersion()`."""
    return error("runtime", 0), catalogue("runtime").constants["CUDART_VERSION"]


OTHERS: dict[ModuleName, dict[str, Callable[..., object]]] = {
    "runtime": {"sizeof": size_of, "getLocalRuntimeVersion": runtime_version},
    "driver": {"sizeof": size_of},
}
"""Functions that are none of CUDA's."""


FROM_NUMBERS: dict[str, tuple[str, str]] = {
    "make_cudaExtent": ("cudaExtent", "width height depth"),
    "make_cudaPos": ("cudaPos", "x y z"),
    "make_cudaPitchedPtr": ("cudaPitchedPtr", "ptr pitch xsize ysize"),
    "cudaCreateChannelDesc": ("cudaChannelFormatDesc", "x y z w f"),
}
"""function -> the structure that it makes, and which of its fields each argument is"""


def from_numbers(plan: Plan, arguments: Sequence[object]) -> object:
    """Return a structure with its fields set."""
    name, fields = FROM_NUMBERS[plan.name]
    kind: Any = find("runtime", name)
    made = kind()
    for field, value in zip(fields.split(), arguments, strict=True):
        setattr(made, field, value)
    return made if plan.name.startswith("make_") else (error("runtime", 0), made)


def about_error(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaGetErrorName(error)`, `cudaGetErrorString(error)` and the driver's: the name, as it is or in words."""
    given: Any = arguments[0]
    if given is None:
        raise TypeError("Argument 'error' must not be None")
    session = active.current()
    if session is not None and int(given):
        session.asked(plan.name, int(given))
    found = member(_error_class(plan.module), int(given))
    if not isinstance(found, IntEnum):
        known = plan.module == "runtime"
        return (error(plan.module, 0), b"unrecognized error code") if known else (error("driver", INVALID_VALUE), None)
    return error(plan.module, 0), (found.name if plan.name.endswith("Name") else words(found.name)).encode()


def _error_class(module: ModuleName) -> type[IntEnum]:
    return type(error(module, 0))  # type: ignore[return-value]
