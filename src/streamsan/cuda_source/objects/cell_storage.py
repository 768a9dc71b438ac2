"""Cells that appear when first touched, and what they hold before anything is done to them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from streamsan.cuda_source.library.tables import find_class
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.objects.class_layout import DEEPEST_CLASS, MOST_ALIKE, Layout
from streamsan.cuda_source.objects.constant_lists import ConstantLists
from streamsan.cuda_source.objects.own_streams import OwnStreams
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    StructObject,
    SymbolPointer,
    Value,
)
from streamsan.cuda_source.values.classes import ClassInfo
from streamsan.cuda_source.values.success import is_status_type
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import (
    CHAR,
    FLOATING,
    HANDLE_TYPES,
    SCALAR_SIZES,
    SIGNED_BITS,
    UNKNOWN,
    UNSIGNED_BITS,
    CType,
    wrap,
)
from streamsan.cuda_syntax.tree import Variable
from streamsan.model.values import Handle, Origin, Symbol
from streamsan.vocabulary import MemoryKind


def _stands_in_itself(object: StructObject, member: CType) -> bool:
    """Tell whether an object of a class would have itself as a part: what ends that (a specialisation) is not known."""
    alike = 0
    holder: StructObject | ArrayObject | None = None if member.pointers or member.reference else object
    while isinstance(holder, StructObject):
        if holder.cls is not None and holder.cls.name == member.name:
            alike += 1
            if alike >= MOST_ALIKE or holder.cls.arguments == member.arguments:
                return True
        holder = holder.cell.owner if holder.cell is not None else None
    return False


class Storage(Layout):
    """Members, elements and unknowns of one path."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._pointees: dict[Symbol, Cell] = {}
        self._zeroing = 0
        self.constants = ConstantLists(machine)
        self.own_streams = OwnStreams(machine)

    def unknown(self, type: CType, name: str, origin: Origin) -> Value:
        """Return an unknown value of a type: a symbol, a symbolic pointer, or an object with unknown members."""
        if type.array:
            return self.default(type, name, origin)
        if type.pointers or type.name == "CUdeviceptr":
            symbol = self.machine.fresh(name, origin)
            self.machine.live_handles.add(symbol.number)
            return SymbolPointer(symbol, 0, type.element() if type.pointers else None)
        return self._unknown(type, name, origin)

    def pointee(self, symbol: Symbol, element: CType | None) -> Cell:
        """Return the one cell behind a symbolic pointer: the first element, where it was one of several before."""
        cell = self._pointees.get(symbol) or self.machine.memory.first_behind(symbol)
        if cell is None:
            type = element if element is not None and element.name != "void" else UNKNOWN
            cell = Cell(self.unknown(type, f"*{symbol.name}", symbol.origin), type, symbol.name)
            self.adopt(cell)
            self._pointees[symbol] = cell
        return cell

    def pointee_met(self, symbol: Symbol) -> Cell | None:
        """Return the cell behind a symbolic pointer; None if nothing has asked for it."""
        return self._pointees.get(symbol)

    def pointed_by(self, cell: Cell) -> Symbol | None:
        """Return the symbolic pointer that a cell stands behind; None if it is no such cell."""
        return next((symbol for symbol, pointee in self._pointees.items() if pointee is cell), None)

    def pointees(self) -> list[Cell]:
        """Return all cells behind symbolic pointers: code nobody can see reaches them."""
        return list(self._pointees.values())

    def field(self, object: StructObject, name: str) -> Cell | None:
        """Return a member's cell, made when first touched; None if the class has no such member."""
        cell = object.fields.get(name)
        if cell is not None:
            return cell
        if object.cls is None:
            return self._unknown_member(object, name)
        for cls in object.cls.lineage():
            for field in cls.own_fields():
                if field.name == name:
                    return self._make_field(object, field, cls)
        if any(cls.unknown_bases for cls in object.cls.lineage()):
            return self._unknown_member(object, name)
        return None

    def _unknown_member(self, object: StructObject, name: str) -> Cell:
        origin: Origin = object.symbol.origin if object.symbol is not None else "opaque"
        symbol = self.machine.fresh(name, origin)
        self.machine.live_handles.add(symbol.number)
        cell = Cell(symbol, CType(""), name, object)
        object.fields[name] = cell
        return cell

    def _make_field(self, object: StructObject, field: Variable, cls: ClassInfo) -> Cell:
        type = self.field_type(field, cls)
        kind = object.cell.kind if object.cell is not None else MemoryKind.HOST_STACK
        cell = Cell(None, type.plain(), field.name, object, kind, field.span)
        object.fields[field.name] = cell
        if _stands_in_itself(object, type):
            cell.value = self.machine.fresh(field.name, "opaque")
        elif object.symbol is not None:
            cell.value = self.unknown(type.plain(), field.name, object.symbol.origin)
            self.own_streams.tell_apart(cell)
        else:
            cell.value = self.default(type.plain(), field.name, "uninitialised")
        self.adopt(cell)
        return cell

    def adopt(self, cell: Cell) -> None:
        """Tell the object in a cell where it lives."""
        value = cell.value
        if isinstance(value, StructObject | ArrayObject | LibraryObject):
            value.cell = cell
            if isinstance(value, LibraryObject):
                self.own_streams.holds(cell, value)
        elif isinstance(value, ElementPointer) and not value.array.label:
            value.array.label = cell.name  # a heap block is named after the first variable that holds it
        if isinstance(value, ArrayObject):
            value.kind = cell.kind
            value.label = value.label or cell.name
            value.span = value.span or cell.span

    def element(self, array: ArrayObject, index: Value) -> Cell:
        """Return an element's cell, made when first touched."""
        index = self.machine.known(index)
        key: Any = index if isinstance(index, int) or not isinstance(index, float) else int(index)
        cell = array.cells.get(key)
        if cell is not None:
            return cell
        type = array.element or CHAR
        name = f"{array.label}[{key}]" if isinstance(key, int) else array.label
        cell = Cell(None, type, name, array, array.kind, array.span)
        cell.key = key
        if key is not None:
            array.cells[key] = cell
        written = array.written
        if array.symbol is not None:
            cell.value = self.unknown(type, name, array.symbol.origin)
        elif written is not None and isinstance(key, int) and 0 <= key < len(written.items):
            self.constants.make(cell, written)
        elif not isinstance(key, int) and (array.cells or written is not None):
            cell.value = self.unknown(type, array.label, "opaque")
        elif array.origin == "zero":
            cell.value = self.zero(type, name)
        else:
            cell.value = self.default(type, name, array.origin)  # type: ignore[arg-type]
        self.own_streams.tell_apart(cell)
        self.adopt(cell)
        return cell

    def default(self, type: CType, name: str, origin: Origin) -> Value:
        """Return what a variable of a type holds before anything is done to it; no constructor runs."""
        machine = self.machine
        if type.array:
            return ArrayObject(type.element(), machine.known(type.array[0]), label=name)
        if type.pointers or type.function or type.name in SCALAR_SIZES or type.name in HANDLE_TYPES:
            return machine.fresh(name, origin)
        cls = machine.program.class_of(type, machine.frame)
        if cls is not None:
            return StructObject(cls)
        model = find_class(type.name)
        if model is not None:
            return model.bare(machine, type)
        return machine.fresh(name, origin)

    def zero(self, type: CType, name: str) -> Value:
        """Return what a static variable holds before anything is done to it."""
        if type.array:
            array = ArrayObject(type.element(), self.machine.known(type.array[0]), label=name)
            array.origin = "zero"
            return array
        if self.is_class(type):
            value = self.default(type, name, "uninitialised")
            if isinstance(value, StructObject) and value.cls is not None and self._zeroing < DEEPEST_CLASS:
                self._zeroing += 1
                for field, field_type in self.all_fields(value.cls):
                    cell = Cell(self.zero(field_type.plain(), field.name), field_type.plain(), field.name, value)
                    value.fields[field.name] = cell
                    self.adopt(cell)
                self._zeroing -= 1
            return value
        if type.name in SCALAR_SIZES or type.pointers or type.name in HANDLE_TYPES or type.function:
            return 0
        return 0 if type.name in self.machine.program.enums else self.default(type, name, "uninitialised")

    def _unknown(self, type: CType, name: str, origin: Origin) -> Value:
        """Return an unknown value of a type that is no pointer and no array."""
        machine = self.machine
        cls = machine.program.class_of(type, machine.frame)
        if cls is not None:
            return StructObject(cls, machine.fresh(name, origin))
        model = find_class(type.name)
        if model is not None:
            return model.unknown(machine, type, name, origin)
        symbol = machine.fresh(name, origin)
        if is_status_type(type.name):
            if origin != "uninitialised":
                machine.succeeds(symbol)
        elif type.name in HANDLE_TYPES or (type.name not in SCALAR_SIZES and type.name not in machine.program.enums):
            machine.live_handles.add(symbol.number)
        return symbol

    def convert(self, value: Value, type: CType) -> Value:
        """Return a value as a variable of a type holds it."""
        if isinstance(value, bool):
            value = int(value)
        if type.pointers:
            return self._convert_pointer(value, type)
        if isinstance(value, int | float):
            name = type.name
            if name in FLOATING:
                return float(value)
            if name == "bool":
                return int(bool(value))
            if name in UNSIGNED_BITS or name in SIGNED_BITS:
                try:
                    return wrap(int(value), name)
                except (OverflowError, ValueError):  # an infinity, or no number at all
                    return self.machine.fresh(name, "opaque")
            return value
        if isinstance(value, ArrayObject) and not type.array:
            return ElementPointer(value, 0)
        if isinstance(value, Symbol) and value.origin == "opaque" and is_status_type(type.name):
            self.machine.succeeds(value)
        return value

    def _convert_pointer(self, value: Value, type: CType) -> Value:
        element = type.element()
        if isinstance(value, DevicePointer):
            return (
                value
                if element.name == "void" and not element.pointers and value.element
                else DevicePointer(value.pointer, element)
            )
        if isinstance(value, SymbolPointer):
            return (
                value
                if element.name == "void" and value.element
                else SymbolPointer(value.symbol, value.offset, element)
            )
        if isinstance(value, ArrayObject):
            value = ElementPointer(value, 0)
        if isinstance(value, ElementPointer):
            return self._retype(value, element)
        if isinstance(value, Symbol) and not type.function and value.origin != "uninitialised":
            return SymbolPointer(value, 0, element)
        if isinstance(value, float):
            return int(value)
        return value

    def _retype(self, value: ElementPointer, element: CType) -> ElementPointer:
        """A raw block takes the type of its first typed pointer; other reinterpretations scale the index."""
        array = value.array
        if element.name == "void" and not element.pointers:
            return value
        if array.element is None:
            size = self.size_of(element)
            if value.index == 0 and not array.cells and size:
                array.length = combine("/", array.length, size) if array.length is not None else None
                array.element = element
            return value
        seen, size = self.size_of(element), self.size_of(array.element)
        return replace(value, seen=element if seen and size and seen != size else None)

    def pointer_to(self, cell: Cell) -> Value:
        """Return the address of a cell: of an element, as a pointer that can move along the array."""
        if isinstance(cell.owner, ArrayObject):
            return ElementPointer(cell.owner, cell.key)
        return CellPointer(cell)

    def is_null(self, value: Value) -> bool:
        """Tell whether a value is a null pointer or handle for certain."""
        return (isinstance(value, int) and value == 0) or (isinstance(value, Handle) and value.value == 0)
