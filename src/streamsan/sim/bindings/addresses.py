"""Addresses as programs hold them: numbers that remember the allocation, buffers, objects with an address."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from streamsan.model.values import Pointer

LARGEST = (1 << 64) - 1
KEPT_BYTES = 64 << 20
MOST_LATEST = 8
"""buffers that one call is given"""


class KeptBuffers:
    """The latest host buffers that calls were given.

    A copy that runs later must not write into memory that Python has put to another use meanwhile: on the real device
    that breaks the program, here it would break the tool. Rules judge such programs; they need not crash for it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: deque[tuple[object, int]] = deque()
        self._bytes = 0

    def latest(self) -> Iterator[object]:
        """Yield the owners of the latest few, the latest first."""
        return islice((owner for owner, _ in reversed(self._held)), MOST_LATEST)

    def add(self, owner: object, size: int) -> None:
        """Hold the owner of a buffer, not the buffer: the program may still resize it. The oldest ones are let go."""
        self._held.append((owner, size))
        self._bytes += size
        while self._bytes > self._most:
            self._bytes -= self._held.popleft()[1]


KEPT = KeptBuffers(KEPT_BYTES)


class DevicePointer(int):
    """An address that the model gave out, with the generation of its allocation. Arithmetic gives a plain int."""

    pointer: Pointer

    def __new__(cls, pointer: Pointer) -> DevicePointer:
        """Return the address as a number."""
        self = super().__new__(cls, pointer.address)
        self.pointer = pointer
        return self

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """Another process has allocations of its own: what is sent there is the number."""
        return int, (int(self),)

    def __deepcopy__(self, memo: object) -> DevicePointer:
        """Return itself: it is immutable."""
        return self


def number_of(value: object) -> int:
    """Return an unsigned 64-bit number as the bindings read it: anything that has `__int__`.

    Raises TypeError for what is no number and OverflowError for one out of range.
    """
    if isinstance(value, DevicePointer):
        return value
    held = getattr(value, "_number", None)
    if isinstance(held, int):
        return held
    if isinstance(value, str | bytes) or not hasattr(type(value), "__int__"):
        raise TypeError("an integer is required")
    number = int(value)  # type: ignore[call-overload]
    if number < 0:
        raise OverflowError("can't convert negative value to unsigned long long")
    if number > LARGEST:
        raise OverflowError("Python int too large to convert to C unsigned long")
    return int(number)


def address_of(value: object) -> int:
    """Return the address that a `void *` argument means: None, a number, or an object with the buffer protocol.

    Raises TypeError for anything else and BufferError for a buffer that is not contiguous.
    """
    if value is None:
        return 0
    try:
        return number_of(value)
    except (TypeError, OverflowError):
        pass
    try:
        with memoryview(value) as view:  # type: ignore[arg-type]
            address = buffer_address(view)
            KEPT.add(value, view.nbytes)
    except TypeError:
        message = (
            f"Provided argument is of type {type(value)} but expected Type None, int or object with Buffer Protocol"
        )
        raise TypeError(message) from None
    return address


def buffer_address(view: memoryview) -> int:
    """Return where a contiguous buffer begins; 0 for an empty one."""
    if not view.contiguous:
        raise BufferError("the buffer is not contiguous")
    if view.nbytes == 0:
        return 0
    flat: Any = np.frombuffer(view, dtype=np.uint8) if view.c_contiguous else np.asarray(view)
    return int(flat.__array_interface__["data"][0])


def value_of(number: int) -> Pointer | int:
    """Return what the model is given for an address."""
    return number.pointer if isinstance(number, DevicePointer) else number
