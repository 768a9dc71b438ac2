"""Processes and host threads: their beginning, their end, and the order between them."""

from __future__ import annotations

from dataclasses import replace

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread, Phase, Process
from streamsan.platforms import CUDA
from streamsan.vocabulary import EdgeClass, ExitKind, MemoryKind, OperationKind


def start_thread(core: ModelCore, process: Process, name: str, site: int) -> HostThread:
    """Make a host thread of a process and say so."""
    thread = core.new_thread(process, name)
    core.emit(OperationKind.THREAD_START, thread, site)
    return thread


def spawn(core: ModelCore, parent: HostThread, name: str, site: int) -> HostThread:
    """Start a thread: it sees all that its parent had seen. Device 0 is current to it, whatever the parent set."""
    key = core.fresh_handle()
    release(core, parent, key, EdgeClass.CONTRACT, site)
    thread = start_thread(core, parent.process, name, site)
    acquire(core, thread, key, EdgeClass.CONTRACT, site)
    return thread


def join(core: ModelCore, thread: HostThread, other: HostThread, site: int) -> None:
    """Wait for another thread to end."""
    key = core.fresh_handle()
    release(core, other, key, EdgeClass.CONTRACT, site)
    acquire(core, thread, key, EdgeClass.CONTRACT, site)


def release(core: ModelCore, thread: HostThread, key: int, edge: EdgeClass, site: int) -> None:
    """Publish what the thread has seen under a key."""
    core.emit(OperationKind.HOST_RELEASE, thread, site, object=key, detail=edge)


def acquire(core: ModelCore, thread: HostThread, key: int, edge: EdgeClass, site: int) -> None:
    """See what was published under a key."""
    core.emit(OperationKind.HOST_ACQUIRE, thread, site, object=key, detail=edge)


def fork(core: ModelCore, thread: HostThread, site: int) -> HostThread:
    """Fork, and return the child's thread.

    The child has copies of the parent's host memory. CUDA fails in it if the parent had initialised it (W-07).
    """
    parent = thread.process
    child = core.new_process()
    child.phase = parent.phase
    child.poisoned = parent.initialised or parent.poisoned
    child.devices = dict(parent.devices)
    for generation, allocation in parent.allocations.items():
        if child.poisoned or CUDA.is_hosts_own(allocation.kind) or allocation.kind is MemoryKind.DEVICE_SYMBOL:
            child.allocations[generation] = replace(allocation, inherited=True)
            child.ranges.add(child.allocations[generation])
    child.assumed_memory = {
        symbol: child.allocations[allocation.generation] for symbol, allocation in parent.assumed_memory.items()
    }
    core.emit(OperationKind.FORK, thread, site, object=child.index)
    started = start_thread(core, child, thread.name, site)
    started.device = thread.device
    started.conditional = thread.conditional
    return started


def main_begin(core: ModelCore, thread: HostThread, site: int) -> None:
    """main() starts."""
    thread.process.phase = Phase.MAIN
    core.emit(OperationKind.MAIN_BEGIN, thread, site)


def main_end(core: ModelCore, thread: HostThread, site: int) -> None:
    """main() has returned, or exit() was called: static destructors and exit handlers follow."""
    if thread.process.phase is Phase.MAIN:
        core.emit(OperationKind.MAIN_END, thread, site)
        thread.process.phase = Phase.AFTER_MAIN


def process_exit(core: ModelCore, thread: HostThread, site: int, kind: ExitKind) -> None:
    """The process ends."""
    core.emit(OperationKind.PROCESS_EXIT, thread, site, detail=kind)
