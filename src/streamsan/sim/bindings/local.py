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
from streamsan.sim.bindings.structure_classes import Structure

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


def _filled(module: ModuleName, name: str, **attributes: object) -> Structure:
    kind: Any = find(module, name)
    made = kind()
    for key, value in attributes.items():
        setattr(made, key, value)
    assert isinstance(made, Structure)
    return made


def make_extent(plan: Plan, arguments: Sequence[object]) -> Structure:
    """`make_cudaExtent(w, h, d)`."""
    width, height, depth = arguments
    return _filled("runtime", "cudaExtent", width=width, height=height, depth=depth)


def make_position(plan: Plan, arguments: Sequence[object]) -> Structure:
    """`make_cudaPos(x, y, z)`."""
    x, y, z = arguments
    return _filled("runtime", "cudaPos", x=x, y=y, z=z)


def make_pitched(plan: Plan, arguments: Sequence[object]) -> Structure:
    """`make_cudaPitchedPtr(d, p, xsz, ysz)`."""
    pointer, pitch, width, height = arguments
    return _filled("runtime", "cudaPitchedPtr", ptr=pointer, pitch=pitch, xsize=width, ysize=height)


def channel_description(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaCreateChannelDesc(x, y, z, w, f)`."""
    x, y, z, w, form = arguments
    return error("runtime", 0), _filled("runtime", "cudaChannelFormatDesc", x=x, y=y, z=z, w=w, f=form)


def error_name(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaGetErrorName(error)`, `cuGetErrorName(error)`."""
    return _about_error(plan, arguments, in_words=False)


def error_text(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaGetErrorString(error)`, `cuGetErrorString(error)`: the name in words."""
    return _about_error(plan, arguments, in_words=True)


def _about_error(plan: Plan, arguments: Sequence[object], *, in_words: bool) -> tuple[object, ...]:
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
    return error(plan.module, 0), (words(found.name) if in_words else found.name).encode()


def _error_class(module: ModuleName) -> type[IntEnum]:
    return type(error(module, 0))  # type: ignore[return-value]
