"""Host memory as the model sees it: what has an address there, and when host code touches it."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    HOST_READABLE,
    ArrayObject,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    HostBlock,
    StructObject,
    SymbolPointer,
    Value,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import CHAR, SCALAR_SIZES, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Pointer, Symbol
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind


class HostMemory:
    """The host memory of one path that the model knows."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.any = False
        """Some host memory is known to the model, so accesses matter."""
        self.polling = False
        """What is read decides whether a loop goes on: it may be read until a kernel has written it."""
        self._contents: dict[tuple[int, CType | None], ArrayObject] = {}
        self._symbol_contents: dict[Symbol, ArrayObject] = {}
        self._recent: set[tuple[Any, ...]] = set()
        self._recent_operation = -1
        self._instances: dict[int, dict[int, HostBlock]] = {}
        """Variables of the device, by storage and context: each context has its own."""

    # -- what lies behind pointers -----------------------------------------------------------------

    def contents(self, pointer: DevicePointer) -> tuple[ArrayObject, Any]:
        """Return the elements behind a pointer that the API gave out, and the pointer's index among them."""
        self.machine.made_names.used(pointer)
        element = pointer.element if pointer.element is not None else CHAR
        held = pointer.pointer
        key = (held.generation, element)
        array = self._contents.get(key)
        if array is None:
            array = ArrayObject(element, None, MemoryKind.PINNED)
            array.origin = "opaque"
            base = Pointer(held.base, held.base, held.generation)
            array.host = HostBlock(base, self.machine.device.kind_of(base), from_api=True)
            self._contents[key] = array
            self.any = True
        size = self.machine.objects.size_of(element) or 1
        if held.exact:
            return array, (held.address - held.base) // size
        offset = None if held.offset is None else self.machine.device.meaning(held.offset)
        return array, None if offset is None else combine("/", offset, size)

    def symbol_contents(self, pointer: SymbolPointer) -> ArrayObject:
        """Return the elements behind an unknown pointer."""
        array = self._symbol_contents.get(pointer.symbol)
        if array is None:
            element = pointer.element
            if element is None or (element.name == "void" and not element.pointers):
                element = CType("")
            array = ArrayObject(element, None, MemoryKind.UNKNOWN, pointer.symbol.name)
            array.symbol = pointer.symbol
            first = self.machine.objects.pointee_met(pointer.symbol)
            if first is not None:
                array.cells[0] = first
            self._symbol_contents[pointer.symbol] = array
            self.any = True
        return array

    def first_behind(self, symbol: Symbol) -> Cell | None:
        """Return the first element behind an unknown pointer; None if nothing has asked for it."""
        array = self._symbol_contents.get(symbol)
        return None if array is None else array.cells.get(0)

    def overwritten(self, value: Value) -> None:
        """Forget the numbers where work of the device writes: a result is not what the variable was before."""
        if isinstance(value, DevicePointer):
            for (generation, _), array in self._contents.items():
                if generation == value.pointer.generation:
                    array.forget_numbers()
        elif isinstance(value, ElementPointer):
            self._forget_elements(value.array)
        elif isinstance(value, CellPointer):
            held = value.cell.value
            if isinstance(held, ArrayObject):
                self._forget_elements(held)
            elif isinstance(held, StructObject):
                for cell in held.fields.values():
                    self._forget_number(cell)
            else:
                self._forget_number(value.cell)

    def _forget_elements(self, array: ArrayObject) -> None:
        array.forget_numbers()
        if array.origin == "zero":
            array.origin = "opaque"

    def _forget_number(self, cell: Cell) -> None:
        if isinstance(cell.value, int | float | Symbol) and cell.type.name in SCALAR_SIZES and not cell.type.pointers:
            cell.value = self.machine.objects.unknown(cell.type, cell.name, "opaque")

    def arrays(self) -> list[ArrayObject]:
        """Return the contents of all memory that the API gave out or that came from unseen code."""
        return [*self._contents.values(), *self._symbol_contents.values()]

    def pointer_into(self, array: ArrayObject, key: Any) -> DevicePointer:
        """Return the address of an element of memory that the API gave out."""
        assert array.host is not None
        base = array.host.pointer
        size = self.machine.objects.size_of(array.element) if array.element is not None else 1
        bytes_ = None if key is None or size is None else combine("*", self.machine.known(key), size)
        return DevicePointer(self.machine.device.moved(base, bytes_), array.element)

    # -- addresses of host variables ---------------------------------------------------------------

    def pointer(self, value: Value, span: Span) -> Pointer | None:
        """Return the model's address of a host variable, element or block; None for what has none."""
        if isinstance(value, ElementPointer):
            return self._element_pointer(value.array, value.index, span)
        if isinstance(value, CellPointer):
            cell = value.cell
            if isinstance(cell.value, ArrayObject):
                return self._element_pointer(cell.value, 0, span)
            self._choose_instance(cell)
            found = self._locate(cell)
            if found is not None:
                block, offset = found
                return self._at(block.pointer, offset)
            if isinstance(cell.owner, ArrayObject):
                return self._element_pointer(cell.owner, cell.key, span)
            return self._register(cell, self.machine.objects.size_of(cell.type), cell.kind, cell.name, cell.span, span)
        return None

    def is_part(self, value: ElementPointer | CellPointer) -> bool:
        """Tell whether an address is that of a member, or of an element, of an object in memory that CUDA has seen."""
        cell = self._probe(value) if self.any else None
        return cell is not None and self._locate(cell) is not None

    def _element_pointer(self, array: ArrayObject, index: Any, span: Span) -> Pointer | None:
        objects = self.machine.objects
        offset: Any = 0
        self._choose_instance(array)
        size = objects.size_of(array.element) if array.element is not None else 1
        known = self.machine.known(index)
        offset = combine("*", known, size) if known is not None and size is not None else None
        while array.host is None and array.cell is not None and isinstance(array.cell.owner, ArrayObject):
            key = array.cell.key
            array = array.cell.owner
            self._choose_instance(array)
            size = objects.size_of(array.element) if array.element is not None else None
            offset = (
                offset + key * size if isinstance(offset, int) and isinstance(key, int) and size is not None else None
            )
        if array.symbol is not None and array.cell is None and array.host is None and array.kind == MemoryKind.UNKNOWN:
            return self.machine.device.symbol_pointer(array.symbol, offset, span)
        if array.host is None:
            self._register(array, objects.bytes_of(array), array.kind, array.label, array.span, span)
        assert array.host is not None
        return self._at(array.host.pointer, offset)

    def _choose_instance(self, storage: Cell | ArrayObject) -> None:
        """Let the storage of a variable of the device be its memory in the current context."""
        block, device = storage.host, self.machine.device
        if block is None or block.kind is not MemoryKind.DEVICE_SYMBOL or not device.thread.stack:
            return
        allocation = device.model.core.allocation_of(device.thread, block.pointer)
        if allocation is None or allocation.context is None:
            return
        instances = self._instances.setdefault(id(storage), {})
        instances[allocation.context.handle] = block
        storage.host = instances.get(device.thread.stack[-1].handle)

    def _at(self, base: Pointer, offset: Any) -> Pointer:
        return self.machine.device.moved(base, offset)

    def _register(
        self, storage: Cell | ArrayObject, size: Value, kind: MemoryKind, label: str, made: Span | None, span: Span
    ) -> Pointer:
        device = self.machine.device
        site = device.site(made or span, label)
        bytes_ = size if isinstance(size, int) else None
        pointer = device.model.host_allocate(device.thread, bytes_, kind, site)
        storage.host = HostBlock(pointer, kind, from_api=False)
        self.any = True
        return pointer

    def end(self, storage: Cell | ArrayObject, span: Span) -> None:
        """The memory of a local, a heap block or a container ends."""
        block = storage.host
        if block is None or block.from_api or block.kind in (MemoryKind.DEVICE_SYMBOL, MemoryKind.HOST_STATIC):
            return
        storage.host = None
        device = self.machine.device
        family = FreeClass.HOST_HEAP if block.kind == MemoryKind.HOST_HEAP else FreeClass.HOST_SCOPE
        device.model.host_free(device.thread, block.pointer, family, device.site(span))

    # -- accesses ----------------------------------------------------------------------------------

    def _locate(self, cell: Cell) -> tuple[HostBlock, Any] | None:
        """Return the known block that a cell lies in, and the offset there, None if that is not known."""
        objects = self.machine.objects
        offset: Any = 0
        current: Cell | None = cell
        for _ in range(64):
            if current is None:
                return None
            if current.host is not None:
                return current.host, offset
            owner = current.owner
            if isinstance(owner, ArrayObject):
                size = objects.size_of(owner.element) if owner.element is not None else 1
                known = self.machine.known(current.key)
                offset = (
                    offset + known * size
                    if offset is not None and isinstance(known, int) and size is not None
                    else None
                )
                if owner.host is not None:
                    return owner.host, offset
                if owner.symbol is not None and owner.cell is None:
                    found = self.machine.device.symbol_block(owner.symbol)
                    return (HostBlock(found, MemoryKind.UNKNOWN, True), offset) if found is not None else None
                current = owner.cell
            elif isinstance(owner, StructObject):
                inner = objects.offset_of(owner.cls, current.name) if owner.cls is not None else None
                offset = offset + inner if offset is not None and inner is not None else None
                current = owner.cell
            else:
                return None
        return None

    def access(self, cell: Cell, mode: AccessMode, span: Span) -> None:
        """Host code reads or writes a cell: an operation if CUDA has seen the memory."""
        if not self.any or (cell.owner is None and cell.host is None):
            return
        found = self._locate(cell)
        if found is None:
            return
        block, offset = found
        if block.kind not in HOST_READABLE:
            return
        size = self.machine.objects.size_of(cell.type)
        self.access_block(block.pointer, offset, size, mode, span)

    def access_block(
        self, base: Pointer, offset: Any, size: Value, mode: AccessMode, span: Span, *, certain: bool = True
    ) -> None:
        """Host code touches a range of a block; the same access again, with nothing in between, is left out.

        `certain` false: it may be any other part of the block.
        """
        device = self.machine.device
        pointer = self._at(base, offset)
        if device.operations != self._recent_operation:
            self._recent.clear()
        bytes_ = device.plain(size)
        key = (pointer.generation, pointer.address if pointer.exact else pointer.offset, bytes_, mode, certain)
        if key in self._recent:
            return
        polls = self.polling and mode is AccessMode.READ
        device.model.host_access(device.thread, pointer, bytes_, mode, device.site(span), certain, polls=polls)
        self._recent.add(key)
        self._recent_operation = device.operations

    def access_value(self, value: Value, size: Value, mode: AccessMode, span: Span, *, certain: bool = True) -> None:
        """Host code (memcpy, memset, a summarised loop) touches the memory behind a pointer, if CUDA has seen it."""
        if isinstance(value, DevicePointer):
            if self.machine.device.kind_of(value.pointer) in HOST_READABLE:
                self.access_block(value.pointer, 0, size, mode, span, certain=certain)
        elif not self.any:
            return
        elif isinstance(value, SymbolPointer):
            block = self.machine.device.symbol_block(value.symbol)
            if block is not None:
                self.access_block(block, 0 if value.offset == 0 else None, size, mode, span, certain=certain)
        elif isinstance(value, ElementPointer | CellPointer):
            cell = self._probe(value)
            found = self._locate(cell) if cell is not None else None
            if found is not None and found[0].kind in HOST_READABLE:
                self.access_block(found[0].pointer, found[1], size, mode, span, certain=certain)

    def _probe(self, value: ElementPointer | CellPointer) -> Cell | None:
        if isinstance(value, CellPointer):
            return value.cell
        cell = Cell(None, value.array.element or CHAR, "", value.array)
        cell.key = value.index
        return cell
