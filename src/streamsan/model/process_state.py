"""What a process owns, and what is current to a host thread. Plain data."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from streamsan.model.address_space import AddressIndex
from streamsan.model.resources import Allocation, Context, Lifetime, OtherHandle, Pool
from streamsan.model.streams_and_graphs import Event, Graph, GraphExec, GraphTable, Stream
from streamsan.model.values import Symbol, Value
from streamsan.vocabulary import CaptureMode

Handled = Context | Stream | Event | OtherHandle | Graph | GraphExec


class Phase(StrEnum):
    """Where a process stands with respect to main()."""

    UNKNOWN = "unknown"
    """an entry that is not main: nobody knows who calls it"""
    BEFORE_MAIN = "before"
    MAIN = "main"
    AFTER_MAIN = "after"


class Process(Struct, eq=False):
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
    maps: dict[int, list[Any]] = field(default_factory=dict)
    """OpenCL: address -> `opencl.objects.Map`s of regions that the host has by it"""
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


class HostThread(Struct, eq=False):
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
    last_error: int = 0
    """of the runtime, for cudaGetLastError"""
    lost_context: Context | None = None
    """a primary context that was current here when another thread reset it: the driver's calls find it destroyed"""
    capture_mode: CaptureMode = CaptureMode.GLOBAL
    """cudaThreadExchangeStreamCaptureMode: which captures forbid this thread unsafe calls"""
