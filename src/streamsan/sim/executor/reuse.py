"""When a pool hands out a freed block again, and how much of it: as promised, or as a driver was seen to do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from streamsan.sim.executor.host_knowledge import HostKnowledge
from streamsan.sim.executor.scheduler import Policy
from streamsan.sim.executor.simulated_memory import GRANULE, Block, rounded
from streamsan.sim.executor.tasks import Task, Timeline

FOLLOW_EVENTS = 1
OPPORTUNISTIC = 2
INTERNAL_DEPENDENCIES = 3
"""Numbers of cudaMemPoolAttr."""
GAP = GRANULE
"""Bytes that a block is longer than what was asked for, rounded up."""


Allows = Callable[[int], bool]
"""whether a pool allows a kind of reuse, by the number of its attribute"""


class Cached(Struct, eq=False):
    """A block that a pool holds after its free."""

    block: Block
    freed: Task | None
    """the free; None: it took effect at once (cudaFree does not wait, F-03)"""
    timeline: int
    position: int

    @property
    def is_complete(self) -> bool:
        """Whether the free has happened."""
        return self.freed is None or self.freed.done


class Reuse(Protocol):
    """What a pool decides for a freed block and an allocation in a stream."""

    counts_unordered_frees: bool
    """whether a free that is in no stream's order (cudaFree) lowers the count of used bytes"""

    def may_take(self, allows: Allows, cached: Cached, timeline: Timeline) -> bool:
        """Return whether the stream may have the block as things are."""

    def may_wait(self) -> bool:
        """Return whether the stream may have a block whose free is pending, and then waits for that free."""

    def least(self, size: int) -> int:
        """Return the bytes that a block must have for an allocation of `size`."""

    def part(self, size: int, extent: int) -> int:
        """Return the bytes that an allocation of `size` takes of a block of `extent`."""


class PromisedReuse:
    """What the documentation allows; where it leaves a choice, the schedule makes it."""

    counts_unordered_frees = True

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def may_take(self, allows: Allows, cached: Cached, timeline: Timeline) -> bool:
        """Return whether a free is ordered before, or complete and (by chance) taken for an opportunity."""
        if cached.freed is None or _is_ordered(allows, cached, timeline):
            return True
        return cached.freed.done and allows(OPPORTUNISTIC) and self._policy.chance(0.75)

    def may_wait(self) -> bool:
        """Decide by chance."""
        return self._policy.chance(0.25)

    def least(self, size: int) -> int:
        """Return the bytes with a gap behind them."""
        return rounded(size)

    def part(self, size: int, extent: int) -> int:
        """Return the bytes with a gap behind them, so that work beyond the end is seen."""
        return rounded(size)


class ObservedReuse:
    """What the H200's driver does (A-09, A-10, A-11)."""

    counts_unordered_frees = False

    def __init__(self, knowledge: HostKnowledge) -> None:
        self._knowledge = knowledge

    def may_take(self, allows: Allows, cached: Cached, timeline: Timeline) -> bool:
        """Return whether a free is ordered before, known to the host, or (opportunistic) complete."""
        if cached.freed is None or _is_ordered(allows, cached, timeline):
            return True
        if self._knowledge.knows(cached.freed, cached.position):
            return True  # whatever the program forbids
        return cached.freed.done and allows(OPPORTUNISTIC)

    def may_wait(self) -> bool:
        """It never makes a stream wait: it takes other memory (A-02)."""
        return False

    def least(self, size: int) -> int:
        """Return the bytes alone."""
        return _aligned(size)

    def part(self, size: int, extent: int) -> int:
        """Return the bytes alone where something is left of the block: parts stand side by side (A-10)."""
        needed = _aligned(size)
        return needed if extent - needed > GAP else extent


def _is_ordered(allows: Allows, cached: Cached, timeline: Timeline) -> bool:
    if cached.timeline == timeline.index:
        return True
    return allows(FOLLOW_EVENTS) and timeline.has_seen(cached.timeline, cached.position)


def _aligned(size: int) -> int:
    return -(-size // GRANULE) * GRANULE
