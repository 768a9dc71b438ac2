"""The addresses of one process: which memory an address means, also after its free."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter

from streamsan.replay.replayed_handles import Handles
from streamsan.replay.replayed_steps import Memory, Step
from streamsan.vocabulary import MemoryKind


class Space:
    """All that has, or had, an address. Operations are told in the order of the trace."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._at: dict[int, Memory] = {}
        self._generations: dict[tuple[int, int], Memory] = {}
        self._hosts_own: list[Memory] = []
        self.freed: set[int] = set()
        """numbers of freed memory"""
        self.handles = Handles()
        self.maps: Counter[int] = Counter()
        """pointer -> how many maps gave it that have no unmap yet"""
        self.latest: dict[tuple[int, int], Step] = {}
        """thread and queue -> the latest command that may be a map"""
        self.taken_back: dict[tuple[int, int], Memory] = {}
        """thread and queue -> what the next command there, an unmap, takes back"""

    def add(self, memory: Memory) -> None:
        """Know new memory: what had these addresses before has them no more."""
        for base in [base for base in self._around(memory) if self._overlaps(base, memory)]:
            del self._bases[bisect_right(self._bases, base) - 1]
            del self._at[base]
        insort(self._bases, memory.base)
        self._at[memory.base] = memory
        if memory.generation:
            self._generations[memory.base, memory.generation] = memory

    def name_also(self, memory: Memory, generation: int) -> None:
        """Let a generation of a block be of the memory that a pool cut it from."""
        if generation:
            self._generations[memory.base, generation] = memory

    def add_hosts_own(self, memory: Memory) -> None:
        """Know memory of the host that is there all the time. Ranges are apart, and told by address."""
        self._hosts_own.append(memory)

    def hosts_own(self, address: int) -> Memory | None:
        """Return such memory at an address."""
        index = bisect_right(self._hosts_own, address, key=lambda each: each.base) - 1
        memory = self._hosts_own[index] if index >= 0 else None
        return memory if memory is not None and address < memory.end else None

    def _around(self, memory: Memory) -> list[int]:
        first = max(0, bisect_right(self._bases, memory.base) - 1)
        return self._bases[first : bisect_right(self._bases, memory.end - 1)]

    def _overlaps(self, base: int, memory: Memory) -> bool:
        other = self._at[base]
        return other.base < memory.end and memory.base < other.end

    def find(self, address: int, generation: int = 0) -> Memory | None:
        """Return the memory that an address means, None for none."""
        index = bisect_right(self._bases, address) - 1
        memory = self._at[self._bases[index]] if index >= 0 else None
        if memory is None:
            return None
        # Of memory whose size nobody knows a pointer that was made from its own says that it goes on.
        goes_on = not memory.size and generation != 0 and generation == memory.generation
        if address >= memory.end and not goes_on:
            return None
        if generation and memory.generation and generation != memory.generation:
            return self._generations.get((memory.base, generation))
        return memory

    def live_pointer(self, address: int) -> Memory | None:
        """Return the memory that a pointer leads to which a map has given, and no unmap taken back."""
        memory = self.find(address)
        live = memory is not None and memory.kind is MemoryKind.CL_MAPPED and memory.number not in self.freed
        return memory if live else None
