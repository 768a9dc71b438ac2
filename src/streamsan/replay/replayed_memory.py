"""Where the memory of a replayed trace lies on the simulated device, and who owns a block next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from streamsan.platforms import CUDA
from streamsan.replay.replayed_steps import Access, Memory
from streamsan.replay.word_layout import WORD, Layout
from streamsan.replay.words import Words, pattern
from streamsan.sim.executor.heaps import Pool
from streamsan.sim.executor.poison import Poison
from streamsan.sim.executor.reuse import PromisedReuse
from streamsan.sim.executor.scheduler import Policy, Scheduler
from streamsan.sim.executor.simulated_memory import Block, SimulatedMemory
from streamsan.sim.executor.storage import Storage
from streamsan.sim.executor.tasks import ContextWork, Task, Timeline
from streamsan.sim.payloads import IllegalAddressError
from streamsan.vocabulary import FreeClass, MemoryKind

OWNER_SEED = 0x0DDBA11
EVERY_DEVICE = 3
"""CU_MEM_ACCESS_FLAGS_PROT_READWRITE"""
NOT_REGISTERED = "the host memory is no longer registered"
NOT_ALLOCATED = "it frees memory that is not allocated"
UNMAPPED = "the pointer leads nowhere after the unmap"
_GONE = (FreeClass.UNMAP, FreeClass.IPC_CLOSE)


class Owner(Struct, frozen=True):
    """Who got a freed block next."""

    block: Block
    wrote: Words
    same: bool
    """whether it is the block that was freed"""


class ReplayedMemory:
    """The blocks of all memory that was allocated. Freed memory keeps its address: that is the point."""

    def __init__(self, layouts: dict[int, Layout], policy: Policy, scheduler: Scheduler) -> None:
        self.memory = SimulatedMemory(Poison(0))
        self._storage = Storage(self.memory, PromisedReuse(policy))
        self._scheduler = scheduler
        self._layouts = layouts
        self._starts: dict[int, int] = {}
        self._blocks: dict[int, Block] = {}
        self.registered: set[int] = set()
        """numbers of host memory that is registered for the device"""
        self._context: dict[int, int] = {}
        """number of memory -> the context in which it was allocated, out of any stream's order"""
        self._ended: set[int] = set()
        """numbers of memory that died with its context"""
        self._taken_back: set[int] = set()
        """numbers of what pointers into mapped regions led to"""

    # -- allocation -------------------------------------------------------------------------------
    def allocate(self, memory: Memory, context: int) -> None:
        """Allocate now, out of any stream's order."""
        self._context[memory.number] = context
        start = self._storage.allocate(self._bytes(memory), memory.kind, None)
        block = None if start is None else self.memory.at(start)
        if block is None:
            raise MemoryError
        if memory.kind is MemoryKind.MAPPED:
            block.access[block.device] = EVERY_DEVICE
        self._keep(memory, block)
        if block.usable:
            self._make_fresh(memory, block)

    def allocate_in_stream(self, memory: Memory, timeline: Timeline) -> Task:
        """Allocate in a stream's order: what was written before the stream got there is lost."""
        timeline.join_neighbours()
        given = self._storage.allocate_in_stream(self._bytes(memory), None, None, timeline)
        if given is None:
            raise MemoryError
        block = given.block
        self._keep(memory, block)

        def happen() -> None:
            block.size = self._bytes(memory)
            self._make_fresh(memory, block)

        after = [] if given.after is None else [given.after]
        return self._scheduler.follow(timeline, "the allocation", happen, after)

    def _keep(self, memory: Memory, block: Block) -> None:
        self._starts[memory.number] = block.start
        self._blocks[memory.number] = block

    def _bytes(self, memory: Memory) -> int:
        return self._layouts[memory.number].words * WORD

    def _make_fresh(self, memory: Memory, block: Block) -> None:
        # New memory holds words of its own, the same in every execution, so that who reads them makes no difference.
        count = self._bytes(memory) // WORD
        block.bytes[: count * WORD].view(np.uint32)[:] = pattern(memory.made, count)

    def contexts_of(self, accesses: Sequence[Access]) -> set[int]:
        """Return the contexts whose memory is accessed, as far as they are known."""
        return {self._context[each.memory.number] for each in accesses if each.memory.number in self._context}

    # -- free -------------------------------------------------------------------------------------
    def free(self, memory: Memory, family: FreeClass) -> None:
        """Release now, whatever is pending."""
        block = self._blocks.get(memory.number)
        if block is None:
            return
        self._require_alive(memory)
        if family in _GONE:
            self.memory.remove(block)
        else:
            if block.kind is not MemoryKind.GRAPH and block.pool is None:
                self.memory.fill_freed(block)
            self._discard(block)

    def free_in_stream(self, memory: Memory, timeline: Timeline) -> Task | None:
        """Release in a stream's order."""
        block = self._blocks.get(memory.number)
        if block is None:
            return None
        if isinstance(block.pool, Pool):
            freed = self._scheduler.follow(timeline, "the free", lambda: self.memory.fill_freed(block))
            self._storage.discard_in_stream(block, freed, timeline)
            return freed

        def discard() -> None:
            self._require_alive(memory)
            self._discard(block)

        return self._scheduler.follow(timeline, "the free", discard)

    def _require_alive(self, memory: Memory) -> None:
        # A GPU's call fails, without a look at what is pending.
        if memory.number in self._ended:
            raise IllegalAddressError(NOT_ALLOCATED)

    def _discard(self, block: Block) -> None:
        if block.kind is MemoryKind.GRAPH and not block.usable:
            raise IllegalAddressError(NOT_ALLOCATED)
        self._storage.discard(block)

    def take_back(self, memory: Memory) -> None:
        """The pointer into a mapped region is the host's no more; what it wrote there waits for the unmap's command."""
        self._taken_back.add(memory.number)

    def end_context(self, context: int) -> None:
        """Everything that dies with a context is gone."""
        for number, block in self._blocks.items():
            dies = CUDA.dies_with_context(block.kind) and self._context.get(number) == context
            if dies and self.memory.at(block.start) is block:
                self.memory.remove(block)
                self._ended.add(number)

    # -- graphs -----------------------------------------------------------------------------------
    def revive(self, memory: Memory) -> None:
        """The node that allocates runs."""
        block = self._blocks.get(memory.number)
        if block is not None:
            self._storage.revive(block)
            self._make_fresh(memory, block)

    def retire(self, memory: Memory) -> None:
        """What a launch left allocated is freed, if it is there."""
        block = self._blocks.get(memory.number)
        if block is not None:
            self._storage.retire(block)

    def retire_by_node(self, memory: Memory) -> None:
        """The node that frees runs. Raises IllegalAddressError where there is nothing to free."""
        block = self._blocks.get(memory.number)
        if block is not None and not block.usable:
            raise IllegalAddressError(NOT_ALLOCATED)
        self.retire(memory)

    # -- words ------------------------------------------------------------------------------------
    def view(self, access: Access) -> Words:
        """Return the words of an access, wherever its memory was; of rows a copy. Raises IllegalAddressError."""
        words, first = self._range(access)
        numbers = self._layouts[access.memory.number].rows(access)
        return words if numbers is None else words[numbers - first]

    def store_rows(self, access: Access, words: Words) -> None:
        """Write what `view` gave back to where it lies: words of rows are not next to each other."""
        numbers = self._layouts[access.memory.number].rows(access)
        if numbers is None or len(numbers) != len(words):
            return
        there, first = self._range(access)
        there[numbers - first] = words

    def _range(self, access: Access) -> tuple[Words, int]:
        """Return all words between the first and the last of an access, and the number of the first."""
        first, end = self._layouts[access.memory.number].range(access)
        if access.memory.number in self._taken_back:
            raise IllegalAddressError(UNMAPPED)
        if access.memory.is_hosts_own and access.memory.number not in self._starts:
            self.allocate(access.memory, 0)
        start = self._starts.get(access.memory.number)
        if start is None:
            return np.zeros(end - first, np.uint32), first
        words: Words = self.memory.view(start + first * WORD, (end - first) * WORD).view(np.uint32)
        return words, first

    def held(self, memory: Memory) -> Words:
        """Return all words of memory that exists, whoever may use it."""
        words: Words = self._blocks[memory.number].bytes[: self._bytes(memory)].view(np.uint32)
        return words

    def content(self, memory: Memory) -> Words | None:
        """Return what a memory holds, None where its block is not there, or another's."""
        block = self._blocks.get(memory.number)
        if block is None or self.memory.at(block.start) is not block or not block.usable:
            return None
        words: Words = block.bytes[: self._bytes(memory)].view(np.uint32)
        return words.copy()

    def registered_of(self, accesses: Sequence[Access]) -> frozenset[int]:
        """Return which of the memory that work is issued with is registered host memory."""
        return frozenset(access.memory.number for access in accesses) & self.registered

    def require_registered(self, numbers: frozenset[int]) -> None:
        """Raises IllegalAddressError where memory is no longer registered that was when the work was issued."""
        if not numbers <= self.registered:
            raise IllegalAddressError(NOT_REGISTERED)

    # -- the next owner ---------------------------------------------------------------------------
    def next_owner(self, memory: Memory, timeline: Timeline | None) -> Owner | None:
        """Give the block that was just freed to somebody else, who writes all of it; None where nobody can get it."""
        old = self._blocks.get(memory.number)
        if old is None or old.kind in (MemoryKind.GRAPH, MemoryKind.CL_MAPPED) or self._bytes(memory) == 0:
            return None
        count = self._bytes(memory) // WORD
        words = pattern(OWNER_SEED, count)
        if isinstance(old.pool, Pool):
            line = timeline or Timeline(1 << 30, _no_work(), blocking=False, is_legacy=False)
            given = self._storage.allocate_in_stream(self._bytes(memory), None, None, line)
            block = None if given is None or given.is_pending else given.block
        else:
            start = self._storage.allocate(self._bytes(memory), old.kind, None)
            block = None if start is None else self.memory.at(start)
        if block is None:
            return None
        block.bytes[: count * WORD].view(np.uint32)[:] = words
        return Owner(block, words, block.start == old.start)

    @staticmethod
    def owned(owner: Owner) -> Words:
        """Return what the owner's words are now."""
        words: Words = owner.block.bytes[: len(owner.wrote) * WORD].view(np.uint32)
        return words.copy()


def _no_work() -> ContextWork:
    return ContextWork(None)
