"""What a program gives a kernel, in any of the ways that a launch takes it, as the bytes of its arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

from streamsan.model.values import Pointer, Value
from streamsan.sim.device_program import KernelParameter
from streamsan.sim.executor.host_bytes import is_mapped
from streamsan.sim.kernel_bodies import Argument
from streamsan.vocabulary import AccessMode, SlotFlag

_END, _BUFFER, _BUFFER_SIZE = 0, 1, 2
"""CU_LAUNCH_PARAM_*"""
_MOST_BUFFER = 1 << 16


def number_of(value: object) -> int:
    """Return the number of a handle, or of whatever else stands for one."""
    if value is None:
        return 0
    if isinstance(value, int):
        return int(value)
    if hasattr(value, "__int__"):
        return int(value)
    raise TypeError(f"a handle is wanted, not {type(value).__name__}")


def given_arguments(
    given: object, extra: object, parameters: tuple[KernelParameter, ...] | None
) -> list[Argument] | None:
    """Return the arguments of a launch; None where they cannot be read.

    Raises TypeError for parameters of a kind that the bindings do not take.
    """
    if is_table(given):
        return _from_addresses(_table_address(given), parameters)
    if isinstance(given, tuple | list):
        return _from_values(given, parameters)
    return _from_extra(number_of(extra or 0), parameters)


def is_table(given: object) -> bool:
    """Tell whether kernel parameters are given as a `void*[]`, which does not say how many there are."""
    return not isinstance(given, tuple | list | None) and not (isinstance(given, int) and given == 0)


def _from_values(given: Sequence[Any], parameters: tuple[KernelParameter, ...] | None) -> list[Argument]:
    """Read `((values...), (types...))`, as cuda.bindings packs them."""
    if len(given) == 0:
        return []
    if len(given) != 2:
        raise TypeError("kernelParams is a tuple of a tuple of values and a tuple of their types")
    values, types = given
    if not isinstance(values, tuple | list):
        values, types = (values,), (types,)
    if len(values) != len(types):
        raise TypeError("kernelParams has as many types as values")
    arguments = []
    for position, (value, kind) in enumerate(zip(values, types, strict=True)):
        parameter = parameters[position] if parameters is not None and position < len(parameters) else None
        data = _packed(value, kind, 8 if parameter is None else parameter.size)
        if parameter is not None and len(data) < parameter.size:
            # The driver would read on behind the value: what lies there is not the program's.
            data = data.ljust(parameter.size, b"\0")
        arguments.append(Argument(parameter, data, _pointer_in(value)))
    return arguments


def _packed(value: Any, kind: Any, size: int) -> bytes:
    if kind is ctypes.c_void_p:
        return _address_in(value).to_bytes(8, "little")
    if kind is not None:
        if isinstance(value, ctypes._SimpleCData):
            value = value.value
        if not isinstance(kind, type) or not issubclass(kind, ctypes._SimpleCData):
            raise TypeError(f"Unsupported type: {kind}")
        if issubclass(kind, ctypes.c_char) and isinstance(value, int):
            return bytes([value & 0xFF])
        if issubclass(kind, ctypes.c_ulonglong | ctypes.c_ulong | ctypes.c_longlong):
            value = number_of(value)
        return bytes(kind(value))
    if isinstance(value, ctypes.Structure | ctypes.Union | ctypes.Array | ctypes._SimpleCData):
        return bytes(value)
    if isinstance(value, IntEnum):
        return int(value).to_bytes(4, "little", signed=value < 0)
    if hasattr(value, "getPtr"):
        if hasattr(value, "__int__"):
            return (int(value) & (1 << 64) - 1).to_bytes(8, "little")
        return _bytes_at(int(value.getPtr()), size) or b""
    # As cuda.bindings: a plain number needs its ctypes type.
    raise TypeError(f"a kernel argument of type {type(value).__name__} needs a ctypes type beside it, not None")


def _address_in(value: Any) -> int:
    """Return what a `c_void_p` argument is: a number, or where an object of the bindings lies.

    A CUdeviceptr is such an object: its own place is passed, not the number in it, as cuda.bindings does.
    """
    if isinstance(value, ctypes.c_void_p):
        value = value.value or 0
    if not isinstance(value, int):
        if not callable(getattr(value, "getPtr", None)):
            raise TypeError(f"a kernel argument of type {type(value).__name__} is no address (c_void_p)")
        value = value.getPtr()
    return int(value) & ((1 << 64) - 1)


def _pointer_in(value: object) -> Pointer | None:
    """Return the allocation that an address object of the bindings remembers."""
    for holder in (value, getattr(value, "_number", None), getattr(value, "_held", None)):
        found = getattr(holder, "pointer", None)
        if isinstance(found, Pointer):
            return found
    return None


def _table_address(given: object) -> int:
    """Return the address of a `void*[]` given as a number or in a buffer."""
    if hasattr(given, "__int__") and not getattr(given, "ndim", 0):
        return number_of(given)
    try:
        view = memoryview(given)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"kernelParams of type {type(given).__name__} are not supported") from None
    address = (ctypes.c_char * view.nbytes).from_buffer(view) if not view.readonly else None
    if address is not None:
        return ctypes.addressof(address)
    import numpy as np

    return int(np.frombuffer(view, dtype=np.uint8).__array_interface__["data"][0])


def _from_addresses(table: int, parameters: tuple[KernelParameter, ...] | None) -> list[Argument] | None:
    """Read a `void*[]`: each points to one argument. None when it cannot be read."""
    if parameters is None:
        return None
    words = _bytes_at(table, 8 * len(parameters))
    if words is None:
        return None
    arguments = []
    for number, parameter in enumerate(parameters):
        data = _bytes_at(int.from_bytes(words[8 * number : 8 * number + 8], "little"), parameter.size)
        if data is None:
            return None
        arguments.append(Argument(parameter, data))
    return arguments


def _from_extra(table: int, parameters: tuple[KernelParameter, ...] | None) -> list[Argument] | None:
    """Read the `extra` list: a buffer in which all arguments lie. None when it cannot be read."""
    if not table:
        return []
    buffer, size, at = 0, 0, table
    for _ in range(8):
        word = _word_at(at)
        if word is None:
            return None
        if word == _END:
            break
        value = _word_at(at + 8)
        if value is None:
            return None
        if word == _BUFFER:
            buffer = value
        elif word == _BUFFER_SIZE:
            size = _word_at(value) or 0
        at += 16
    data = _bytes_at(buffer, min(size, _MOST_BUFFER)) if buffer else None
    if data is None:
        return None
    if parameters is None:
        return [Argument(None, data)]
    if any(one.offset + one.size > len(data) for one in parameters):
        return None
    return [Argument(one, data[one.offset : one.offset + one.size]) for one in parameters]


def _word_at(address: int) -> int | None:
    data = _bytes_at(address, 8)
    return None if data is None else int.from_bytes(data, "little")


def _bytes_at(address: int, size: int) -> bytes | None:
    """Return bytes of the process at an address that the program gave; None where there is nothing."""
    if size == 0:
        return b""
    if address < 4096 or not is_mapped(address, size):
        return None
    return ctypes.string_at(address, size)


def early_references(arguments: Iterable[Argument]) -> Iterable[tuple[Value, AccessMode, int]]:
    """Yield the addresses behind which a kernel surely uses memory before it may wait, with how it does."""
    for argument in arguments:
        parameter = argument.parameter
        if parameter is not None and parameter.pointer and parameter.early is not None and argument.word(0):
            yield argument.known(argument.word(0)), *parameter.early


def references(arguments: Iterable[Argument]) -> Iterable[tuple[Value, AccessMode, int]]:
    """Yield the addresses among the arguments, with how the kernel uses what is there."""
    for argument in arguments:
        parameter = argument.parameter
        if parameter is not None and parameter.pointer:
            address = argument.word(0)
            if address:
                yield argument.known(address), parameter.mode, parameter.flags
                if parameter.polled:
                    yield argument.known(address), AccessMode.OPAQUE, SlotFlag.ATOMIC
            continue
        # Structures and 64-bit integers may hold addresses: the model knows which words are some allocation's.
        for offset in range(0, len(argument.data) - 7, 8):
            address = argument.word(offset)
            if address:
                yield argument.known(address), AccessMode.OPAQUE, 0
