"""The host's side of a program: processes and threads, the order between them, host memory, the host's own accesses."""

from __future__ import annotations

from msgspec.structs import replace

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread, Phase, Process
from streamsan.model.resources import Lifetime
from streamsan.model.values import Pointer, Value
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import (
    AccessMode,
    EdgeClass,
    ExitKind,
    FreeClass,
    LostKind,
    MemoryKind,
    OperationKind,
    SlotFlag,
)


class HostSide:
    """What a program does on its host, beside calls of the API."""

    def __init__(self, core: ModelCore) -> None:
        self.core = core
        self.main_thread: HostThread = core.start_thread(core.new_process(), "main", 0)

    # -- threads ----------------------------------------------------------------------------------
    def thread(self, name: str, process: Process | None = None, site: int = 0) -> HostThread:
        """Return a new host thread without any order to the others (for a thread nobody saw start)."""
        return self.core.start_thread(process or self.main_thread.process, name, site)

    def spawn(self, parent: HostThread, name: str, site: int) -> HostThread:
        """Start a thread: it sees all that its parent had seen. Device 0 is current to it, whatever the parent set."""
        key = self.sync_key()
        self.release(parent, key, site=site)
        thread = self.core.start_thread(parent.process, name, site)
        self.acquire(thread, key, site=site)
        return thread

    def join(self, thread: HostThread, other: HostThread, site: int) -> None:
        """`thread` waits for `other` to end."""
        key = self.sync_key()
        self.release(other, key, site=site)
        self.acquire(thread, key, site=site)

    def sync_key(self) -> int:
        """Return a new key for `release` and `acquire` (a mutex, an atomic, a promise)."""
        return self.core.fresh_handle()

    def release(self, thread: HostThread, key: int, edge: EdgeClass = EdgeClass.CONTRACT, site: int = 0) -> None:
        """Publish all that the thread has seen under `key`."""
        self.core.emit(OperationKind.HOST_RELEASE, thread, site, object=key, detail=edge)

    def acquire(self, thread: HostThread, key: int, edge: EdgeClass = EdgeClass.CONTRACT, site: int = 0) -> None:
        """Join what was published under `key`."""
        self.core.emit(OperationKind.HOST_ACQUIRE, thread, site, object=key, detail=edge)

    # -- processes --------------------------------------------------------------------------------
    def fork(self, thread: HostThread, site: int, child: bool = True) -> HostThread:
        """Fork; return the thread that goes on: the child's, or the parent's if `child` is false.

        The child exists in the trace either way. A caller that follows both runs the child with what this returns, to
        its `process_exit`, and then goes on with `thread`. The child has copies of the parent's host memory. CUDA fails
        in it if the parent had initialised it (W-07).
        """
        parent, made = thread.process, self.core.new_process()
        made.phase = parent.phase
        made.poisoned = parent.initialised or parent.poisoned
        made.devices = dict(parent.devices)
        for generation, allocation in parent.allocations.items():
            if made.poisoned or CUDA.is_hosts_own(allocation.kind) or allocation.kind is MemoryKind.DEVICE_SYMBOL:
                made.allocations[generation] = replace(allocation, inherited=True)
                made.ranges.add(made.allocations[generation])
        made.assumed_memory = {
            symbol: made.allocations[allocation.generation] for symbol, allocation in parent.assumed_memory.items()
        }
        self.core.emit(OperationKind.FORK, thread, site, object=made.index)
        started = self.core.start_thread(made, thread.name, site)
        started.device, started.conditional = thread.device, thread.conditional
        return started if child else thread

    def static_begin(self, thread: HostThread) -> None:
        """Static constructors run from here to `main_begin`: calls are outside main."""
        thread.process.phase = Phase.BEFORE_MAIN

    def main_begin(self, thread: HostThread, site: int = 0) -> None:
        """main() starts."""
        thread.process.phase = Phase.MAIN
        self.core.emit(OperationKind.MAIN_BEGIN, thread, site)

    def main_end(self, thread: HostThread, site: int = 0) -> None:
        """main() has returned, or exit() was called: static destructors and exit handlers follow."""
        if thread.process.phase is Phase.MAIN:
            self.core.emit(OperationKind.MAIN_END, thread, site)
            thread.process.phase = Phase.AFTER_MAIN

    def process_exit(self, thread: HostThread, site: int = 0, kind: ExitKind = ExitKind.NORMAL) -> None:
        """The process ends."""
        self.core.emit(OperationKind.PROCESS_EXIT, thread, site, detail=kind)

    # -- memory -----------------------------------------------------------------------------------
    def host_allocate(self, thread: HostThread, size: Value, kind: MemoryKind, site: int) -> Pointer:
        """Make host memory (HOST_HEAP, HOST_STACK, HOST_STATIC), or a device variable (DEVICE_SYMBOL).

        That belongs to the current context.
        """
        core = self.core
        context = core.current(thread, site) if kind is MemoryKind.DEVICE_SYMBOL and thread.stack else None
        allocation = core.new_allocation(thread, size, kind, context)
        core.say_allocation(thread, allocation, site)
        return allocation.pointer

    def host_free(self, thread: HostThread, value: Value, family: FreeClass, site: int) -> None:
        """Release host memory: HOST_HEAP or HOST_SCOPE. A child's copy of its parent's memory is not in the trace."""
        core = self.core
        pointer = None if value == 0 else core.pointer_of(thread, value, site)
        allocation = core.allocation_of(thread, pointer)
        if pointer is None or (allocation is not None and allocation.inherited):
            return
        flags = 0 if pointer.exact else SlotFlag.ASSUMED
        freed = [Reference(pointer.address, 0, pointer.generation)]
        core.emit(OperationKind.FREE, thread, site, references=freed, detail=family, flags=flags)
        if allocation is not None and not CUDA.accepts(family, allocation.kind):
            return  # memory of another family (SS202): nobody knows what that free does to it
        if allocation is not None and allocation.lifetime in (Lifetime.LIVE, Lifetime.UNCLEAR):
            allocation.lifetime = Lifetime.FREED if pointer.exact else Lifetime.UNCLEAR

    def host_access(
        self,
        thread: HostThread,
        value: Value,
        size: Value,
        mode: AccessMode,
        site: int,
        certain: bool = True,
        *,
        polls: bool = False,
    ) -> None:
        """The host reads or writes `size` bytes itself (None: not known how many).

        `certain` false: anywhere in the memory from there on.

        `polls`: it may read there again and again, until what it waits for is written.
        """
        reference = self.core.reference(thread, value, size, mode, site, SlotFlag.ATOMIC if polls else 0)
        allocation = self.core.allocation_of(thread, value if isinstance(value, Pointer) else None)
        if reference is not None and (allocation is None or not allocation.inherited):
            flags = 0 if certain else SlotFlag.ASSUMED
            self.core.emit(OperationKind.HOST_ACCESS, thread, site, references=[reference], flags=flags)

    def host_clock(self, thread: HostThread, site: int) -> None:
        """The host reads a clock: what it waited for is being timed."""
        self.core.emit(OperationKind.HOST_CLOCK, thread, site)

    def pointer_lost(self, thread: HostThread, pointer: Pointer, kind: LostKind, site: int) -> None:
        """The last pointer to a live allocation is gone."""
        reference = Reference(pointer.base, 0, pointer.generation)
        self.core.emit(OperationKind.POINTER_LOST, thread, site, references=[reference], detail=kind)
