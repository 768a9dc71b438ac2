"""The simulated device's memory: which addresses can be used, by whom, and their bytes."""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from streamsan.platforms import CUDA
from streamsan.sim.executor import host_bytes
from streamsan.sim.executor.poison import Poison
from streamsan.sim.executor.regions import ForeignRange, Region
from streamsan.sim.payloads import Bytes, IllegalAddressError
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.model.resources import Context

GRANULE = 512


def rounded(size: int) -> int:
    """Return the bytes that an allocation takes: at least one beyond its end, so that two never touch."""
    return (size + GRANULE) // GRANULE * GRANULE


class Block(Struct, eq=False):
    """A range of addresses that exists: an allocation, or memory that a pool holds."""

    start: int
    size: int
    """bytes that the program asked for; of a pool's block: as of the last allocation that has happened in its stream"""
    extent: int
    """bytes taken from the region"""
    kind: MemoryKind
    device: int
    context: Context | None
    region: Region | ForeignRange
    usable: bool = True
    """False: addresses only (a VMM reservation, a graph's memory before its node ran)"""
    pool: Owner | None = None
    """the pool it came from"""
    access: dict[int, int] = field(default_factory=dict)
    """VMM: devices -> CUmemAccess_flags, for those that may touch it"""

    @property
    def end(self) -> int:
        """One past the last usable byte."""
        return self.start + self.size

    @property
    def bytes(self) -> Bytes:
        """All bytes that it takes, since its next owner may ask for more of them."""
        offset = self.start - self.region.start
        return self.region.bytes[offset : offset + self.extent]

    @property
    def last(self) -> int:
        """The last address that means this block.

        One past the end still does where blocks never touch: an empty range may begin there. Of a pool's block all is
        accessible, whatever its owner asked for.
        """
        if self.pool is not None:
            return self.start + self.extent - 1
        return self.end - 1 if isinstance(self.region, ForeignRange) else self.end


class Owner(Protocol):
    """A pool, as far as access to its blocks goes."""

    def admits(self, device: int) -> bool:
        """Return whether work of another device may use the pool's memory."""


class SimulatedMemory:
    """Implements `DeviceMemory`. `running` says whose work is running: None is the host, which reaches everything."""

    def __init__(self, poison: Poison) -> None:
        self.poison = poison
        self.running: Context | None = None
        self._blocks: dict[int, Block] = {}
        self._starts: list[int] = []
        self._regions: list[Region] = []

    # -- which addresses exist --------------------------------------------------------------------
    def add_region(self, region: Region) -> None:
        """Know a range in which nothing exists but blocks."""
        self._regions.append(region)

    def knows(self, region: Region) -> bool:
        """Return whether a range is known."""
        return region in self._regions

    def remove_region(self, region: Region) -> None:
        """Forget a range."""
        self._regions.remove(region)

    def add(self, block: Block) -> None:
        """Make a block exist. A block at the same address is replaced."""
        if block.start not in self._blocks:
            insort(self._starts, block.start)
        self._blocks[block.start] = block

    def remove(self, block: Block) -> None:
        """Make a block no longer exist."""
        if self._blocks.get(block.start) is block:
            del self._blocks[block.start]
            del self._starts[bisect_right(self._starts, block.start) - 1]

    def at(self, address: int) -> Block | None:
        """Return the block that begins at an address."""
        return self._blocks.get(address)

    def find(self, address: int) -> Block | None:
        """Return the block that holds an address."""
        block = self._blocks.get(address)
        if block is not None:
            return block
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        block = self._blocks[self._starts[index]]
        return block if address <= block.last else None

    def blocks(self) -> list[Block]:
        """Return all blocks, by address."""
        return [self._blocks[start] for start in self._starts]

    def is_pageable(self, address: int) -> bool:
        """Return whether an address is plain memory of the host process: no block's, and in no region."""
        if any(region.start <= address < region.end for region in self._regions):
            return False
        return self.find(address) is None

    # -- bytes ------------------------------------------------------------------------------------
    def view(self, address: int, size: int = 0) -> Bytes:
        """Return a writable view of [address, address + size); size 0: to the end of what is allocated around it.

        Raises IllegalAddressError where nothing is mapped, or the device whose work runs has no access.
        """
        block = self.find(address)
        if block is None or size < 0:
            raise IllegalAddressError(self._why_nothing(address))
        self._check(block, address)
        end = block.end
        if address + size > end or (block.kind is MemoryKind.MAPPED and not size):
            end = self._end_of_run(block)
        if address + size > end:
            raise IllegalAddressError(
                f"{size} bytes at {address:#x} reach {address + size - end} bytes past the end of what is allocated"
            )
        offset = address - block.region.start
        return block.region.bytes[offset : offset + (size or end - address)]

    def _why_nothing(self, address: int) -> str:
        index = bisect_right(self._starts, address) - 1
        before = self._blocks[self._starts[index]] if index >= 0 else None
        if before is not None and address < before.start + before.extent:
            return f"{address:#x} is past the end of the {before.size} bytes allocated at {before.start:#x}"
        if any(region.start <= address < region.top for region in self._regions):
            return f"what was allocated at {address:#x} has been freed"
        return f"nothing is allocated at {address:#x}"

    def _check(self, block: Block, address: int) -> None:
        if not block.usable:
            raise IllegalAddressError(f"nothing is mapped at {address:#x} now")
        if isinstance(block.region, ForeignRange) and not host_bytes.is_mapped(block.start, block.size):
            raise IllegalAddressError(f"the registered host memory at {address:#x} no longer exists")
        running = self.running
        if block.kind is MemoryKind.MAPPED and not self._may_touch(block):
            whom = "any device" if running is None else f"device {running.ordinal}"
            raise IllegalAddressError(f"what is mapped at {address:#x} was not made accessible to {whom}")
        if running is None or running.ordinal == block.device or CUDA.reached_by_all(block.kind):
            return
        if block.kind is MemoryKind.GRAPH:
            allowed = False  # peer access does not reach it (P-11)
        elif block.pool is not None:
            allowed = block.pool.admits(running.ordinal)
        else:
            allowed = block.context is not None and block.context.handle in running.peers
        if not allowed:
            raise IllegalAddressError(
                f"{address:#x} is memory of device {block.device}, to which device {running.ordinal} has no access"
            )

    def _may_touch(self, block: Block) -> bool:
        """Return whether a mapping is accessible: to the running kernel's device; for copies and fills, to any."""
        if self.running is None:
            return any(block.access.values())
        return bool(block.access.get(self.running.ordinal))

    def _end_of_run(self, block: Block) -> int:
        """Return where the memory that is accessible without a gap from this block on ends.

        VMM ranges join, and so do blocks of one pool, which may be divided otherwise by now than when work was issued.
        Nothing else does.
        """
        if block.kind is not MemoryKind.MAPPED and block.pool is None:
            return block.end
        while (following := self._blocks.get(block.start + block.extent)) is not None and (
            following.region is block.region
            and following.kind is block.kind
            and following.pool is block.pool
            and (following.kind is not MemoryKind.MAPPED or self._may_touch(following))
        ):
            block = following
        return block.start + block.extent

    def fill_fresh(self, block: Block) -> None:
        """Write what new memory holds."""
        self.poison.fill(block.bytes, self.poison.fresh)

    def fill_freed(self, block: Block) -> None:
        """Write what freed memory holds."""
        self.poison.fill(block.bytes, self.poison.freed)
