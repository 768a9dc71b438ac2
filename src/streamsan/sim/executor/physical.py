"""Physical memory of VMM: one content that appears at every address at which it is mapped."""

from __future__ import annotations

import ctypes
import mmap
import os

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

    def __init__(self, size: int) -> None:
        self.is_fresh = True
        """nothing was ever written"""
        self._size = size
        self._file = -1
        try:
            self._file = os.memfd_create("streamsan")
            os.ftruncate(self._file, -(-size // PAGE) * PAGE)
        except (OSError, AttributeError):
            self.close()

    def map(self, address: int, size: int) -> bool:
        """Let the content appear at reserved addresses of this process; return whether it does."""
        if self._file < 0 or address % PAGE or size > self._size:
            return False
        return _place(address, size, mmap.MAP_SHARED | _FIXED, self._file)

    def close(self) -> None:
        """Forget the content, once it is mapped nowhere."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def unmap(address: int, size: int) -> None:
    """Let reserved addresses have bytes of their own again. They stay reserved, so that nothing else comes there."""
    if not address % PAGE:
        _place(address, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE | _FIXED, -1)


def _place(address: int, size: int, flags: int, file: int) -> bool:
    if _MMAP is None:
        return False
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    return bool(_MMAP(address, -(-size // PAGE) * PAGE, protection, flags, file, 0) == address)
