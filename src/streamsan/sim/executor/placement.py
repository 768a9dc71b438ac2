"""Memory of the simulated device: what allocations and frees do, at once or in a stream's order."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.model.process_state import HostThread
from streamsan.model.resources import Allocation, Context, OtherHandle
from streamsan.model.streams_and_graphs import Stream
from streamsan.platforms import CUDA
from streamsan.sim.executor.heaps import Pool
from streamsan.sim.executor.scheduler import Scheduler
from streamsan.sim.executor.simulated_memory import Block
from streamsan.sim.executor.storage import Storage
from streamsan.sim.executor.timelines import Timelines
from streamsan.vocabulary import FreeClass, MemoryKind

_RELIED_ON = frozenset({FreeClass.DEVICE, FreeClass.ARRAY})
"""Frees that may wait by the documentation, and always do (F-01, E-07). So much code rests on it that the report has a
note for it (SS107): a run may not fail for what is hidden there."""


class Placement:
    """The part of the executor that places memory and takes it back."""

    def __init__(
        self,
        storage: Storage,
        timelines: Timelines,
        scheduler: Scheduler,
        wait_for: Callable[[Context | None], None],
        *,
        waits: bool,
    ) -> None:
        """`wait_for`: lets the host wait for a context; `waits`: all frees wait as measured."""
        self._storage = storage
        self._memory = storage.memory
        self._timelines = timelines
        self._scheduler = scheduler
        self._wait_for = wait_for
        self._waits = waits

    def place(
        self,
        size: int,
        kind: MemoryKind,
        context: Context | None,
        stream: Stream | None,
        pool: OtherHandle | None,
        wanted: int = 0,
        thread: HostThread | None = None,
    ) -> int | None:
        try:
            address = self._place(size, kind, context, stream, pool, wanted, thread)
        except MemoryError:
            address = None
        self._scheduler.after_call()
        return address

    def _place(
        self,
        size: int,
        kind: MemoryKind,
        context: Context | None,
        stream: Stream | None,
        pool: OtherHandle | None,
        wanted: int,
        thread: HostThread | None,
    ) -> int | None:
        if kind is MemoryKind.MAPPED:
            return self._storage.map(wanted, size, context, pool) if wanted else self._storage.reserve(size)
        if kind is MemoryKind.REGISTERED and wanted:
            return self._storage.register(wanted, size, context)
        if wanted:
            return wanted
        if kind is MemoryKind.STREAM_ORDERED and stream is not None:
            return self._place_in_stream(size, context or stream.context, stream, pool, thread)
        return self._storage.allocate(size, kind, context)

    def _place_in_stream(
        self,
        size: int,
        context: Context | None,
        stream: Stream,
        pool: OtherHandle | None,
        thread: HostThread | None,
    ) -> int | None:
        timeline = self._timelines.of(thread, stream, context)
        timeline.join_neighbours()
        given = self._storage.allocate_in_stream(size, context, pool, timeline)
        if given is None:
            return None
        after = [] if given.after is None else [given.after]
        block = given.block
        # The contract: nothing may touch the memory before the allocation has happened in the stream's order. So what
        # an unordered use wrote may be lost. The driver makes it usable at once.
        poison = None if self._waits else self._memory.poison
        target = block.bytes

        def happen() -> None:
            block.size = size
            if poison is not None:
                poison.fill(target, poison.fresh)

        if poison is not None or given.is_pending:
            self._scheduler.follow(timeline, "an allocation", happen, after).essential = True
        return block.start

    def free(self, thread: HostThread, allocation: Allocation, family: FreeClass, stream: Stream | None) -> None:
        block = None if CUDA.frees[family].of_host else self._memory.at(allocation.address)
        # Imported memory lies where the exporter's does: closing it leaves the exporter's block alone.
        if block is not None and block.kind is allocation.kind:
            if family is FreeClass.ASYNC and stream is not None:
                self._free_in_stream(thread, block, stream)
            else:
                self._free_now(thread, allocation, block, family)
        self._scheduler.after_call()

    def _free_now(self, thread: HostThread, allocation: Allocation, block: Block, family: FreeClass) -> None:
        if (self._waits or family in _RELIED_ON) and CUDA.free_waits(family, allocation.kind):
            # The pointer's own context, whichever is current (F-15).
            self._wait_for(allocation.context or (thread.stack[-1] if thread.stack else None))
        self._storage.discard(block)

    def _free_in_stream(self, thread: HostThread, block: Block, stream: Stream) -> None:
        timeline = self._timelines.of(thread, stream)
        storage = self._storage
        if isinstance(block.pool, Pool):
            # The bytes as they are now: by the time the free runs the block may be split, or someone else's.
            target = block.bytes
            poison = self._memory.poison
            freed = self._scheduler.follow(timeline, "a free", lambda: poison.fill(target, poison.freed))
            storage.discard_in_stream(block, freed, timeline)
        else:
            freed = self._scheduler.follow(timeline, "a free", lambda: storage.discard(block))
        freed.essential = True

    def trim(self, pool: OtherHandle | None, keep: int) -> None:
        """Give unused memory of a pool back. Graphs' memory that is not in use is never accessible here."""
        if pool is not None:
            self._storage.pool(pool, None).trim(keep)
        self._scheduler.after_call()

    def release_addresses(self, reservation: Allocation) -> None:
        self._storage.unreserve(reservation.address)
        self._scheduler.after_call()

    def release_physical(self, physical: OtherHandle) -> None:
        self._storage.release_physical(physical)

    def set_access(self, mapping: Allocation, ordinal: int, flags: int) -> None:
        block = self._memory.at(mapping.address)
        if block is not None and block.kind is MemoryKind.MAPPED:
            block.access[ordinal] = flags
