"""Memory and events of the device that other processes have too: where `sim.exchange` meets storage and timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamsan.model.executor import Opened
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.sim.exchange.exchange import Exchange, token_of
from streamsan.sim.executor.simulated_memory import Block
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamsan.model.resources import Allocation, Context, Pool
    from streamsan.model.streams_and_graphs import Event
    from streamsan.model.values import Value
    from streamsan.sim.executor.scheduler import Scheduler
    from streamsan.sim.executor.storage import Storage
    from streamsan.sim.executor.timelines import Timelines


class Sharing:
    """What `SimulatedDevice` does for calls that export and import."""

    def __init__(self, storage: Storage, timelines: Timelines, scheduler: Scheduler, *, damages: bool) -> None:
        """Share nothing yet. `damages`: what others still use of memory that is freed goes wrong, as it may."""
        self.exchange = Exchange(scheduler)
        self._storage = storage
        self._timelines = timelines
        self._damages = damages
        storage.on_discard = self._discarded
        storage.on_stream_free = self.exchange.memory.withdraw
        timelines.on_record = self.exchange.events.recorded
        timelines.others = self.exchange.events.latest

    # -- exporting --------------------------------------------------------------------------------
    def share_memory(self, allocation: Allocation, identity: int) -> bool:
        block = self._storage.memory.at(allocation.address)
        return block is not None and self.exchange.memory.offer(block, allocation.size, identity)

    def share_event(self, event: Event, identity: int) -> bool:
        return self.exchange.events.offer(event, identity, self._timelines.recorded(event))

    def share_pool(self, pool: Pool) -> int | None:
        return self.exchange.pool_file(pool.handle)

    # -- importing --------------------------------------------------------------------------------
    def open_memory(self, fields: Mapping[str, Value], kind: MemoryKind, context: Context | None) -> Opened:
        """Open the memory that a handle stands for: it lies at an address of this process from here on."""
        token, identity = token_of(fields), fields.get("identity")
        if token is None or not isinstance(identity, int):
            return Opened(INVALID_VALUE)
        opened = self.exchange.memory.open(token, identity)
        if isinstance(opened, int):
            return Opened(opened)
        memory, window = self._storage.memory, opened.window
        if not memory.knows(window.region):
            memory.add_region(window.region)
        ordinal = 0 if context is None else context.ordinal
        block = Block(window.address, opened.size, opened.size, kind, ordinal, context, window.region)
        memory.add(block)
        self.exchange.memory.placed(block, opened)
        return Opened(SUCCESS, window.address, opened.size)

    def open_event(self, event: Event, fields: Mapping[str, Value]) -> int:
        token, identity = token_of(fields), fields.get("identity")
        if token is None or not isinstance(identity, int):
            return INVALID_VALUE
        return self.exchange.events.open(event, token, identity)

    def looked_at(self, address: int) -> None:
        """The host has read memory at an address, and knows what it held then."""
        if self.exchange.is_used:
            block = self._storage.memory.find(address)
            if block is not None and self.exchange.memory.has(block):
                self.exchange.some_time_passes()

    # -- ends -------------------------------------------------------------------------------------
    def _discarded(self, block: Block) -> bool:
        """Note that a block is freed or closed; return whether that is all there is to do."""
        memory, shared = self._storage.memory, self.exchange.memory
        if shared.close_import(block):
            memory.remove(block)
            return True
        if self._damages:
            shared.withdraw(block)  # its bytes and addresses go their way at once, whoever has it open
            return False
        for returned in shared.returned():
            self._storage.release(returned)
        if shared.withhold(block):
            memory.remove(block)
            return True
        return False

    def end(self) -> None:
        """The process ends: to others what it has exported is gone."""
        if self._damages:
            for block in self.exchange.memory.offered():
                self._storage.memory.fill_freed(block)
        self.exchange.close()
