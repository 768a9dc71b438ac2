"""Which allocation an access refers to, and how long each lives, in the order of the trace."""

from __future__ import annotations

from dataclasses import dataclass, field

from execution_oracle.program import Op
from streamsan.trace import Reference
from streamsan.vocabulary import FreeClass, MemoryKind
from streamsan.vocabulary import OperationKind as Kind

PAGEABLE = {MemoryKind.HOST_HEAP, MemoryKind.HOST_STACK, MemoryKind.HOST_STATIC}
OF_A_CONTEXT = {
    MemoryKind.PLAIN, MemoryKind.ARRAY, MemoryKind.MANAGED, MemoryKind.PINNED, MemoryKind.IPC, MemoryKind.REGISTERED,
}  # fmt: skip
HOST_SIDE = PAGEABLE | {MemoryKind.PINNED, MemoryKind.REGISTERED}


@dataclass(eq=False)
class Allocation:
    """One generation of a range of addresses."""

    index: int
    """of the operation that made it"""
    base: int
    size: int
    generation: int
    kind: MemoryKind
    context: int
    freed: int | None = None
    """index of the operation that freed it"""
    free: Op | None = None
    registered: bool = False
    """pageable memory that is pinned for a while"""
    pinned_in: int = 0
    """the context that was current when it was registered"""

    @property
    def dead(self) -> bool:
        """Whether it went with its context."""
        return self.free is not None and self.free.kind is not Kind.FREE

    @property
    def pageable(self) -> bool:
        return self.kind in PAGEABLE and not self.registered

    def contains(self, address: int) -> bool:
        return self.base <= address < self.base + self.size


@dataclass
class Memory:
    """All that is allocated, and what was, until its addresses are given out again."""

    allocations: list[Allocation] = field(default_factory=list)
    before: dict[Allocation, Allocation] = field(default_factory=dict)
    """the freed allocation whose base, and place in the table, another one took over"""

    def at(self, address: int) -> Allocation | None:
        for allocation in self.allocations:
            if allocation.contains(address):
                return allocation
        return None

    def allocate(self, index: int, op: Op, context: int) -> Allocation:
        made = op.references[0]
        host = self.at(made.address)
        if op.detail == MemoryKind.REGISTERED and host is not None and host.kind in PAGEABLE and host.freed is None:
            host.registered, host.pinned_in = True, context  # its life goes on
            return host
        new = Allocation(index, made.address, made.size, made.generation, MemoryKind(op.detail), context)
        end = made.address + made.size
        for each in self.allocations:
            if each.base == made.address:
                self.before[new] = each
        self.allocations = [each for each in self.allocations
                            if each.base + each.size <= made.address or each.base >= end]  # fmt: skip
        self.allocations.append(new)
        return new

    def previous(self, owner: Allocation) -> Allocation | None:
        """Return the allocation that had the base before, as far as it is known.

        None where generations are not numbered. What had the address in between, from another base, is not remembered.
        """
        before = self.before.get(owner)
        return before if before is not None and before.generation and owner.generation else None

    def free(self, index: int, op: Op) -> None:
        allocation = self.at(op.references[0].address)
        assert allocation is not None
        if is_unregistration(op, allocation):
            allocation.registered = False
        else:
            allocation.freed, allocation.free = index, op

    def end_context(self, index: int, op: Op) -> list[Allocation]:
        """Take the memory away that goes with a context; return it. What comes from pools stays (R-04)."""
        gone = [
            each for each in self.allocations
            if each.freed is None and each.kind in OF_A_CONTEXT and each.context == op.object
        ]  # fmt: skip
        for each in gone:
            each.freed, each.free = index, op
        for each in self.allocations:
            each.registered = each.registered and each.pinned_in != op.object
        return gone


def is_unregistration(op: Op, allocation: Allocation) -> bool:
    """Whether a free ends no life: the memory was the host's before, and is again."""
    return op.detail == FreeClass.UNREGISTER and allocation.kind in PAGEABLE


def stale(reference: Reference, allocation: Allocation) -> bool:
    """Whether the pointer was made for an earlier owner of the address."""
    return 0 != reference.generation != allocation.generation != 0


def waiting_free(op: Op, allocation: Allocation) -> bool:
    """Whether the driver waits for the memory's context at such a free, which no document promises."""
    if op.detail in (FreeClass.DEVICE, FreeClass.ARRAY):
        return allocation.kind not in (MemoryKind.STREAM_ORDERED, MemoryKind.GRAPH, MemoryKind.POOL_IMPORT)
    return op.detail in (FreeClass.PINNED, FreeClass.UNREGISTER)
