"""Which memory a new allocation gets: what was freed comes back as early as it may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from streamsan.sim.executor.regions import Region
from streamsan.sim.executor.reuse import GAP, INTERNAL_DEPENDENCIES, Cached, Reuse
from streamsan.sim.executor.simulated_memory import Block, SimulatedMemory, rounded
from streamsan.sim.executor.tasks import Task, Timeline
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.model.resources import Context
    from streamsan.model.resources import Pool as ModelPool

RELEASE_THRESHOLD = 4
"""Number of a cudaMemPoolAttr."""
_PIECE = 32 << 20
"""Pools get memory from the device in pieces of this size (observed; it is not documented)."""
_MOST_CANDIDATES = 64
"""of one size that are looked at: a cost limit, not a promise"""
_MOST_WASTE = 8
"""how much larger a block may be that is given whole"""


class Heap:
    """Plain memory of one region: a freed block is the first candidate for the next allocation of its size."""

    def __init__(self, memory: SimulatedMemory, region: Region, limit: int, *, fills: bool = True) -> None:
        self.memory = memory
        self._fills = fills
        """whether new blocks get the pattern of new memory at once"""
        self.region = region
        self.limit = min(limit, region.size)
        """bytes of the device"""
        self.used = 0
        """bytes of live blocks and of what pools hold"""
        self._freed: dict[int, list[int]] = {}
        """extent -> addresses, the last freed at the end"""
        self.pools: list[Pool] = []
        """pools that live on this region"""

    def allocate(self, size: int, kind: MemoryKind, device: int, context: Context | None) -> Block | None:
        """Return a new block; None: out of memory."""
        extent = rounded(size)
        same = self._freed.get(extent)
        is_new = not same
        start = same.pop() if same else self._new(extent)
        if start is None:
            return None
        self.used += extent
        block = Block(start, size, extent, kind, device, context, self.region)
        self.memory.add(block)
        if is_new and self._fills:  # what is recycled holds what its free left
            self.memory.fill_fresh(block)
        return block

    def release(self, block: Block) -> None:
        """Take a block back: it exists no longer, and may come again at once."""
        self.memory.remove(block)
        self.used -= block.extent
        self._freed.setdefault(block.extent, []).append(block.start)

    def _new(self, extent: int) -> int | None:
        if self.used + extent > self.limit:
            self._shrink_pools()
            if self.used + extent > self.limit:
                return None
        if self.region.should_collect(extent):
            self._collect()
        start = self.region.take(extent)
        if start is None:
            self._collect()
            start = self.region.take(extent)
        if start is None:
            self._shrink_pools()
            self._collect()
            start = self.region.take(extent)
        return start

    def _collect(self) -> None:
        for extent, starts in self._freed.items():
            for start in starts:
                self.region.give(start, extent)
        self._freed.clear()

    def _shrink_pools(self) -> None:
        for pool in self.pools:
            pool.trim(0)


class Given(Struct):
    """A block for a stream-ordered allocation."""

    block: Block
    after: Task | None = None
    """the free that must happen before: known to the program by its own order, or an internal dependency"""

    @property
    def is_pending(self) -> bool:
        """Whether work of the last owner may not have run: the block is still its, in its size."""
        return self.after is not None


class Pool(Struct, eq=False):
    """Stream-ordered memory: freed blocks stay reserved (W-10), and are reused as the attributes allow."""

    heap: Heap
    device: int
    reuse: Reuse
    handle: ModelPool | None = None
    """what the model knows of it: attributes, which devices have access"""
    used: int = 0
    """bytes of live blocks"""
    asked: int = 0
    """bytes that the program has asked for and not freed, as the attributes count"""
    _sizes: dict[int, int] = field(default_factory=dict)
    """start of a live block -> bytes asked for"""
    _cached: dict[int, list[Cached]] = field(default_factory=dict)

    def allows(self, attribute: int) -> bool:
        """Return whether a kind of reuse is allowed; all are until the program says otherwise."""
        return self.handle is None or bool(self.handle.attributes.get(attribute, 1))

    def admits(self, device: int) -> bool:
        """Return whether work of another device may use the pool's memory."""
        return self.handle is not None and bool(self.handle.access.get(device))

    @property
    def held(self) -> int:
        """Bytes reserved: in use, or freed and not trimmed."""
        return self.used + sum(extent * len(cached) for extent, cached in self._cached.items())

    @property
    def reserved(self) -> int:
        """Bytes that the pool has from the device, as the attributes count."""
        blocks = len(self._sizes) + sum(map(len, self._cached.values()))
        return -(-(self.held - GAP * blocks) // _PIECE) * _PIECE

    def allocate(self, size: int, timeline: Timeline, context: Context | None) -> Given | None:
        """Return a block for an allocation in a stream; None: out of memory."""
        given = self._recycled(size, timeline)
        if given is None:
            block = self.heap.allocate(size, MemoryKind.STREAM_ORDERED, self.device, context)
            if block is None and (last := self._find(size, timeline, internal=True)) is not None:
                given = self._take(last, size)
            elif block is not None:
                given = Given(block)
        if given is None:
            return None
        block = given.block
        block.context, block.pool = context, self
        if not given.is_pending:
            block.size = size
        self.used += block.extent
        self.asked += size
        self._sizes[block.start] = size
        return given

    def release(self, block: Block, freed: Task | None, timeline: int, position: int) -> None:
        """Take a block back. It stays accessible until it is trimmed."""
        self.used -= block.extent
        size = self._sizes.pop(block.start, 0)
        if freed is not None or self.reuse.counts_unordered_frees:
            self.asked -= size
        self._cached.setdefault(block.extent, []).append(Cached(block, freed, timeline, position))

    def release_unused(self) -> None:
        """Give back what is held above the release threshold, 0 if the program set none."""
        threshold = 0 if self.handle is None else self.handle.attributes.get(RELEASE_THRESHOLD, 0)
        if self._cached and self.held > threshold:
            self.trim(threshold)

    def trim(self, keep: int) -> None:
        """Give back what is free, down to `keep` bytes held. A free that is pending is not waited for (A-08)."""
        held = self.held
        for extent in sorted(self._cached, reverse=True):
            kept = []
            for cached in self._cached[extent]:
                if held - extent >= keep and cached.is_complete:
                    held -= extent
                    self.heap.release(cached.block)
                else:
                    kept.append(cached)
            if kept:
                self._cached[extent] = kept
            else:
                del self._cached[extent]

    def _recycled(self, size: int, timeline: Timeline) -> Given | None:
        found = self._find(size, timeline, internal=False)
        if found is None and self.reuse.may_wait():
            found = self._find(size, timeline, internal=True)
        return None if found is None else self._take(found, size)

    def _find(self, size: int, timeline: Timeline, *, internal: bool) -> Cached | None:
        """Return the block to reuse: of the same size if there is one, else of the smallest that is large enough."""
        same, least = rounded(size), self.reuse.least(size)
        for extent in [same, *sorted(extent for extent in self._cached if extent >= least and extent != same)]:
            for cached in self._cached.get(extent, ())[: -_MOST_CANDIDATES - 1 : -1]:
                if extent > _MOST_WASTE * same and not cached.is_complete:
                    continue
                if self.reuse.may_take(self.allows, cached, timeline) or (
                    internal and self.allows(INTERNAL_DEPENDENCIES)
                ):
                    return cached
        return None

    def _take(self, cached: Cached, size: int) -> Given:
        block = cached.block
        extent = self.reuse.part(size, block.extent)
        same = self._cached[block.extent]
        same.remove(cached)
        if not same:
            del self._cached[block.extent]
        # Only what no work of the last owner is still to use is divided.
        if block.extent > extent and cached.is_complete:
            rest = Block(
                block.start + extent,
                block.extent - extent - 1,
                block.extent - extent,
                block.kind,
                block.device,
                block.context,
                block.region,
                pool=self,
            )
            block.extent = extent
            self.heap.memory.add(rest)
            left = Cached(rest, cached.freed, cached.timeline, cached.position)
            self._cached.setdefault(rest.extent, []).append(left)
        after = None if cached.is_complete else cached.freed
        return Given(block, after)
