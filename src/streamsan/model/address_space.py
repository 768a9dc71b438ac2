"""Where allocations lie. The reader never gives an address twice; a simulator may."""

from __future__ import annotations

from typing import Protocol


class AddressSpace(Protocol):
    """Decides addresses."""

    def place(self, size: int) -> int:
        """Return the address of a new allocation of `size` bytes (0: size not known)."""

    def release(self, address: int, size: int) -> None:
        """Learn that the memory is free again."""


class FreshAddresses:
    """Hands out rising addresses with wide gaps: two allocations never touch, a freed address never comes back.

    Each lies in a range of its own, so that an offset past the end of one never meets another.
    """

    FIRST = 0x0010_0000_0000
    GAP = 1 << 21
    UNKNOWN_EXTENT = 1 << 34
    LARGEST = 1 << 44

    def __init__(self) -> None:
        self._next = self.FIRST

    def place(self, size: int) -> int:
        """Return the next address, aligned to 4 KiB."""
        address = self._next
        extent = min(size, self.LARGEST) if size > 0 else self.UNKNOWN_EXTENT
        self._next += (extent + 2 * self.GAP - 1) // self.GAP * self.GAP
        return address

    def release(self, address: int, size: int) -> None:
        """Do nothing: addresses are not used again."""
