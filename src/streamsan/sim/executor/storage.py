"""Where allocations of every kind lie on the simulated machine, and what a free does to their bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamsan.effects import Endpoint
from streamsan.model.resources import Pool as ModelPool
from streamsan.platforms import CUDA
from streamsan.sim.executor.heaps import Given, Heap, Pool
from streamsan.sim.executor.memory_files import check_file
from streamsan.sim.executor.physical import Backing, unmap
from streamsan.sim.executor.regions import ForeignRange, Region
from streamsan.sim.executor.reuse import Reuse
from streamsan.sim.executor.simulated_memory import Block, SimulatedMemory
from streamsan.sim.executor.tasks import Task, Timeline
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.model.resources import Context, OtherHandle, Physical

HOST_BYTES = 4 << 30
"""pinned and managed memory"""

GRAPH_ADDRESSES = 64 << 30
"""addresses for the memory of graphs"""
VMM_GRANULARITY = 2 << 20


class Storage:
    """All memory of the machine."""

    def __init__(self, memory: SimulatedMemory, reuse: Reuse, device_bytes: int = 4 << 30) -> None:
        """`device_bytes`: the memory of one simulated device."""
        self._device_bytes = device_bytes
        self.memory = memory
        self.on_discard: Callable[[Block], bool] | None = None
        """Called when memory is freed; True: it is other processes' as well, and all is done."""
        self.on_stream_free: Callable[[Block], None] | None = None
        """Called when memory is freed in a stream's order."""
        self._reuse = reuse
        self._heaps: dict[int, Heap] = {}
        self._host: Heap | None = None
        self._graphs: Heap | None = None
        self._pools: dict[object, Pool] = {}
        self._reservations: dict[int, Region] = {}
        self._backing: dict[OtherHandle, Backing] = {}

    # -- making -----------------------------------------------------------------------------------
    def allocate(self, size: int, kind: MemoryKind, context: Context | None) -> int | None:
        """Return the address of new memory that is in no stream's order; None: out of memory."""
        heap = self._heap_for(kind, _ordinal(context))
        block = heap.allocate(max(size, 1), kind, _ordinal(context), context)
        if block is None:
            return None
        block.usable = kind is not MemoryKind.GRAPH  # its allocation node makes it so
        return block.start

    def allocate_in_stream(
        self, size: int, context: Context | None, pool: OtherHandle | None, timeline: Timeline
    ) -> Given | None:
        """Return a block of a pool; None: out of memory. Its bytes are as its last owner's free left them."""
        return self.pool(pool, context).allocate(max(size, 1), timeline, context)

    def register(self, address: int, size: int, context: Context | None) -> int:
        """Make host memory of the process usable by devices."""
        if size > 0:
            block = Block(
                address,
                size,
                size,
                MemoryKind.REGISTERED,
                _ordinal(context),
                context,
                ForeignRange(address, size),
            )
            self.memory.add(block)
        return address

    def reserve(self, size: int) -> int | None:
        """Return addresses at which nothing is mapped; None: there are not so many."""
        try:
            region = Region(max(size, 1), exact=True, alignment=VMM_GRANULARITY)
        except MemoryError:
            return None
        self._reservations[region.start] = region
        self.memory.add_region(region)
        return region.start

    def unreserve(self, address: int) -> None:
        """Give reserved addresses back."""
        region = self._reservations.pop(address, None)
        if region is not None:
            for block in self.memory.blocks():
                if block.region is region:
                    self.memory.remove(block)
            self.memory.remove_region(region)

    def map(self, address: int, size: int, context: Context | None, physical: OtherHandle | None) -> int | None:
        """Map physical memory at reserved addresses; None: they are not reserved."""
        region = next((each for each in self._reservations.values() if each.holds(address, size)), None)
        if region is None:
            return None
        block = Block(address, size, size, MemoryKind.MAPPED, _ordinal(context), context, region)
        backing = None if physical is None else self._backing.get(physical)
        if physical is not None and backing is None:
            backing = self._backing[physical] = Backing(max(size, getattr(physical, "size", 0)))
        if backing is None or not backing.map(address, size):
            self.memory.fill_fresh(block)
        elif backing.is_fresh:
            backing.is_fresh = False
            self.memory.fill_fresh(block)
        self.memory.add(block)
        return address

    def share_physical(self, physical: Physical) -> int | None:
        """Return a file that is physical memory, for another process; None where there is none."""
        backing = self._backing.get(physical)
        if backing is None:
            backing = self._backing[physical] = Backing(physical.size)
        backing.is_fresh = False  # from here on others may have written
        return backing.shared()

    def open_physical(self, physical: Physical, file: int) -> int:
        """Let physical memory be that of another process's file; return its size, 0 if the file is none."""
        try:
            size = os.fstat(file).st_size
            check_file(file, size)
            if size <= 0 or size % VMM_GRANULARITY:
                return 0
            own = os.dup(file)
        except (OSError, OverflowError):
            return 0
        self._backing[physical] = Backing(size, own)
        return size

    def release_physical(self, physical: OtherHandle) -> None:
        """Forget physical memory that nothing maps any more."""
        backing = self._backing.pop(physical, None)
        if backing is not None:
            backing.close()

    # -- unmaking ---------------------------------------------------------------------------------
    def discard(self, block: Block) -> None:
        """Free now, whatever is pending. What is touched there from here on is poison, the next owner's, or 700."""
        if self.on_discard is not None and self.on_discard(block):
            return
        if block.kind is MemoryKind.REGISTERED:
            self.memory.remove(block)
            return
        if block.kind is MemoryKind.GRAPH:
            self.retire(block)
            return
        if block.kind is MemoryKind.MAPPED:
            # What was written stays in the physical memory, for its next mapping.
            self.memory.remove(block)
            unmap(block.start, block.size)
            return
        self.release(block)

    def release(self, block: Block) -> None:
        """Give a block back to where it came from."""
        self.memory.fill_freed(block)
        if isinstance(block.pool, Pool):
            block.pool.release(block, None, -1, 0)
        else:
            self._heap_for(block.kind, block.device).release(block)

    def discard_in_stream(self, block: Block, freed: Task, timeline: Timeline) -> None:
        """Give a pool's block back at the call of a stream-ordered free; `freed` is the free itself."""
        assert isinstance(block.pool, Pool)
        if self.on_stream_free is not None:
            self.on_stream_free(block)
        block.pool.release(block, freed, timeline.index, timeline.position)

    def revive(self, block: Block) -> None:
        """Make a graph's memory usable: its allocation node runs."""
        block.usable = True
        self.memory.fill_fresh(block)

    def retire(self, block: Block) -> None:
        """Make a graph's memory unusable: its free runs."""
        if block.usable:
            block.usable = False
            if isinstance(block.region, Region):
                block.region.give_pages_back(block.start, block.size)

    def end_context(self, context: Context) -> None:
        """Discard what dies with a context."""
        for block in self.memory.blocks():
            if block.context is context and CUDA.dies_with_context(block.kind):
                self.discard(block)

    # -- pools ------------------------------------------------------------------------------------
    def pool(self, handle: OtherHandle | None, context: Context | None) -> Pool:
        """Return the pool that a handle means: the device's default one for None and for one only fetched."""
        known = handle if isinstance(handle, ModelPool) else None
        ordinal = _ordinal(context) if known is None else known.ordinal
        key: object = handle if handle is not None and handle.owned else ordinal
        pool = self._pools.get(key)
        if pool is None:
            heap = self._heap(ordinal)
            pool = self._pools[key] = Pool(heap, ordinal, self._reuse)
            heap.pools.append(pool)
        pool.handle = known or pool.handle
        return pool

    def release_unused(self) -> None:
        """Give back what pools hold above their release thresholds."""
        for pool in self._pools.values():
            pool.release_unused()

    def memory_info(self, ordinal: int) -> tuple[int, int]:
        """Return the free and all bytes of a device."""
        heap = self._heap(ordinal)
        return heap.limit - heap.used, heap.limit

    # -- heaps ------------------------------------------------------------------------------------
    def _heap(self, ordinal: int) -> Heap:
        heap = self._heaps.get(ordinal)
        if heap is None:
            heap = self._heaps[ordinal] = self._new_heap(self._device_bytes)
        return heap

    def _host_heap(self) -> Heap:
        if self._host is None:
            self._host = self._new_heap(HOST_BYTES)
        return self._host

    def _new_heap(self, size: int, *, fills: bool = True) -> Heap:
        region = Region(size)
        self.memory.add_region(region)
        return Heap(self.memory, region, size, fills=fills)

    def _graph_heap(self) -> Heap:
        # Addresses only: nobody says when a destroyed graph's come back, and its memory is given back at each free.
        if self._graphs is None:
            self._graphs = self._new_heap(GRAPH_ADDRESSES, fills=False)
        return self._graphs

    def _heap_for(self, kind: MemoryKind, ordinal: int) -> Heap:
        if kind is MemoryKind.GRAPH:
            return self._graph_heap()
        on_device = CUDA.side(kind) in (Endpoint.DEVICE, Endpoint.UNKNOWN)
        return self._heap(ordinal) if on_device else self._host_heap()


def _ordinal(context: Context | None) -> int:
    return 0 if context is None else context.ordinal
