"""Host memory: the heap, locals, globals; and the host's own reads and writes of any memory."""

from __future__ import annotations

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Lifetime
from streamsan.model.values import Pointer, Value
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, SlotFlag


def host_allocate(core: ModelCore, thread: HostThread, size: Value, kind: MemoryKind, site: int) -> Pointer:
    """Make host memory, or a device variable (DEVICE_SYMBOL, which belongs to the current context)."""
    context = core.current(thread, site) if kind is MemoryKind.DEVICE_SYMBOL and thread.stack else None
    allocation = core.new_allocation(thread, size, kind, context)
    core.say_allocation(thread, allocation, site)
    return allocation.pointer


def host_free(core: ModelCore, thread: HostThread, value: Value, family: FreeClass, site: int) -> None:
    """Release host memory. A child's copy of its parent's memory is not in the trace."""
    pointer = None if value == 0 else core.pointer_of(thread, value, site)
    allocation = core.allocation_of(thread, pointer)
    if pointer is None or (allocation is not None and allocation.inherited):
        return
    flags = 0 if pointer.exact else SlotFlag.ASSUMED
    core.emit(
        OperationKind.FREE,
        thread,
        site,
        references=[Reference(pointer.address, 0, pointer.generation)],
        detail=family,
        flags=flags,
    )
    if allocation is not None and not CUDA.accepts(family, allocation.kind):
        return  # memory of another family (SS202): nobody knows what that free does to it
    if allocation is not None and allocation.lifetime in (Lifetime.LIVE, Lifetime.UNCLEAR):
        allocation.lifetime = Lifetime.FREED if pointer.exact else Lifetime.UNCLEAR


def host_access(
    core: ModelCore, thread: HostThread, value: Value, size: Value, mode: AccessMode, site: int, certain: bool
) -> None:
    """The host itself reads or writes memory; not certain: it may not happen."""
    reference = core.reference(thread, value, size, mode, site)
    if reference is None:
        return
    allocation = core.allocation_of(thread, value if isinstance(value, Pointer) else None)
    if allocation is not None and allocation.inherited:
        return
    core.emit(OperationKind.HOST_ACCESS, thread, site, references=[reference], flags=0 if certain else SlotFlag.ASSUMED)


def host_clock(core: ModelCore, thread: HostThread, site: int) -> None:
    """The host reads a clock: what it waited for is being timed."""
    core.emit(OperationKind.HOST_CLOCK, thread, site)
