"""What copies, fills and stream memory operations do to bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from streamsan.model.work import CopyWork, FillWork, Place, ValueWork
from streamsan.sim.executor import host_bytes
from streamsan.sim.executor.simulated_memory import SimulatedMemory
from streamsan.sim.payloads import Bytes, IllegalAddressError

_ELEMENTS: dict[int, np.dtype[np.unsignedinteger]] = {
    1: np.dtype(np.uint8),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
    8: np.dtype("<u8"),
}
Box = npt.NDArray[np.uint8]
"""Bytes by slice, row and column."""


def copy(memory: SimulatedMemory, work: CopyWork, from_host: bool, to_host: bool) -> None:
    """Copy now. `from_host`, `to_host`: that side is pageable host memory. Raises IllegalAddressError."""
    if _is_empty(work):
        return
    if to_host:
        data = stage(memory, work) if from_host else _box(memory, work.source, work).ravel()
        _unstage(work, data)
    elif from_host:
        put(memory, work, stage(memory, work))
    elif work.height == 1 and work.depth == 1:
        source = memory.view(work.source.address, work.width)
        memory.view(work.to.address, work.width)[:] = source
    else:
        source = _box(memory, work.source, work)
        _box(memory, work.to, work)[:] = source


def stage(memory: SimulatedMemory, work: CopyWork) -> Bytes:
    """Return the bytes of a copy's pageable source as they are now; past its end: of memory that nobody has written.

    Raises IllegalAddressError.
    """
    if _is_empty(work):
        return np.empty(0, dtype=np.uint8)
    asked = rows(work, work.source)
    there = _inside(asked, work.source)
    if there == asked:
        return host_bytes.read_rows(asked)
    staged = np.empty(sum(size for _, size in asked), dtype=np.uint8)
    memory.poison.fill(staged, memory.poison.fresh)
    data = host_bytes.read_rows(there)
    for at, begin, size in _positions(asked, there):
        staged[at : at + size] = data[begin : begin + size]
    return staged


def _unstage(work: CopyWork, data: Bytes) -> None:
    """Write a copy's bytes to its pageable destination, as many as are there. Raises IllegalAddressError."""
    asked = rows(work, work.to)
    there = _inside(asked, work.to)
    if there != asked:
        data = np.concatenate([data[at : at + size] for at, _, size in _positions(asked, there)])
    elif not work.to.end:
        # All or nothing: of what nobody knows the size of, a part written would be the end of the process.
        for address, size in asked:
            if not host_bytes.is_mapped(address, size):
                raise IllegalAddressError(f"the host's memory at {address:#x} (+{size} bytes) cannot be written")
    host_bytes.write_rows(there, data)


def _inside(asked: list[tuple[int, int]], side: Place) -> list[tuple[int, int]]:
    """Return the (address, size) of each row, without what lies past the end of the host's buffer."""
    if not side.end:
        return asked
    return [(address, min(size, max(0, side.end - address))) for address, size in asked]


def _positions(asked: list[tuple[int, int]], there: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield of each row where it begins in all bytes, where in those that are there, and how many of it are there."""
    at = begin = 0
    for (_, whole), (_, size) in zip(asked, there, strict=True):
        yield at, begin, size
        at += whole
        begin += size


def put(memory: SimulatedMemory, work: CopyWork, staged: Bytes) -> None:
    """Write staged bytes to a copy's destination. Raises IllegalAddressError."""
    if _is_empty(work):
        return
    if work.height == 1 and work.depth == 1:
        memory.view(work.to.address, work.width)[:] = staged
    else:
        _box(memory, work.to, work)[:] = staged.reshape(work.depth, work.height, work.width)


def fill(memory: SimulatedMemory, work: FillWork) -> None:
    """Fill now. Raises IllegalAddressError."""
    if min(work.width, work.height, work.depth) <= 0:
        return
    element = _ELEMENTS[work.element]
    value = work.value & (1 << 8 * work.element) - 1
    if work.height == 1 and work.depth == 1:
        memory.view(work.to.address, work.width * work.element).view(element)[:] = value
        return
    width = work.width * work.element
    pattern = np.frombuffer(value.to_bytes(work.element, "little") * work.width, dtype=np.uint8)
    _box(memory, work.to, CopyWork(work.to, work.to, width, work.height, work.depth))[:] = pattern


def write_value(memory: SimulatedMemory, work: ValueWork) -> None:
    """Write a stream memory operation's value. Raises IllegalAddressError."""
    memory.view(work.address, work.size).view(_ELEMENTS[work.size])[0] = work.value & (1 << 8 * work.size) - 1


def is_met(memory: SimulatedMemory, work: ValueWork) -> bool:
    """Return whether memory meets the condition of a wait. Raises IllegalAddressError."""
    return work.is_met_by(int(memory.view(work.address, work.size).view(_ELEMENTS[work.size])[0]))


def rows(work: CopyWork, side: Place) -> list[tuple[int, int]]:
    """Return the (address, size) of each row of one side of a copy."""
    if side.pitch in (0, work.width) and work.depth == 1:
        return [(side.address, work.width * work.height)]
    return [
        (side.address + slice_ * side.slice_pitch + row * side.pitch, work.width)
        for slice_ in range(work.depth)
        for row in range(work.height)
    ]


def _is_empty(work: CopyWork) -> bool:
    return min(work.width, work.height, work.depth) <= 0


def _box(memory: SimulatedMemory, side: Place, work: CopyWork) -> Box:
    """Return a view of one side by slice, row and column. Raises IllegalAddressError."""
    pitch = side.pitch or work.width
    slice_pitch = side.slice_pitch or pitch * work.height
    if min(pitch, slice_pitch) < 0:
        raise IllegalAddressError(f"a negative pitch at {side.address:#x}")
    span = (work.depth - 1) * slice_pitch + (work.height - 1) * pitch + work.width
    flat = memory.view(side.address, span)
    return np.lib.stride_tricks.as_strided(
        flat, shape=(work.depth, work.height, work.width), strides=(slice_pitch, pitch, 1)
    )
