"""Reserved address ranges of this process: their real addresses are the simulated device's addresses."""

from __future__ import annotations

import mmap
from bisect import bisect_left, insort

import numpy as np

from streamsan.sim.payloads import Bytes

_NORESERVE = 0x4000
"""MAP_NORESERVE of Linux, which Python does not name: pages cost nothing before they are written."""
_SMALLEST = 64 << 20
_WORTHWHILE = 1 << 20
PAGE = 4096


class ForeignRange:
    """An address range that this process did not get from here (registered host memory)."""

    def __init__(self, address: int, size: int) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}
        self.start = address
        self.size = size
        self.bytes: Bytes = np.asarray(self)


class Region:
    """A range of addresses that can be written, and which of them are taken."""

    def __init__(self, size: int, *, exact: bool = False, alignment: int = PAGE) -> None:
        """Reserve `size` bytes, or (not `exact`) as many as the machine gives; MemoryError if it gives too little."""
        size = -(-size // PAGE) * PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        while True:
            try:
                self._mapping = mmap.mmap(
                    -1, size + alignment - PAGE, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE
                )
                break
            except (OSError, ValueError, OverflowError):
                if exact or size <= _SMALLEST:
                    raise MemoryError("no address space for the simulated device's memory") from None
                size = max(size // 2, _SMALLEST)
        whole = np.frombuffer(self._mapping, dtype=np.uint8)
        self._base: int = whole.ctypes.data
        offset = -self._base % alignment
        self.size = size
        self.bytes: Bytes = whole[offset : offset + size]
        self.start: int = self.bytes.ctypes.data
        self._top = self.start
        self._gaps: list[tuple[int, int]] = []
        """(address, bytes) below the top that are free; sorted, never adjacent"""
        self._soft = min(size, 256 << 20)

    def holds(self, address: int, size: int) -> bool:
        """Return whether a range lies inside."""
        return self.start <= address and address + size <= self.end

    @property
    def top(self) -> int:
        """One past the highest address that was ever taken, and not given back."""
        return self._top

    @property
    def end(self) -> int:
        """One past the last address."""
        return self.start + self.size

    def give_pages_back(self, address: int, size: int) -> None:
        """Let the machine have the whole pages of a range again. They hold zeros until they are written."""
        first = -(-(address - self._base) // PAGE) * PAGE
        last = (address + size - self._base) // PAGE * PAGE
        if last - first >= _WORTHWHILE:
            self._mapping.madvise(mmap.MADV_DONTNEED, first, last - first)

    def take(self, extent: int) -> int | None:
        """Return the address of `extent` free bytes; None when there is no such gap."""
        for index, (address, size) in enumerate(self._gaps):
            if size >= extent:
                if size == extent:
                    del self._gaps[index]
                else:
                    self._gaps[index] = (address + extent, size - extent)
                return address
        if self._top + extent > self.end:
            return None
        address = self._top
        self._top += extent
        return address

    def should_collect(self, extent: int) -> bool:
        """Return whether cached memory should be given back before `extent` new bytes are used.

        Growing is cheap in addresses but not in the machine's memory, so each doubling first tries what is free.
        """
        if self._top + extent - self.start <= self._soft:
            return False
        self._soft = min(self.size, 2 * self._soft)
        return True

    def give(self, address: int, extent: int) -> None:
        """Take a range back."""
        insort(self._gaps, (address, extent))
        index = bisect_left(self._gaps, (address, extent))
        if index + 1 < len(self._gaps) and self._gaps[index + 1][0] == address + extent:
            extent += self._gaps.pop(index + 1)[1]
            self._gaps[index] = (address, extent)
        if index and sum(self._gaps[index - 1]) == address:
            before, size = self._gaps.pop(index - 1)
            address, extent = before, size + extent
            self._gaps[index - 1] = (address, extent)
            index -= 1
        if address + extent == self._top:
            self._top = address
            del self._gaps[index]
