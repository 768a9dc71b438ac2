"""The interpreter's side of the device model: places, addresses and plain values as the model takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from streamsan.cuda_source.device.source_sites import Sites
from streamsan.cuda_source.device.unknown_extents import UnknownExtents
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    SymbolPointer,
    Term,
    Value,
)
from streamsan.cuda_source.values.terms import combine, symbols_of
from streamsan.cuda_syntax.tree import Span, Variable
from streamsan.kernels.uses import Use
from streamsan.model import events
from streamsan.model import values as model_values
from streamsan.model.device_model import DeviceModel
from streamsan.model.opencl.objects import MemoryObject
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Lifetime
from streamsan.model.statuses import NOT_READY, SUCCESS
from streamsan.model.values import Handle, KernelArgument, Pointer, Symbol
from streamsan.vocabulary import FreeClass, LostKind, MemoryKind, SlotFlag


class Device:
    """What one path tells the device model beside calls of the API."""

    def __init__(self, machine: Machine, model: DeviceModel) -> None:
        self.machine = machine
        self.model = model
        self.builder = model.builder
        self.thread: HostThread = model.main_thread
        model.core.on_host_call = self._on_drivers_thread
        self.sites = Sites(model.builder, lambda file: machine.program.lines(file))
        self.queries: dict[Symbol, tuple[model_values.Value, int]] = {}
        """Results of queries that are not decided yet: the handle that was asked, and where."""
        self.images: dict[Symbol, Pointer | Symbol] = {}
        """Texture and surface objects: the memory that they were made of."""
        self._terms: dict[Any, Symbol] = {}
        self._meanings: dict[Symbol, Term] = {}
        self.extents = UnknownExtents(machine, self.meaning)

    @property
    def operations(self) -> int:
        """How many operations the path has issued."""
        return self.builder.operations

    def site(self, span: Span, label: str = "") -> int:
        """Return the site id of a place in the current frame."""
        return self.sites.site(self.machine.frame, span, label)

    def not_understood(self, span: Span, what: str) -> None:
        """Note what could not be followed."""
        self.model.not_understood(self.thread, self.site(span, what), "")

    def heap_free(self, pointer: DevicePointer, span: Span) -> None:
        """Memory that the API gave out is given to the host's own `free` or `delete` (SS202)."""
        self.model.host_free(self.thread, pointer.pointer, FreeClass.HOST_HEAP, self.site(span))

    def device_symbol(self, cell: Cell, variable: Variable) -> None:
        """A `__device__`, `__constant__` or `__managed__` variable."""
        cell.kind = MemoryKind.MANAGED if variable.device == "managed" else MemoryKind.DEVICE_SYMBOL

    def kind_of(self, pointer: Pointer) -> MemoryKind:
        """Return the kind of the memory behind a pointer."""
        allocation = self.model.core.allocation_of(self.thread, pointer)
        return allocation.kind if allocation is not None else MemoryKind.UNKNOWN

    def is_live(self, pointer: Pointer) -> bool:
        """Tell whether the allocation behind a pointer is alive for certain, and made by the program."""
        allocation = self.model.core.allocation_of(self.thread, pointer)
        return allocation is not None and allocation.lifetime is Lifetime.LIVE and not allocation.assumed

    def held_memory(self, handle: Handle) -> Pointer | None:
        """Return the memory of OpenCL's memory object that the program must release; None of anything else."""
        thing = self.thread.process.handles.get(handle.value)
        if not isinstance(thing, MemoryObject) or not (thing.alive and thing.counted) or thing.over_host:
            return None
        return thing.allocation.pointer if thing.allocation is not None and thing.whole is None else None

    def pointer_lost(self, pointer: Pointer, kind: LostKind, span: Span) -> None:
        """The last pointer to an allocation is gone."""
        self.model.pointer_lost(self.thread, pointer, kind, self.site(span))

    def symbol_block(self, symbol: Symbol) -> Pointer | None:
        """Return the assumed memory behind an unknown pointer, if CUDA has seen the pointer."""
        allocation = self.thread.process.assumed_memory.get(symbol)
        return allocation.pointer if allocation is not None else None

    def symbol_pointer(self, symbol: Symbol, offset: Any, span: Span) -> Pointer | None:
        """Return an address at an offset in bytes from an unknown pointer."""
        base = self.model.memory_of(self.thread, symbol, self.site(span))
        if base is None:
            return None
        if isinstance(offset, int) and 0 <= base.address + offset < 1 << 62:
            return replace(base, address=base.address + offset)
        return replace(base, exact=False)

    def meaning(self, symbol: Symbol) -> Symbol | Term:
        """Return the term that a symbol stands for, else the symbol."""
        return self._meanings.get(symbol, symbol)

    def moved(self, pointer: Pointer, bytes_: Value) -> Pointer:
        """Return a pointer so many bytes further on; None: nobody knows how many."""
        if isinstance(bytes_, int) and pointer.exact and 0 < pointer.address + bytes_ < 1 << 63:
            return replace(pointer, address=pointer.address + bytes_)
        before: Value = pointer.address - pointer.base if pointer.exact else pointer.offset
        before = self.meaning(before) if isinstance(before, Symbol) else before
        total = combine("+", before, bytes_) if before is not None and bytes_ is not None else None
        offset = self.plain(total) if isinstance(total, Symbol | Term) else None
        return replace(pointer, exact=False, offset=offset if isinstance(offset, Symbol) else None)

    def plain(self, value: Value) -> model_values.Value:
        """Return a number, handle or unknown as the model takes it."""
        if isinstance(value, Term):
            known = self.machine.known(value)
            if not isinstance(known, Term):
                return self.plain(known)
            symbol = self._terms.get(known)
            if symbol is None:
                symbol = self.machine.fresh("value", "opaque")
                self._terms[known] = symbol
                self._meanings[symbol] = known
            return symbol
        if isinstance(value, Symbol):
            known = self.machine.known(value)
            return known if isinstance(known, int | float | Symbol) else value
        if isinstance(value, Handle | DevicePointer):
            self.machine.made_names.used(value)
        if isinstance(value, int | float | str | Handle):
            return value
        if isinstance(value, DevicePointer):
            return value.pointer
        if isinstance(value, SymbolPointer):
            return value.symbol
        return None

    def address(self, value: Value, span: Span) -> model_values.Value:
        """Return an address as the model takes it; host variables get one."""
        if isinstance(value, SymbolPointer):
            if isinstance(value.offset, int) and value.offset == 0:
                return value.symbol
            size = self.machine.objects.size_of(value.element) if value.element is not None else 1
            known = self.machine.known(value.offset)
            offset = known * size if isinstance(known, int) and size is not None else None
            return self.symbol_pointer(value.symbol, offset, span)
        if isinstance(value, ElementPointer | CellPointer):
            return self.machine.memory.pointer(value, span)
        if isinstance(value, str):
            return None
        return self.plain(value)

    def _on_drivers_thread(self, worker: HostThread, body: Callable[[], None]) -> None:
        with_thread, self.thread = self.thread, worker
        try:
            body()
        finally:
            self.thread = with_thread

    def asked(self, value: Any) -> dict[Symbol, model_values.Value]:
        """Return the results of queries that a value rests on, and that are not decided: each with what was asked."""
        if not self.queries:
            return {}
        return {symbol: self.queries[symbol][0] for symbol in symbols_of(value) if symbol in self.queries}

    def decided(self, question: Any, answer: bool) -> None:
        """A condition was decided: if it says that queries succeeded, the host knows that their work is complete."""
        asked = self.asked(question)
        if not asked:
            return
        from streamsan.cuda_source.values.query_answers import if_all_are_done, implied  # few programs ask

        polls = self.machine.polls
        polls.refused += if_all_are_done(question, asked) not in (None, answer)
        for symbol, succeeded in implied(question, answer, list(asked)).items():
            handle, site = self.queries.pop(symbol)
            self.machine.is_now(symbol, SUCCESS if succeeded else NOT_READY)
            if succeeded:
                polls.succeeded(handle)
                self.model.query_succeeded(self.thread, handle, site)

    @staticmethod
    def argument(use: Use, value: model_values.Value) -> KernelArgument:
        """Return memory so used; an address that is not known exactly says nothing of its first element."""
        known = value.exact or value.offset is not None if isinstance(value, Pointer) else isinstance(value, Symbol)
        flags = use.flags if known else use.flags & ~SlotFlag.TOUCHES
        return (value, use.mode, flags) if flags else (value, use.mode)

    def opaque_call(self, name: str, reached: list[Value], span: Span) -> None:
        """Unseen code gets these pointers and handles."""
        self.machine.failures.asked()
        values: list[model_values.Value] = []
        for value in reached:
            if isinstance(value, DevicePointer):
                values.append(value.pointer)
            elif isinstance(value, SymbolPointer):
                values.append(value.symbol)
            elif isinstance(value, ElementPointer | CellPointer):
                storage = value.array if isinstance(value, ElementPointer) else value.cell
                if storage.host is not None:
                    values.append(storage.host.pointer)
            elif isinstance(value, Handle | Symbol):
                values.append(value)
        events.may_be_recorded(self.thread, values)
        self.model.opaque_call(self.thread, values, self.site(span), name)
