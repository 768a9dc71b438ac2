"""How large the program's own buffers are: those that calls were given, and those that its variables reach.

A copy to `array.ctypes.data` has a number for its address. On a machine it would overwrite whatever follows the array;
here that would be the tool's own memory too.
"""

from __future__ import annotations

import array
import ctypes
import mmap
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from itertools import islice
from types import FrameType, FunctionType, ModuleType

import numpy as np

from streamsan.python_program.visible_names import variables_of
from streamsan.sim.bindings.addresses import KEPT, buffer_address
from streamsan.sim.sites import PACKAGE

MOST_OBJECTS = 4000
"""objects that are looked at in one search"""
MOST_ELEMENTS = 256
DEEPEST = 4
"""attributes and elements from a variable to a buffer"""
MOST_VAIN = 256
"""searches that found nothing, after which there are no more: the program's memory is not Python's"""
MOST_KNOWN = 64
_C_TYPES = (ctypes.Array, ctypes.Structure, ctypes.Union, ctypes._SimpleCData)
_BYTES = (bytes, bytearray, array.array, mmap.mmap)
_LEAVES = (str, int, float, complex, bool, type(None), type, ModuleType, weakref.ref)


class HostBuffers:
    """Answers where the buffer ends that holds an address."""

    def __init__(self) -> None:
        self._known: deque[weakref.ref[np.ndarray]] = deque(maxlen=MOST_KNOWN)
        self._vain = 0

    def end(self, address: int) -> int:
        """Return one past the last byte of the buffer that holds an address; 0: no such buffer is found."""
        return self._end_among(KEPT.latest(), address) or self._end_of_known(address) or self._end_by_search(address)

    def _end_of_known(self, address: int) -> int:
        return self._end_among((array for each in self._known if (array := each()) is not None), address)

    def _end_by_search(self, address: int) -> int:
        if self._vain >= MOST_VAIN:
            return 0
        for value in _reached_by(sys._getframe(1)):
            if end := self._end_among([value], address):
                if isinstance(value, np.ndarray):
                    self._known.appendleft(weakref.ref(value))
                return end
        self._vain += 1
        return 0

    @staticmethod
    def _end_among(values: Iterator[object] | list[object], address: int) -> int:
        for value in values:
            start, end = extent_of(value)
            if start <= address < end:
                return end
        return 0


def extent_of(value: object) -> tuple[int, int]:
    """Return the first address of the memory that a buffer lies in and one past its last; (0, 0) where nobody knows.

    Of a view that is all that it is a view of. Memory that belongs to no Python object has no known size.
    """
    while isinstance(value, np.ndarray) and not value.flags.owndata:
        value = value.base
    if isinstance(value, np.ndarray):
        return value.ctypes.data, value.ctypes.data + value.nbytes
    if isinstance(value, memoryview):
        return extent_of(value.obj)
    if isinstance(value, _C_TYPES):
        while (base := getattr(value, "_b_base_", None)) is not None:
            value = base
        if isinstance(value, _C_TYPES) and value._b_needsfree_:
            return ctypes.addressof(value), ctypes.addressof(value) + ctypes.sizeof(value)
    elif isinstance(value, _BYTES):
        try:
            with memoryview(value) as view:
                start = buffer_address(view)
                return start, start + view.nbytes
        except (ValueError, BufferError):
            pass  # a closed mapping
    return 0, 0


def _reached_by(frame: FrameType | None) -> Iterator[object]:
    """Yield what the program's frames reach by their variables, the nearest first."""
    queue: deque[tuple[object, int]] = deque()
    done: set[int] = set()
    while frame is not None:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            queue.extend((value, 0) for value in variables_of(frame).values())
            if id(frame.f_globals) not in done:
                done.add(id(frame.f_globals))
                queue.extend((value, 0) for value in list(frame.f_globals.values()))
        frame = frame.f_back
    left = MOST_OBJECTS
    while queue and left:
        value, depth = queue.popleft()
        if isinstance(value, _LEAVES) or id(value) in done:
            continue
        if isinstance(value, FunctionType) and not value.__closure__:
            continue
        left -= 1
        done.add(id(value))
        yield value
        if depth < DEEPEST:
            queue.extend((part, depth + 1) for part in _parts(value))


def _parts(value: object) -> list[object]:
    """Return what is stored in a value; nothing of the program runs for that."""
    if isinstance(value, dict):
        return list(islice(dict.values(value), MOST_ELEMENTS))
    if isinstance(value, list | tuple | deque | set | frozenset):
        return list(islice(value, MOST_ELEMENTS))
    if isinstance(value, FunctionType):
        return [cell.cell_contents for cell in value.__closure__ or () if not _is_empty(cell)]
    try:
        stored = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return []
    return list(islice(stored.values(), MOST_ELEMENTS)) if isinstance(stored, dict) else []


def _is_empty(cell: object) -> bool:
    try:
        cell.cell_contents  # type: ignore[attr-defined]  # noqa: B018
    except ValueError:
        return True
    return False
