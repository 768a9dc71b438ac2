"""Physical memory of VMM: one content that appears at every address at which it is mapped."""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import suppress

from streamsan.sim.executor.memory_files import new_file
from streamsan.sim.executor.regions import PAGE

_FIXED = 0x10
_NORESERVE = 0x4000


def _libc_mmap() -> ctypes._NamedFuncPointer | None:
    try:
        function: ctypes._NamedFuncPointer = ctypes.CDLL(None, use_errno=True).mmap
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    )
    return function


_MMAP = _libc_mmap()


class Backing:
    """A file in memory. `map` fails where the system has none; then each mapping has bytes of its own."""

    def __init__(self, size: int, file: int | None = None) -> None:
        """Make new memory, or let it be that of a file, which is closed with it."""
        self.is_fresh = file is None
        """nothing was ever written"""
        self._size = size
        self._file = -1
        with suppress(OSError):
            self._file = new_file(-(-size // PAGE) * PAGE) if file is None else file

    def map(self, address: int, size: int) -> bool:
        """Let the content appear at reserved addresses of this process; return whether it does."""
        if self._file < 0 or address % PAGE or size > self._size:
            return False
        return map_file(address, size, self._file)

    def shared(self) -> int | None:
        """Return the file once more, for another process; None where there is none."""
        try:
            return os.dup(self._file) if self._file >= 0 else None
        except OSError:
            return None

    def close(self) -> None:
        """Forget the content, once it is mapped nowhere."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def map_file(address: int, size: int, file: int, offset: int = 0) -> bool:
    """Let whole pages of a file appear at reserved addresses of this process; return whether they do."""
    return _place(address, size, mmap.MAP_SHARED | _FIXED, file, offset)


def unmap(address: int, size: int) -> None:
    """Let reserved addresses have bytes of their own again. They stay reserved, so that nothing else comes there."""
    if not address % PAGE:
        _place(address, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE | _FIXED, -1)


def _place(address: int, size: int, flags: int, file: int, offset: int = 0) -> bool:
    if _MMAP is None:
        return False
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    return bool(_MMAP(address, -(-size // PAGE) * PAGE, protection, flags, file, offset) == address)
