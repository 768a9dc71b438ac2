"""What the model knows: processes, host threads, contexts, streams, events, allocations. Plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from streamsan.model.address_space import AddressIndex
from streamsan.model.graphs.state import Capture, Graph, GraphExec, GraphTable
from streamsan.model.values import Pointer, Symbol, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import CaptureMode, ContextKind, MemoryKind, StreamKind

LEGACY_HANDLE = CUDA.legacy_stream
PER_THREAD_HANDLE = CUDA.per_thread_stream
FIRST_HANDLE = 0x1000


@dataclass(slots=True, eq=False)
class Context:
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


@dataclass(slots=True, eq=False)
class Stream:
    """A stream; handles 1 and 2 are the default streams."""

    handle: int
    kind: StreamKind
    context: Context | None
    alive: bool = True
    assumed: bool = False
    capture: Capture | None = None
    flags: int = 0
    priority: int = 0
    policy: int = 1
    """cudaSynchronizationPolicy"""


@dataclass(slots=True, eq=False)
class Event:
    """An event."""

    handle: int
    context: Context | None
    alive: bool = True
    assumed: bool = False
    recorded: bool = False
    capture: Capture | None = None
    """its latest record was captured, so that a stream that waits for it joins the capture"""
    flags: int = 0


@dataclass(slots=True, eq=False)
class OtherHandle:
    """A pool, graph, physical allocation, ...: known by handle only."""

    handle: int
    type: str
    context: Context | None
    alive: bool = True
    outlives_reset: bool = False
    owned: bool = True
    """made by the program; False: fetched (a device's default pool cannot be destroyed)"""


@dataclass(slots=True, eq=False)
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


@dataclass(slots=True, eq=False)
class Physical(OtherHandle):
    """VMM: physical memory. It lives until it is released and nothing maps it."""

    size: int = 0
    ordinal: int = 0
    references: int = 1
    """handles that were given out and not released"""
    mappings: int = 0
    handle_types: int = 0
    """CUmemAllocationHandleType of the handles that other processes may get"""


@dataclass(frozen=True, slots=True)
class ArrayLayout:
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


@dataclass(slots=True, eq=False)
class Allocation:
    """One generation of an address range."""

    address: int
    size: int
    """bytes; 0 when not known"""
    generation: int
    kind: MemoryKind
    context: Context | None
    lifetime: Lifetime = Lifetime.LIVE
    assumed: bool = False
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


Handled = Context | Stream | Event | OtherHandle | Graph | GraphExec


class Phase(StrEnum):
    """Where a process stands with respect to main()."""

    UNKNOWN = "unknown"
    """an entry that is not main: nobody knows who calls it"""
    BEFORE_MAIN = "before"
    MAIN = "main"
    AFTER_MAIN = "after"


@dataclass(slots=True, eq=False)
class Process:
    """One process: what it owns. Handles and addresses mean something in their own process only."""

    index: int
    phase: Phase = Phase.UNKNOWN
    initialised: bool = False
    """it has made a CUDA call"""
    poisoned: bool = False
    """forked from a process that had initialised CUDA: every call fails (W-07)"""
    primaries: dict[int, Context] = field(default_factory=dict)
    """device number in the trace -> primary context"""
    handles: dict[int, Handled] = field(default_factory=dict)
    allocations: dict[int, Allocation] = field(default_factory=dict)
    """generation -> allocation"""
    assumed_memory: dict[Symbol, Allocation] = field(default_factory=dict)
    assumed_handles: dict[tuple[str, object], Handled] = field(default_factory=dict)
    devices: dict[Symbol, int] = field(default_factory=dict)
    """unknown devices -> their numbers in the trace"""
    graphs: GraphTable = field(default_factory=GraphTable)
    imports: dict[int, Allocation] = field(default_factory=dict)
    """IPC: identity of a handle -> the memory that was opened by it"""
    said: set[str] = field(default_factory=set)
    """what was reported as not modelled, so that it is said once"""
    mapped: dict[int, Allocation] = field(default_factory=dict)
    """VMM: address -> what is mapped there"""
    reservations: dict[int, Allocation] = field(default_factory=dict)
    """VMM: address -> reserved addresses"""
    ranges: AddressIndex = field(default_factory=AddressIndex)
    """every allocation by address, for pointers that are numbers"""
    described: dict[int, dict[str, dict[str, Value]]] = field(default_factory=dict)
    """texture and surface objects -> parameter -> fields of the descriptions that they were made with"""
    driver_initialised: bool = False
    """cuInit was called, or a call of the runtime"""
    default_pools: dict[int, Pool] = field(default_factory=dict)
    """device -> its default pool"""
    current_pools: dict[int, Pool] = field(default_factory=dict)
    """device -> the pool that cudaMallocAsync takes, where the program set one"""
    device_flags: dict[int, int] = field(default_factory=dict)
    """device -> flags of its primary context, set before or after it begins"""

    def live(self) -> Iterator[Allocation]:
        """Yield the allocations that are alive."""
        return (allocation for allocation in self.allocations.values() if allocation.lifetime is Lifetime.LIVE)

    def owned_by(self, context: Context) -> Iterator[Handled]:
        """Yield the streams, events and others of a context."""
        return (
            handled
            for handled in self.handles.values()
            if not isinstance(handled, Context) and handled.context is context
        )


@dataclass(slots=True, eq=False)
class HostThread:
    """A host thread: what is current to it."""

    index: int
    """in the trace's thread table"""
    process: Process
    name: str
    stack: list[Context] = field(default_factory=list)
    """contexts, the current one last"""
    device: Value = 0
    conditional: bool = False
    """set by the caller while the thread runs under a branch nobody could decide"""
    said_context: int = 0
    """the context that the trace believes current"""
    finished: bool = False
    last_error: int = 0
    """of the runtime, for cudaGetLastError"""
    lost_context: Context | None = None
    """a primary context that was current here when another thread reset it: the driver's calls find it destroyed"""
    capture_mode: CaptureMode = CaptureMode.GLOBAL
    """cudaThreadExchangeStreamCaptureMode: which captures forbid this thread unsafe calls"""
