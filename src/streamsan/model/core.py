"""How a value becomes a stream, an event, a context or memory; what is not known yet is assumed to exist, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from streamsan.model.emission import Emission
from streamsan.model.executor import Executor
from streamsan.model.hardware import Machine, load_machine
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Allocation, Context, Physical, Pool
from streamsan.model.streams_and_graphs import LEGACY_HANDLE, PER_THREAD_HANDLE, Event, Graph, GraphExec, Stream
from streamsan.model.values import Handle, Pointer, Symbol, Value
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.references import Reference
from streamsan.trace.rows import Rows
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    MemoryKind,
    OperationKind,
    SlotFlag,
    StreamKind,
)

LARGEST_SIZE = 1 << 62
FIRST_UNKNOWN_DEVICE = 1 << 16


_Made = TypeVar("_Made", Context, Stream, Event, Graph, GraphExec)


class OutOfMemoryError(Exception):
    """The executor has no room for an allocation: the call fails with error 2."""


class ModelCore(Emission):
    """What every handler works on."""

    issues = True
    """False: what a handler would issue is kept, as the work of a graph's node"""

    def __init__(
        self,
        builder: TraceBuilder,
        *,
        per_thread_default: bool = False,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(builder)
        self.per_thread_default = per_thread_default
        self.executor: Executor = Executor() if executor is None else executor
        self._next_generation = 1
        count = self.executor.device_count(Symbol(0, "devices", "input"))
        self.machine: Machine | None = load_machine(count) if isinstance(count, int) else None
        """What queries answer; None where nobody knows the machine, so that answers are symbols."""
        self.exports: dict[int, object] = {}
        """IPC handle -> what it stands for, in all processes"""
        self.on_host_call: Callable[[HostThread, Callable[[], None]], None] = _run
        """Runs the payload of a host function, on a thread of the driver that it is given; may be replaced."""

    # -- contexts ---------------------------------------------------------------------------------
    def current(self, thread: HostThread, site: int) -> Context:
        """Return the current context, the device's primary one if there is none yet, and tell the trace."""
        top = thread.stack[-1] if thread.stack else None
        if top is None or (top.kind is ContextKind.PRIMARY and not top.alive):
            thread.stack[-1:] = [self.primary(thread, thread.device, site)]
        context = thread.stack[-1]
        self.say_current(thread, context, site)
        return context

    def say_current(self, thread: HostThread, context: Context, site: int) -> None:
        """Tell the trace which context is current, if it believes otherwise."""
        if thread.said_context != context.handle:
            thread.said_context = context.handle
            self.emit(OperationKind.CONTEXT_CURRENT, thread, site, object=context.handle)

    def primary(self, thread: HostThread, device: Value, site: int) -> Context:
        """Return the primary context of a device, made when it is first needed."""
        ordinal, assumed = self._device_number(thread, device)
        context = thread.process.primaries.get(ordinal)
        if context is None or not context.alive:
            context = Context(self.fresh_handle(), ContextKind.PRIMARY, ordinal, device, assumed=assumed)
            thread.process.primaries[ordinal] = context
            thread.process.handles[context.handle] = context
            self._say_context(thread, context, site)
        return context

    def create_context(self, thread: HostThread, device: Value, site: int, api: str = "") -> Context:
        """Make a context of its own on a device."""
        ordinal, assumed = self._device_number(thread, device)
        context = Context(self.fresh_handle(), ContextKind.CREATED, ordinal, device, assumed=assumed)
        thread.process.handles[context.handle] = context
        self._say_context(thread, context, site, api)
        return context

    def _say_context(self, thread: HostThread, context: Context, site: int, api: str = "") -> None:
        self.emit(
            OperationKind.CONTEXT_CREATE,
            thread,
            site,
            api,
            object=context.handle,
            address=context.ordinal,
            detail=context.kind,
            flags=SlotFlag.ASSUMED if context.assumed else 0,
        )

    def sticky_error(self, thread: HostThread, context: Context | None = None) -> int:
        """Return the error that work of a context, or of the thread's current one, met; 0 if none."""
        context = context or (thread.stack[-1] if thread.stack else None)
        return 0 if context is None else self.executor.sticky_error(context)

    def number_from(self, handle: int, generation: int) -> None:
        """Count handles, keys and generations from here on, so that they differ from those of another process."""
        self._next_handle = max(self._next_handle, handle)
        self._next_generation = max(self._next_generation, generation)

    def _device_number(self, thread: HostThread, device: Value) -> tuple[int, bool]:
        """Return a device's number in the trace, and whether it is an unknown one."""
        if isinstance(device, int) and 0 <= device < FIRST_UNKNOWN_DEVICE:
            return device, False
        symbol = device if isinstance(device, Symbol) else Symbol(0, "device", "opaque")
        known = thread.process.devices
        return known.setdefault(symbol, FIRST_UNKNOWN_DEVICE + len(known)), True

    def known_or_assumed(
        self, thread: HostThread, word: str, kind: type[_Made], value: Value, site: int, assume: Callable[[], _Made]
    ) -> _Made:
        """Return the object of a kind that a value means; one that nobody knows is assumed to exist, once."""
        process = thread.process
        if isinstance(value, Handle) and isinstance(found := process.handles.get(value.value), kind):
            return found
        key = (word, identity(value, site))
        known = process.assumed_handles.get(key)
        if not isinstance(known, kind):
            known = assume()
            process.assumed_handles[key] = process.handles[known.handle] = known
        return known

    def context_of(self, thread: HostThread, value: Value, site: int) -> Context | None:
        """Return the context a value means; None for NULL. An unknown one is assumed to exist."""

        def assume() -> Context:
            symbol = value if isinstance(value, Symbol) else self.fresh_symbol("context")
            ordinal, _ = self._device_number(thread, replace(symbol, name=symbol.name + "'s device"))
            made = Context(self.fresh_handle(), ContextKind.CREATED, ordinal, symbol, assumed=True)
            self._say_context(thread, made, site)
            return made

        return None if value == 0 else self.known_or_assumed(thread, "context", Context, value, site, assume)

    # -- streams and events -----------------------------------------------------------------------
    def stream_of(self, thread: HostThread, value: Value, site: int, per_thread: bool = False) -> Stream:
        """Return the stream a value means: 0 is the default stream, an unknown one is assumed to exist."""
        if isinstance(value, int) and value in (0, LEGACY_HANDLE, PER_THREAD_HANDLE):
            chosen = value or (PER_THREAD_HANDLE if per_thread or self.per_thread_default else LEGACY_HANDLE)
            default = thread.process.handles[chosen]
            assert isinstance(default, Stream)
            return default

        def assume() -> Stream:
            context = self.current(thread, site)
            made = Stream(self.fresh_handle(), StreamKind.UNKNOWN, context, assumed=True)
            self._say_assumed(OperationKind.STREAM_CREATE, thread, site, value, made.handle, StreamKind.UNKNOWN)
            return made

        return self.known_or_assumed(thread, "stream", Stream, value, site, assume)

    def event_of(self, thread: HostThread, value: Value, site: int) -> Event:
        """Return the event a value means; an unknown one is assumed to exist."""

        def assume() -> Event:
            made = Event(self.fresh_handle(), self.current(thread, site), assumed=True)
            self._say_assumed(OperationKind.EVENT_CREATE, thread, site, value, made.handle)
            return made

        return self.known_or_assumed(thread, "event", Event, value, site, assume)

    def _say_assumed(
        self, kind: OperationKind, thread: HostThread, site: int, value: Value, handle: int, detail: int = 0
    ) -> None:
        named = self.named_site(site, value)
        apart = value.apart if isinstance(value, Symbol) else 0
        self.emit(kind, thread, named, object=handle, size=apart, detail=detail, flags=SlotFlag.ASSUMED)

    def named_site(self, site: int, value: Value) -> int:
        """Return the place where an unknown object is first met, labelled with the object's own name."""
        if not isinstance(value, Symbol):
            return site
        return self.builder.site(replace(self.builder.site_at(site), label=value.name))

    # -- memory -----------------------------------------------------------------------------------
    def new_allocation(
        self,
        thread: HostThread,
        size: Value,
        kind: MemoryKind,
        context: Context | None,
        address: int | None = None,
        stream: Stream | None = None,
        pool: Pool | Physical | None = None,
    ) -> Allocation:
        """Make an allocation, without an operation. Raises OutOfMemoryError where the executor has no room."""
        known = known_size(size)
        place = self.executor.place(known, kind, context, stream, pool, address or 0, thread)
        if place is None:
            raise OutOfMemoryError
        generation = self._next_generation
        self._next_generation += 1
        allocation = Allocation(place, known, generation, kind, context)
        allocation.asked = None if known else size
        if isinstance(pool, Pool):
            allocation.pool = pool
        elif pool is not None:
            allocation.physical = pool
        thread.process.allocations[generation] = allocation
        thread.process.ranges.add(allocation)
        return allocation

    def pointer_of(self, thread: HostThread, value: Value, site: int, api: str = "") -> Pointer | None:
        """Return the address a value means; None for NULL and for what nobody knows.

        A symbol that an unknown caller or code decided becomes, once, an assumed allocation of unknown kind and size.
        """
        if isinstance(value, Pointer):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST_SIZE:
            known = thread.process.ranges.find(value)
            return Pointer(value, value, 0) if known is None else Pointer(value, known.address, known.generation)
        if isinstance(value, Symbol) and value.origin != "uninitialised":
            return self.assumed_memory(thread, value, site).pointer
        return None

    def assumed_memory(self, thread: HostThread, symbol: Symbol, site: int) -> Allocation:
        """Return the allocation that an unknown pointer leads to, made when it is first used."""
        known = thread.process.assumed_memory.get(symbol)
        if known is None:
            known = self.new_allocation(thread, None, MemoryKind.UNKNOWN, None)
            known.assumed = True
            thread.process.assumed_memory[symbol] = known
            self.say_allocation(thread, known, self.named_site(site, symbol), flags=SlotFlag.ASSUMED)
        return known

    def say_allocation(
        self,
        thread: HostThread,
        allocation: Allocation,
        site: int,
        api: str = "",
        *,
        stream: int = 0,
        flags: int = 0,
        status: int = 0,
        more: Sequence[Reference] = (),
    ) -> None:
        """Emit the ALLOC of an allocation; `more` are the references behind its own."""
        self.emit(
            OperationKind.ALLOC,
            thread,
            site,
            api,
            stream=stream,
            references=[Reference(allocation.address, allocation.size, allocation.generation), *more],
            detail=allocation.kind,
            flags=flags,
            status=status,
        )

    def allocation_of(self, thread: HostThread, pointer: Pointer | None) -> Allocation | None:
        """Return the allocation a pointer was derived from, alive or not."""
        return None if pointer is None else thread.process.allocations.get(pointer.generation)

    def reference(
        self,
        thread: HostThread,
        value: Value,
        size: Value,
        mode: AccessMode,
        site: int,
        flags: int = 0,
        rows: Rows | None = None,
    ) -> Reference | None:
        """Return memory that an operation uses; None when nobody knows it, and for no bytes at all."""
        if isinstance(size, int) and size == 0:
            return None
        pointer = self.pointer_of(thread, value, site)
        if pointer is None:
            return None
        extent = known_size(size) if pointer.exact else 0
        allocation = thread.process.allocations.get(pointer.generation)
        # Memory mapped into reserved addresses has generations of its own, which the pointer does not know.
        generation = 0 if allocation is not None and allocation.is_reservation else pointer.generation
        touches = bool(flags & SlotFlag.TOUCHES)
        region = self.executor.region(allocation, pointer, size, touches) if allocation is not None else None
        if region is not None and rows is None:
            flags = flags if region.touches else flags & ~SlotFlag.TOUCHES
            return Reference(region.address, region.size, generation, mode, flags)
        if not pointer.exact:
            flags &= ~SlotFlag.TOUCHES  # nobody knows which byte is the first
        return Reference(pointer.address, extent, generation, mode, flags, rows if extent else None)


def _run(thread: HostThread, body: Callable[[], None]) -> None:
    body()


def known_size(size: Value) -> int:
    """Return a size for a slot: bytes when known, else 0."""
    return size if isinstance(size, int) and 0 < size < LARGEST_SIZE else 0


def identity(value: Value, site: int) -> object:
    """Return what an unknown handle is recognised by: itself, or the place when it is nothing at all."""
    return ("site", site) if value is None else value
