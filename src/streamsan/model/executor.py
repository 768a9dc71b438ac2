"""What happens on the device beyond the model's states: where memory lies, when work runs, what a query answers.

The model decides statuses and order; the executor decides what only a schedule or the hardware knows. As it stands
here there is no device at all, for the source reader: nothing runs, addresses never come back, queries have no known
answer. The simulated device (`streamsan.sim.executor`) stores bytes and runs work under a schedule.
Each method is called only for calls that succeed, and after the operation was written to the trace; but
`synchronize_*`, `query_*` and `place` before it, so that what ran meanwhile (a host function) stands before the wait in
the trace, and the status is known (`sticky_error` is read after the wait). A copy that waits (BEFORE, COMPLETE) is
preceded by `synchronize_stream` for the same reason.

A default stream has no context of its own: it is that of the calling thread, `thread.stack[-1]`. A kernel or fill that
touches another device's memory is error 700 unless that context's handle is in `context.peers` (memory of a pool:
unless the pool's `access` has the device); copies need no leave. A host function's `HostWork.payload` is called without
arguments; it does the order around the body itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from streamsan.model.address_space import FreshAddresses
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Allocation, Context, OtherHandle, Physical, Pool
from streamsan.model.statuses import INVALID_VALUE
from streamsan.model.streams_and_graphs import Event, GraphExec, Stream
from streamsan.model.values import Pointer, Symbol, Value
from streamsan.model.work import Work
from streamsan.vocabulary import FreeClass, MemoryKind, WaitClass


class Opened(Struct, frozen=True):
    """What opening another process's memory gives: a status, and where it lies."""

    status: int
    address: int = 0
    size: int = 0


class Region(Struct, frozen=True):
    """Bytes that stand for those of a use."""

    address: int
    size: int
    """0: nobody knows where they end"""
    touches: bool
    """the first of them is surely touched"""


class Executor:
    """No device; one that has work to run overrides what it knows."""

    unknown_is_pageable = False
    """whether an address that lies in no allocation of the process is surely pageable memory of the host"""
    refuses_freed_memory = False
    """Whether copies and fills of memory that is gone are refused at the call, as a driver does (G-08, W-03, W-06);
    without it the work runs into it."""

    def __init__(self) -> None:
        self._addresses = FreshAddresses()

    # -- memory -----------------------------------------------------------------------------------
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
        """Return the address of a new allocation of `size` bytes (0: not known); None: out of memory.

        `stream` is that of a stream-ordered allocation. `wanted`: VMM, a registration: the address is given. For
        GRAPH memory the address is reserved for the node: it is usable from the node's execution to its free.
        MAPPED without `wanted` reserves addresses; with it, memory is mapped there, and `pool` is the physical memory:
        what was written through one mapping is seen through the others. For STREAM_ORDERED memory, `pool` None or one
        that the program only fetched is the default pool of the context's device. `thread`: who calls (with the
        per-thread default stream it says which stream is meant). Addresses given out here, for PINNED memory too, never
        become those of memory that the host allocates itself.
        """
        return wanted or self._addresses.place(size)

    def free(self, thread: HostThread, allocation: Allocation, family: FreeClass, stream: Stream | None) -> None:
        """Release memory: in stream order (`stream`), or now. A driver that waits (F-01) waits here."""

    def region(self, allocation: Allocation, pointer: Pointer, size: Value, touches: bool) -> Region | None:
        """Return bytes that stand for those of a use whose place or size no number says; None: there are none."""
        return None

    # -- order ------------------------------------------------------------------------------------
    def enqueue(self, thread: HostThread, stream: Stream, work: Work, wait: WaitClass) -> None:
        """Issue work to a stream; the host waits as `wait` says."""

    def run_now(self, thread: HostThread, work: Work) -> None:
        """Work that the host does itself during the call."""

    def record(self, thread: HostThread, stream: Stream, event: Event) -> None:
        """The event captures the stream as it is now."""

    def wait_event(self, thread: HostThread, stream: Stream, event: Event) -> None:
        """What is issued to the stream from here on waits for the event's latest record."""

    def synchronize_stream(self, thread: HostThread, stream: Stream) -> None:
        """The host waits for a stream."""

    def synchronize_event(self, thread: HostThread, event: Event) -> None:
        """The host waits for the event's latest record."""

    def synchronize_context(self, thread: HostThread, context: Context) -> None:
        """The host waits for a context."""

    def query_stream(self, thread: HostThread, stream: Stream, fresh: Symbol) -> Value:
        """Return 0 (complete), 600 (not ready), or `fresh`: not known."""
        return fresh

    def query_event(self, thread: HostThread, event: Event, fresh: Symbol) -> Value:
        """Return 0 (complete), 600 (not ready), or `fresh`: not known."""
        return fresh

    def elapsed(self, start: Event, end: Event, fresh: Symbol) -> Value:
        """Return milliseconds between two events, 600 is never returned here; `fresh`: not known."""
        return fresh

    # -- graphs -----------------------------------------------------------------------------------
    def launch_graph(self, thread: HostThread, executable: GraphExec, stream: Stream) -> None:
        """Run the body of an executable graph, as it is now, on a stream."""

    # -- ends -------------------------------------------------------------------------------------
    def end_context(self, thread: HostThread, context: Context) -> None:
        """A context was reset or destroyed: its memory is gone."""

    def trim(self, pool: OtherHandle | None, keep: int) -> None:
        """Give unused memory of a pool (None: of graphs) back, down to `keep` bytes."""

    def release_addresses(self, reservation: Allocation) -> None:
        """VMM: reserved addresses are given back (cuMemAddressFree)."""

    def release_physical(self, physical: OtherHandle) -> None:
        """VMM: the last use of physical memory (handle, mappings) is gone."""

    def set_access(self, mapping: Allocation, ordinal: int, flags: int) -> None:
        """VMM: a device may (1: read, 3: read and write) or may not (0) touch a mapping. At first none may."""

    # -- other processes --------------------------------------------------------------------------
    @property
    def exporter(self) -> int:
        """What this process is called in handles for others (IPC); 0: it has no name, and handles stay in the model."""
        return 0

    def share_memory(self, allocation: Allocation, identity: int) -> bool:
        """Let other processes open memory by an identity; return whether that is possible."""
        return True

    def share_event(self, event: Event, identity: int) -> bool:
        """Let other processes open an event by an identity; return whether that is possible."""
        return True

    def open_memory(self, fields: Mapping[str, Value], kind: MemoryKind, context: Context | None) -> Opened:
        """Open what a handle of another process stands for (`exporter`, `identity`)."""
        return Opened(INVALID_VALUE)

    def open_event(self, event: Event, fields: Mapping[str, Value]) -> int:
        """Let an event be the one that a handle of another process stands for; return the status."""
        return INVALID_VALUE

    def share_pool(self, pool: Pool) -> int | None:
        """Return the number of a file that stands for a pool in other processes; None: that is not possible."""
        return pool.handle

    def open_pool(self, file: int) -> bool:
        """Return whether a file stands for a pool of another process."""
        return True

    def share_physical(self, physical: Physical) -> int | None:
        """Return the number of a file that is physical memory in other processes; None: that is not possible."""
        return physical.handle

    def open_physical(self, physical: Physical, file: int) -> int:
        """Let physical memory be that of another process's file; return its size, 0 if the file is none."""
        return 0

    # -- the host ---------------------------------------------------------------------------------
    def host_buffer_end(self, address: int) -> int:
        """Return where the host's own buffer that holds an address ends; 0: its size is not known."""
        return 0

    # -- the machine ------------------------------------------------------------------------------
    def device_count(self, fresh: Symbol) -> Value:
        """Return the number of devices. A number says that the machine is known: the model then answers queries."""
        return fresh

    def memory_info(self, ordinal: int) -> tuple[int, int]:
        """Return the free and all bytes of a device. Asked only where the machine is known."""
        return 0, 0

    def pool_usage(self, pool: Pool) -> tuple[int, int]:
        """Return the bytes that a pool has reserved, and those of them in use. Asked as `memory_info` is."""
        return 0, 0

    def sticky_error(self, context: Context) -> int:
        """Return the error that work of this context met (700: illegal address), 0 if none."""
        return 0
