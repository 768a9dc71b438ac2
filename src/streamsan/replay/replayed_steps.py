"""The operations of a trace as the replay needs them: every reference leads to a piece of memory, not to an address."""

from __future__ import annotations

from msgspec import Struct, field

from streamsan.trace.rows import Rows
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.vocabulary import FreeClass, MemoryKind, NodeKind, OperationKind, WaitClass

_WAIT_IN_CALL = (OperationKind.COPY, OperationKind.MEMSET, OperationKind.LAUNCH, OperationKind.PREFETCH)


class NoReplayError(Exception):
    """A trace, or a finding, cannot be replayed. `str()` says why, in a clause."""


class Memory(Struct, eq=False):
    """One generation of an allocation."""

    number: int
    made: int
    """sequence number of its allocation; less than 0: nobody saw it"""
    kind: MemoryKind
    base: int
    size: int
    """bytes; 0: not known"""
    generation: int
    site: int
    stream: int = 0
    cuts: set[int] = field(default_factory=lambda: {0})
    """offsets at which an access begins or ends"""
    starts: set[int] = field(default_factory=set)
    """offsets at which an access begins that nobody knows the end of"""
    rows: set[tuple[int, Rows]] = field(default_factory=set)
    """offsets at which accesses begin that leave gaps, with their rows"""
    is_hosts_own: bool = False
    """memory of the host of which the trace has nothing but that commands use it: it is there all the time"""

    @property
    def end(self) -> int:
        """One past its last address."""
        return self.base + max(1, self.size)


class Access(Struct, frozen=True):
    """A range of a memory that an operation uses."""

    memory: Memory
    begin: int
    """offset in bytes"""
    end: int
    """offset; 0: not known how far"""
    reads: bool
    writes: bool
    atomic: bool = False
    behind: bool = False
    """of a kernel that begins at once: only after it has waited for the one before it"""
    rows: Rows | None = None
    """which bytes of the range it uses; None: all of them, as far as is known"""


class Node(Struct, frozen=True):
    """A node of a graph's body."""

    number: int
    sequence: int
    kind: NodeKind
    site: int
    accesses: tuple[Access, ...]
    object: int
    """event of an event node"""
    dependencies: tuple[int, ...]
    api: str = ""


class Step(Struct, eq=False):
    """One operation of the trace that the replay performs."""

    sequence: int
    kind: OperationKind
    thread: int
    process: int
    stream: int
    object: int
    address: int
    detail: int
    site: int
    status: int
    value: int = 0
    """of a write of, or a wait for, a value in memory; of a deferred release the sync key of what is called then"""
    api: str = ""
    """the function that was called, "" where it is none"""
    context: int = 0
    """number of the context that it is about: the one it names, or the current one; 0: of none"""
    accesses: tuple[Access, ...] = ()
    memory: Memory | None = None
    """of an allocation or a free"""
    overlays: bool = False
    """of these: it is about host memory that goes on: the device may use it from here on, or no longer"""
    maps: Memory | None = None
    """of a command that maps a region: what the pointer leads to that the host gets"""
    mapped_by: int = 0
    """of the allocation of such a pointer: sequence number of that command"""
    unmaps: Memory | None = None
    """of a command that takes such a pointer back"""
    nodes: tuple[Node, ...] = ()
    """of an instantiation or update: the body"""

    @property
    def succeeded(self) -> bool:
        """Whether the call had an effect."""
        return self.status in (0, STATUS_UNKNOWN)

    @property
    def waits(self) -> WaitClass:
        """What the host waits for during the call."""
        if self.kind is OperationKind.FREE and self.detail == FreeClass.CL_SVM_BLOCKING:
            return WaitClass.BEFORE
        told = self.kind in _WAIT_IN_CALL and self.detail <= max(WaitClass)
        return WaitClass(self.detail) if told else WaitClass.NONE
