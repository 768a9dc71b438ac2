"""Reads and writes of the process's own memory by address, where a wrong address must not end the process."""

from __future__ import annotations

import ctypes
import os

import numpy as np

from streamsan.sim.payloads import Bytes, IllegalAddressError

_MOST_RANGES = 1024
"""IOV_MAX of Linux"""


class _Range(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def _system_call(name: str) -> ctypes._NamedFuncPointer | None:
    try:
        function: ctypes._NamedFuncPointer = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_ssize_t
    function.argtypes = (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_ulong,
    )
    return function


_READ = _system_call("process_vm_readv")
_WRITE = _system_call("process_vm_writev")


def _works() -> bool:
    """Return whether the kernel lets the process do this to itself (a sandbox may not)."""
    if _READ is None or _WRITE is None:
        return False
    source, to = np.arange(8, dtype=np.uint8), np.zeros(8, dtype=np.uint8)
    return _moved(_READ, to, [(source.ctypes.data, 8)]) == 8 and bool((source == to).all())


def read_rows(rows: list[tuple[int, int]]) -> Bytes:
    """Return the bytes of these (address, size) ranges, one after the other. Raises IllegalAddressError."""
    size = sum(size for _, size in rows)
    try:
        result = np.empty(size, dtype=np.uint8)
    except (MemoryError, ValueError, OverflowError):
        raise IllegalAddressError(f"{size} bytes are more than the host has") from None
    _move(_READ, result, rows, "read")
    return result


def write_rows(rows: list[tuple[int, int]], source: Bytes) -> None:
    """Write consecutive bytes of `source` to these (address, size) ranges. Raises IllegalAddressError."""
    _move(_WRITE, np.ascontiguousarray(source), rows, "written")


def is_mapped(address: int, size: int) -> bool:
    """Return whether every page of the range belongs to the process."""
    if size <= 0:
        return True
    if not _SAFE or _READ is None:
        return True
    probes = [(max(page, address), 1) for page in range(address & ~4095, address + size, 4096)]
    for begin in range(0, len(probes), _MOST_RANGES):
        part = probes[begin : begin + _MOST_RANGES]
        if _moved(_READ, np.empty(len(part), dtype=np.uint8), part) != len(part):
            return False
    return True


def _move(call: ctypes._NamedFuncPointer | None, local: Bytes, rows: list[tuple[int, int]], verb: str) -> None:
    at = 0
    for begin in range(0, len(rows), _MOST_RANGES):
        part = rows[begin : begin + _MOST_RANGES]
        size = sum(size for _, size in part)
        if not _SAFE or call is None:
            _move_blindly(local[at : at + size], part, verb)
        elif _moved(call, local[at : at + size], part) != size:
            raise IllegalAddressError(f"the host's memory at {part[0][0]:#x} (+{size} bytes) cannot be {verb}")
        at += size


def _moved(call: ctypes._NamedFuncPointer, local: Bytes, rows: list[tuple[int, int]]) -> int:
    """Return the number of bytes that went over."""
    size = local.size
    done = 0
    while done < size:
        ranges = []
        skip = done
        for address, length in rows:
            if skip >= length:
                skip -= length
                continue
            ranges.append(_Range(address + skip, length - skip))
            skip = 0
        here = _Range(local.ctypes.data + done, size - done)
        there = (_Range * len(ranges))(*ranges)
        count = int(call(os.getpid(), ctypes.byref(here), 1, there, len(ranges), 0))
        if count <= 0:
            break
        done += count
    return done


def _move_blindly(local: Bytes, rows: list[tuple[int, int]], verb: str) -> None:
    at = 0
    for address, size in rows:
        if address < 4096:
            raise IllegalAddressError(f"the host's memory at {address:#x} (+{size} bytes) cannot be {verb}")
        here = local.ctypes.data + at
        ctypes.memmove(*((here, address) if verb == "read" else (address, here)), size)
        at += size


_SAFE = _works()
