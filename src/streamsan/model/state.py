"""What the model knows: processes, host threads, contexts, streams, events, allocations. Plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from streamsan.model.values import Pointer, Symbol, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import ContextKind, MemoryKind, StreamKind

LEGACY_HANDLE = 1
PER_THREAD_HANDLE = 2
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


@dataclass(slots=True, eq=False)
class Capture:
    """What was captured between BeginCapture and EndCapture: not executed, so not in the trace."""

    references: list[Reference] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Stream:
    """A stream; handles 1 and 2 are the default streams."""

    handle: int
    kind: StreamKind
    context: Context | None
    alive: bool = True
    assumed: bool = False
    capture: Capture | None = None


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


class Lifetime(StrEnum):
    """Where an allocation stands."""

    LIVE = "live"
    FREED = "freed"
    ASYNC_FREED = "async freed"
    DEAD = "dead"
    """its context was reset or destroyed"""
    UNCLEAR = "unclear"
    """code that the model cannot follow may have freed it"""


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

    @property
    def pointer(self) -> Pointer:
        """The base address."""
        return Pointer(self.address, self.address, self.generation)


Handled = Context | Stream | Event | OtherHandle


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
    capturing: int = 0
    """streams on which a capture was begun and not ended"""
    said: set[str] = field(default_factory=set)
    """what was reported as not modelled, so that it is said once"""
    captured: list[Reference] = field(default_factory=list)
    """memory that some captured graph may use"""
    mapped: dict[int, Allocation] = field(default_factory=dict)
    """VMM: address -> what is mapped there"""

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
