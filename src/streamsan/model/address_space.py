"""Where allocations lie: addresses that nothing stores, and which allocation an address lies in."""

from __future__ import annotations

from bisect import bisect_right

from streamsan.model.resources import Allocation


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


class AddressIndex:
    """Which allocation an address lies in: the newest one made there, alive or not.

    Adding costs nothing until the first look-up: most programs never ask. The pieces never overlap: a new allocation
    takes its range from whatever lay there, and leaves the rest of that.
    """

    def __init__(self) -> None:
        self._pending: list[Allocation] = []
        self._starts: list[int] = []
        self._pieces: list[tuple[int, Allocation]] = []
        """end of the piece, and whose it is"""

    def add(self, allocation: Allocation) -> None:
        """Take an allocation up."""
        self._pending.append(allocation)

    def remove(self, allocation: Allocation) -> None:
        """Forget an allocation: its addresses are nothing known."""
        self._settle()
        place = max(bisect_right(self._starts, allocation.address) - 1, 0)
        end = allocation.address + max(allocation.size, 1)
        while place < len(self._starts) and self._starts[place] < end:
            if self._pieces[place][1] is allocation:
                del self._starts[place], self._pieces[place]
            else:
                place += 1

    def find(self, address: int) -> Allocation | None:
        """Return the newest allocation over an address, None where there never was any."""
        self._settle()
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        end, allocation = self._pieces[place]
        return allocation if address < end else None

    def _settle(self) -> None:
        for allocation in self._pending:
            self._insert(allocation.address, allocation.address + max(allocation.size, 1), allocation)
        self._pending.clear()

    def _insert(self, start: int, end: int, allocation: Allocation) -> None:
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._pieces[first][0] <= start:
            first += 1
        last = first
        starts, pieces = [start], [(end, allocation)]
        while last < len(self._starts) and self._starts[last] < end:
            old_start, (old_end, old) = self._starts[last], self._pieces[last]
            if old_start < start:
                starts.insert(0, old_start)
                pieces.insert(0, (start, old))
            if old_end > end:
                starts.append(end)
                pieces.append((old_end, old))
            last += 1
        self._starts[first:last] = starts
        self._pieces[first:last] = pieces
