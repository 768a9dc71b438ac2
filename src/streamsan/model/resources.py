"""What calls make and free: contexts, pools, memory, and how arrays lie in it. Plain data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from streamsan.model.values import Pointer, Value
from streamsan.vocabulary import ContextKind, MemoryKind


class Context(Struct, eq=False):
    """A context and, when it is a primary one, its device."""

    handle: int
    kind: ContextKind
    ordinal: int
    """number of the device in the trace"""
    device: Value
    """the device as the program named it"""
    alive: bool = True
    assumed: bool = False
    retained: int = 0
    """for a primary context: cuDevicePrimaryCtxRetain less Release"""
    used_by_runtime: bool = False
    flags: int = 0
    peers: set[int] = field(default_factory=set)
    """handles of the contexts whose memory this one's work may touch"""
    settings: dict[str, int] = field(default_factory=dict)
    """limits and cache configurations that the program set"""


class OtherHandle(Struct, eq=False):
    """A pool, graph, physical allocation, ...: known by handle only."""

    handle: int
    type: str
    context: Context | None
    alive: bool = True
    outlives_reset: bool = False
    owned: bool = True
    """made by the program; False: fetched (a device's default pool cannot be destroyed)"""


class Pool(OtherHandle):
    """A memory pool of a device."""

    ordinal: int = 0
    """number of its device in the trace"""
    imported: bool = False
    """of another process: memory comes by cudaMemPoolImportPointer only"""
    handle_types: int = 0
    attributes: dict[int, int] = field(default_factory=dict)
    """cudaMemPoolAttr -> what the program set, and the highest usage seen"""
    access: dict[int, int] = field(default_factory=dict)
    """other devices -> cudaMemAccessFlags"""


class Physical(OtherHandle):
    """VMM: physical memory. It lives until it is released and nothing maps it."""

    size: int = 0
    ordinal: int = 0
    references: int = 1
    """handles that were given out and not released"""
    mappings: int = 0
    handle_types: int = 0
    """CUmemAllocationHandleType of the handles that other processes may get"""


class ArrayLayout(Struct, frozen=True):
    """How an array lies in memory here: row after row, slice after slice, without gaps."""

    width: int
    """elements in a row"""
    height: int
    """rows, 0 for a 1D array"""
    depth: int
    """slices, 0 for 1D and 2D arrays"""
    element: int
    """bytes of an element"""
    flags: int = 0
    channels: tuple[int, int, int, int] = (0, 0, 0, 0)
    """bits of each component"""
    format: int = 0
    """cudaChannelFormatKind, or the driver's CUarray_format"""

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return self.width * self.element

    @property
    def slice(self) -> int:
        """Bytes of a slice."""
        return self.row * max(self.height, 1)

    @property
    def size(self) -> int:
        """Bytes of all."""
        return self.slice * max(self.depth, 1)


class Lifetime(StrEnum):
    """Where an allocation stands."""

    LIVE = "live"
    FREED = "freed"
    ASYNC_FREED = "async freed"
    DEAD = "dead"
    """its context was reset or destroyed"""
    UNCLEAR = "unclear"
    """code that the model cannot follow may have freed it"""
    RESERVED = "reserved"
    """a graph's own memory while no launch has made it, or after its free in the graph"""


class Allocation(Struct, eq=False):
    """One generation of an address range."""

    address: int
    size: int
    """bytes; 0 when not known"""
    generation: int
    kind: MemoryKind
    context: Context | None
    lifetime: Lifetime = Lifetime.LIVE
    assumed: bool = False
    asked: Value = None
    """bytes that the program asked for, where these are no number that is known"""
    inherited: bool = False
    """a forked child's copy of its parent's memory"""
    is_reservation: bool = False
    """VMM: addresses only; what is mapped into them are allocations of their own"""
    label: str = ""
    """for a reservation: the program's name of it, which the mappings take over"""
    registration: int = 0
    """generation of the registration that covers this host memory, 0 when there is none"""
    flags: int = 0
    """as the program gave them: cudaHostAlloc, cudaHostRegister, cudaMallocManaged"""
    pool: Pool | None = None
    layout: ArrayLayout | None = None
    """of an array; None where it is not known"""
    physical: Physical | None = None
    """VMM: what is mapped"""
    access: dict[int, int] = field(default_factory=dict)
    """VMM: devices -> cudaMemAccessFlags"""
    advice: dict[int, int] = field(default_factory=dict)
    """managed: cudaMemRangeAttribute -> value"""
    opens: int = 1
    """IPC: how often it was opened and not closed"""
    sync_memops: bool = False
    """CU_POINTER_ATTRIBUTE_SYNC_MEMOPS"""

    @property
    def pointer(self) -> Pointer:
        """The base address."""
        return Pointer(self.address, self.address, self.generation)
