"""std::vector and what behaves like it: elements in a row, on the heap."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from streamsan.cuda_source.library.braced import braced, carried, items_of
from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.library.tables import find_function
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    ArrayObject,
    CallSite,
    Cell,
    ElementPointer,
    LibraryObject,
    Operand,
    StructObject,
    Term,
    Value,
    is_pointer,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin, Symbol
from streamsan.vocabulary import AccessMode, MemoryKind

LARGEST_EAGER = 256


def _of_class(machine: Machine, storage: ArrayObject) -> bool:
    return storage.element is not None and machine.objects.is_class(storage.element)


def is_object(value: Value) -> bool:
    """Tell whether a value is an object of a class."""
    return isinstance(value, StructObject | LibraryObject)


class Vector(Sequence):
    """Elements on the heap. `push_back` keeps the storage: whether it moves is the library's business."""

    class_name = "std::vector"

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make a vector from nothing, a length, a length and a value, a range, a list, or another vector."""
        label = cell.name if cell is not None else ""
        storage = ArrayObject(cls.element_type(type), 0, MemoryKind.HOST_HEAP, label, span or None)
        storage.origin = "zero"
        made = cls(type, storage)
        if not operands:
            return made
        listed = items_of(operands)
        if listed is not None and not (braced and _of_class(machine, storage)):
            operands, braced = listed, True
            if not operands:
                return made
        held = operands[0].held
        if len(operands) == 1 and isinstance(held, Sequence) and items_of(operands) is None:
            return held.passed(machine, operands[0], span)
        values = [machine.expressions.load(operand, span) for operand in operands[:2]]
        if len(operands) == 2 and all(isinstance(value, ElementPointer) for value in values):
            made._copy_range(machine, values, span)
        elif braced and not (_of_class(machine, storage) and len(operands) == 1 and not is_object(held)):
            for operand in operands:
                made.push(machine, operand, span)
        elif len(operands) == 2 and any(is_pointer(value) for value in values):
            made._copy_unseen(machine, values, span)
        else:
            made.grow(machine, machine.known(values[0]), operands[1] if len(operands) > 1 else None, span)
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        storage = ArrayObject(
            cls.element_type(type), machine.fresh(f"{name}.size()", origin), MemoryKind.HOST_HEAP, name
        )
        storage.symbol = machine.fresh(name, origin)
        return cls(type, storage)

    def _copy_unseen(self, machine: Machine, values: list[Value], span: Span) -> None:
        """Elements from memory that is followed byte by byte at most."""
        machine.memory.access_value(values[0], None, AccessMode.READ, span)
        length = machine.expressions.operators.arithmetic("-", values[1], values[0])
        self.storage.length = length if isinstance(length, int | Symbol | Term) else machine.fresh("size", "opaque")
        self.storage.origin = "opaque"

    def _copy_range(self, machine: Machine, values: list[Value], span: Span) -> None:
        first, last = values
        assert isinstance(first, ElementPointer)
        assert isinstance(last, ElementPointer)
        machine.memory.access_value(first, None, AccessMode.READ, span)
        written = first.array.written
        if first.array.origin != "zero" or first.array.symbol is not None or written is not None:
            self.storage.origin = "opaque"
        if written is not None and first.index == 0 and self.storage.element == first.array.element:
            self.storage.written = written
        length = machine.known(combine("-", last.index, first.index)) if first.array is last.array else None
        self.storage.length = length if length is not None else machine.fresh("size", "opaque")
        if isinstance(length, int) and isinstance(first.index, int):
            for key, cell in list(first.array.cells.items()):
                if isinstance(key, int) and 0 <= key - first.index < length:
                    self.put(machine, key - first.index, Operand(cell=cell), span)

    def put(self, machine: Machine, index: int, operand: Operand, span: Span) -> Cell:
        """Initialise one element."""
        element = self.storage.element
        if element is None or element.name == "":
            element = machine.expressions.type_of(operand).bare()
            self.storage.element = element
        cell = Cell(None, element, f"{self.storage.label}[{index}]", self.storage, MemoryKind.HOST_HEAP, span)
        cell.key = index
        self.storage.cells[index] = cell
        machine.objects.initialise(cell, element, operand, span)
        machine.objects.adopt(cell)
        return cell

    def push(self, machine: Machine, operand: Operand, span: Span) -> Cell:
        """Append an element."""
        length = self.storage.length
        if isinstance(length, int):
            self.storage.length = length + 1
            return self.put(machine, length, operand, span)
        cell = Cell(None, self.storage.element or UNKNOWN, self.storage.label, self.storage, MemoryKind.HOST_HEAP, span)
        cell.key = machine.fresh("index", "opaque")
        self.storage.cells[cell.key] = cell
        machine.objects.initialise(cell, cell.type, operand, span)
        machine.objects.adopt(cell)
        self.storage.length = combine("+", length, 1) if length is not None else None
        return cell

    def grow(self, machine: Machine, length: Value, fill: Operand | None, span: Span) -> None:
        """Set the length; new elements are value-initialised, dropped ones destroyed."""
        old = self.storage.length
        self.storage.length = length
        if not isinstance(length, int):
            return
        if isinstance(old, int):
            for key in [key for key in self.storage.cells if isinstance(key, int) and key >= length]:
                machine.objects.destroy(self.storage.cells.pop(key), span)
            element = self.storage.element
            if fill is not None:  # each element is a copy of it, also of a temporary
                fill = Operand(cell=fill.cell or Cell(fill.held, element or UNKNOWN, ""))
            if element is not None and (machine.objects.is_class(element) or fill is not None):
                for index in range(old, min(length, old + LARGEST_EAGER)):
                    if fill is not None:
                        self.put(machine, index, fill, span)
                    else:
                        machine.objects.construct(machine.objects.element(self.storage, index), element, [], span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method in ("push_back", "emplace_back"):
            return Operand(cell=self._append(machine, method, operands, span))
        if method == "pop_back":
            length = self.storage.length
            if isinstance(length, int) and length > 0:
                self.grow(machine, length - 1, None, span)
            return None
        if method == "resize":
            length = machine.known(machine.expressions.load(operands[0], span)) if operands else None
            self.grow(machine, length, operands[1] if len(operands) > 1 else None, span)
            return None
        if method == "clear":
            self.grow(machine, 0, None, span)
            return None
        if method in ("reserve", "shrink_to_fit"):
            return None
        if method == "assign" and len(operands) == 2:
            self.grow(machine, 0, None, span)
            values = [machine.expressions.load(operand, span) for operand in operands]
            machine.memory.access_value(ElementPointer(self.storage, 0), None, AccessMode.WRITE, span)
            if all(isinstance(value, ElementPointer) for value in values):
                self._copy_range(machine, values, span)
            elif any(is_pointer(value) for value in values):
                self._copy_unseen(machine, values, span)
            else:
                self.grow(machine, machine.known(values[0]), operands[1], span)
            return None
        if method == "assign" and (listed := items_of(operands)) is not None:
            self.grow(machine, 0, None, span)
            for item in listed:
                self.push(machine, item, span)
            return None
        if method in ("remove_if", "remove") and len(operands) == 1:
            return self._remove_where(machine, method, operands[0], span)
        if method == "swap" and operands and operands[0].cell is not None:
            other = operands[0].cell.value
            if isinstance(other, Vector):
                self.storage, other.storage = other.storage, self.storage
            return None
        if method == "operator=" and operands:
            return self._assign(machine, operands[0], span)
        if method in ("insert", "emplace", "erase", "push_front", "emplace_front", "pop_front"):
            return self._rearrange(machine, method, operands, span)
        return super().call(machine, method, operands, span)

    def _remove_where(self, machine: Machine, method: str, operand: Operand, span: Span) -> Any:
        """`std::list::remove_if` and `remove`, which are `std::erase_if` and `std::erase` of the list."""
        erase = find_function("std::erase_if" if method == "remove_if" else "std::erase")
        return erase(machine, [Operand(self, self.cell), operand], CallSite(span)) if erase is not None else None

    def _append(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Cell:
        element = self.storage.element
        same = len(operands) == 1 and (method == "push_back" or not (element and machine.objects.is_class(element)))
        if same:
            return self.push(machine, operands[0], span)
        cell = Cell(None, element or UNKNOWN, self.storage.label, kind=MemoryKind.HOST_HEAP, span=span)
        machine.objects.construct(cell, element or UNKNOWN, operands, span)
        return self.push(machine, Operand(machine.statements.keep(cell.value)), span)

    def _assign(self, machine: Machine, operand: Operand, span: Span) -> Any:
        source = operand.held
        if not isinstance(source, Sequence):
            return NOT_MODELLED
        if source is self:
            return Operand(self, self.cell)
        machine.objects.end_array(self.storage, span)
        if operand.temporary:
            self.storage = source.storage
            source.storage = ArrayObject(self.storage.element, 0, MemoryKind.HOST_HEAP, "", span)
        else:
            copied = source.copy(machine, span)
            assert isinstance(copied, Sequence)
            self.storage = copied.storage
        return Operand(self, self.cell)

    def _rearrange(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        length = self.storage.length
        values = [machine.expressions.load(operand, span) for operand in operands]
        first = values[0] if values else None
        if method == "erase" and isinstance(first, ElementPointer) and isinstance(length, int):
            start = first.index
            stop = (
                values[1].index if len(values) > 1 and isinstance(values[1], ElementPointer) else combine("+", start, 1)
            )
            if isinstance(start, int) and isinstance(stop, int):
                self._remove(machine, start, stop, length, span)
                return ElementPointer(self.storage, start)
        if method == "pop_front" and isinstance(length, int) and length:
            self._remove(machine, 0, 1, length, span)
            return None
        listed = items_of(operands[1:]) if method == "insert" and len(operands) == 2 else None
        if listed is not None and not (_of_class(machine, self.storage) and not all(map(braced, listed))):
            for item in listed:
                self.push(machine, item, span)
            return first
        if method in ("insert", "emplace") and len(operands) == 2:
            index = machine.known(first.index) if isinstance(first, ElementPointer) else None
            return self._insert_at(machine, index, operands[1], span)
        if method in ("push_front", "emplace_front") and operands:
            return machine.expressions.dereference(self._insert_at(machine, 0, operands[0], span), span)
        if method == "insert" and len(values) == 3 and all(isinstance(value, ElementPointer) for value in values[1:]):
            return self._insert_range(machine, values, span)
        machine.reach.unfollowed([carried(operand) for operand in operands], span)
        self.storage.length = machine.fresh("size", "opaque")
        return first

    def _insert_at(self, machine: Machine, index: Value, operand: Operand, span: Span) -> Value:
        cell = self.push(machine, operand, span)
        last = cell.key
        if not (isinstance(index, int) and isinstance(last, int)):
            return ElementPointer(self.storage, last)
        cells = self.storage.cells
        del cells[last]
        for key in sorted((key for key in cells if isinstance(key, int) and key >= index), reverse=True):
            moved = cells.pop(key)
            moved.key = key + 1
            cells[key + 1] = moved
        cell.key = index
        cells[index] = cell
        return ElementPointer(self.storage, index)

    def _insert_range(self, machine: Machine, values: list[Value], span: Span) -> Value:
        """Append a range: of where in the middle it goes, nothing is kept."""
        where, first, last = values
        assert isinstance(first, ElementPointer)
        assert isinstance(last, ElementPointer)
        start, stop = machine.known(first.index), machine.known(last.index)
        machine.memory.access_value(first, None, AccessMode.READ, span)
        if first.array is last.array and isinstance(start, int) and isinstance(stop, int):
            if stop - start <= LARGEST_EAGER and isinstance(self.storage.length, int):
                for index in range(start, stop):
                    self.push(machine, Operand(cell=machine.objects.element(first.array, index)), span)
                return where
            self.storage.length = combine("+", self.storage.length, stop - start)
        else:
            self.storage.length = machine.fresh("size", "opaque")
        return where

    def _remove(self, machine: Machine, start: int, stop: int, length: int, span: Span) -> None:
        for index in range(start, min(stop, length)):
            if index in self.storage.cells:
                machine.objects.destroy(self.storage.cells.pop(index), span)
        shift = stop - start
        for index in sorted(key for key in self.storage.cells if isinstance(key, int) and key >= stop):
            cell = self.storage.cells.pop(index)
            cell.key = index - shift
            self.storage.cells[index - shift] = cell
        self.storage.length = length - shift

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        if self.storage.host is not None:
            machine.memory.access_value(ElementPointer(self.storage, 0), None, AccessMode.READ, span)
        return type(self)(self.type, machine.objects.copy_array(self.storage, False, span))

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        made = type(self)(self.type, self.storage)
        self.storage = ArrayObject(self.storage.element, 0, MemoryKind.HOST_HEAP, "", span)
        return made


class Stack(Vector):
    """The last in is the first out; which element of a priority queue is first, is not followed."""

    class_name = "std::stack"
    methods = MappingProxyType(
        {"push": "push_back", "emplace": "emplace_back", "top": "back", "pop": "pop_back", "push_range": "insert"}
    )

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        return super().call(machine, self.methods.get(method, method), operands, span)


class Queue(Stack):
    """The first in is the first out."""

    class_name = "std::queue"
    methods = MappingProxyType(Stack.methods | {"pop": "pop_front"})
