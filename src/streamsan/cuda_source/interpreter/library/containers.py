"""std::vector, std::array and what behaves like them: elements in a row, on the heap or in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.library import NOT_MODELLED, class_
from streamsan.cuda_source.interpreter.machine import Operand
from streamsan.cuda_source.interpreter.terms import combine
from streamsan.cuda_source.interpreter.types import UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    ElementPointer,
    LibraryObject,
    StructObject,
    Value,
    is_pointer,
)
from streamsan.cuda_source.syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine

LARGEST_EAGER = 256
_FIRST = {"begin", "cbegin", "data"}
_LAST = {"end", "cend"}


class Sequence(LibraryObject):
    """Elements in one `ArrayObject`, reached by index and by pointers as iterators."""

    class_name = "sequence"

    def __init__(self, type: CType, storage: ArrayObject) -> None:
        super().__init__()
        self.type = type
        self.storage = storage

    @classmethod
    def element_type(cls, type: CType) -> CType:
        """Return the type of the elements."""
        first = type.arguments[0] if type.arguments else None
        return first if isinstance(first, CType) else UNKNOWN

    def parts(self) -> list[Any]:
        """The elements."""
        return [self.storage]

    def length(self) -> Value:
        """Return the number of elements, if it is a number."""
        return self.storage.length if isinstance(self.storage.length, int) else None

    def destroy(self, machine: Machine, span: Span) -> None:
        """The elements and their memory end."""
        machine.objects.end_array(self.storage, span)

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        """Return the elements, or a few if their number is not known."""
        length = machine.known(self.storage.length)
        count = min(length, 4096) if isinstance(length, int) else machine.limits.unknown_iterations
        return [Operand(cell=machine.objects.element(self.storage, index)) for index in range(count)]

    def at(self, machine: Machine, index: Value) -> Operand:
        """Return an element."""
        return Operand(cell=machine.objects.element(self.storage, index))

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method that reads or reaches elements."""
        values = [machine.expressions.load(operand, span) for operand in operands[:2]]
        if method in _FIRST:
            return ElementPointer(self.storage, 0)
        if method in _LAST:
            return ElementPointer(self.storage, self.storage.length)
        if method in ("operator[]", "at") and values:
            return self.at(machine, machine.known(values[0]))
        if method == "front":
            return self.at(machine, 0)
        if method == "back":
            return self.at(machine, combine("-", self.storage.length, 1) if self.storage.length is not None else None)
        if method in ("size", "capacity", "max_size"):
            length = self.storage.length
            return length if length is not None else machine.fresh("size", "opaque")
        if method == "empty":
            return machine.expressions.operators.compare("==", self.storage.length, 0)
        if method in ("rbegin", "rend", "crbegin", "crend", "get_allocator", "operator==", "operator!="):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED


@class_("std::vector", "thrust::host_vector", "std::deque", "std::basic_string_view")
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
        held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
        if len(operands) == 1 and isinstance(held, Sequence):
            if operands[0].cell is None:
                machine.statements.keep(held)
                return held
            return held.move(machine, span) if operands[0].moved else held.copy(machine, span)
        values = [machine.expressions.load(operand, span) for operand in operands[:2]]
        if len(operands) == 2 and all(isinstance(value, ElementPointer) for value in values):
            made._copy_range(machine, values, span)
        elif braced and not (len(operands) == 1 and storage.element is not None and machine.objects.is_class(storage.element)
                             and not isinstance(held, StructObject | LibraryObject)):  # fmt: skip
            for operand in operands:
                made.push(machine, operand, span)
        elif len(operands) == 2 and any(is_pointer(value) for value in values):
            storage.length = machine.fresh("size", "opaque")
        else:
            made.grow(machine, machine.known(values[0]), operands[1] if len(operands) > 1 else None, span)
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A vector that unseen code filled."""
        storage = ArrayObject(
            cls.element_type(type), machine.fresh(f"{name}.size()", origin), MemoryKind.HOST_HEAP, name
        )
        storage.symbol = machine.fresh(name, origin)
        return cls(type, storage)

    def _copy_range(self, machine: Machine, values: list[Value], span: Span) -> None:
        first, last = values
        assert isinstance(first, ElementPointer) and isinstance(last, ElementPointer)
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
            if element is not None and (machine.objects.is_class(element) or fill is not None):
                for index in range(old, min(length, old + LARGEST_EAGER)):
                    if fill is not None:
                        self.put(machine, index, fill, span)
                    else:
                        machine.objects.construct(machine.objects.element(self.storage, index), element, [], span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
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
            if all(isinstance(value, ElementPointer) for value in values):
                self._copy_range(machine, values, span)
            else:
                self.grow(machine, machine.known(values[0]), operands[1], span)
            return None
        if method == "swap" and operands and operands[0].cell is not None:
            other = operands[0].cell.value
            if isinstance(other, Vector):
                self.storage, other.storage = other.storage, self.storage
            return None
        if method == "operator=" and operands:
            return self._assign(machine, operands[0], span)
        if method in ("insert", "emplace", "erase", "push_front", "pop_front"):
            return self._rearrange(machine, method, operands, span)
        return super().call(machine, method, operands, span)

    def _append(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Cell:
        element = self.storage.element
        same = len(operands) == 1 and (method == "push_back" or not (element and machine.objects.is_class(element)))
        if same:
            return self.push(machine, operands[0], span)
        cell = Cell(None, element or UNKNOWN, self.storage.label, kind=MemoryKind.HOST_HEAP, span=span)
        machine.objects.construct(cell, element or UNKNOWN, operands, span)
        return self.push(machine, Operand(machine.statements.keep(cell.value)), span)

    def _assign(self, machine: Machine, operand: Operand, span: Span) -> Any:
        source = operand.cell.value if operand.cell is not None else operand.value
        if not isinstance(source, Sequence):
            return NOT_MODELLED
        if source is self:
            return Operand(self, self.cell)
        machine.objects.end_array(self.storage, span)
        if operand.cell is None or operand.moved:
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
        if method in ("insert", "emplace") and len(operands) == 2:
            self.push(machine, operands[1], span)  # where it goes is not followed
            return first
        for operand in operands:
            machine.reach.escape(machine.reach._walk([operand.cell or operand.value]))
        self.storage.length = machine.fresh("size", "opaque")
        return first

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
        """Copy the elements into new storage."""
        return type(self)(self.type, machine.objects.copy_array(self.storage, False, span))

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Hand the storage over."""
        made = type(self)(self.type, self.storage)
        self.storage = ArrayObject(self.storage.element, 0, MemoryKind.HOST_HEAP, "", span)
        return made


@class_("std::array")
class Array(Sequence):
    """Elements in place."""

    class_name = "std::array"

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make an array from its elements."""
        length = type.arguments[1] if len(type.arguments) > 1 else None
        kind = cell.kind if cell is not None else MemoryKind.HOST_STACK
        storage = ArrayObject(
            cls.element_type(type), machine.known(length), kind, cell.name if cell else "", span or None
        )
        if braced:
            storage.origin = "zero"
        made = cls(type, storage)
        if len(operands) == 1:
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            if isinstance(held, Array):
                return held.copy(machine, span)
            if isinstance(held, Vector) and braced:  # std::array<T, 2> a{{x, y}}: the inner list
                storage.cells = held.storage.cells
                for element in storage.cells.values():
                    element.owner = storage
                return made
        element_type = storage.element
        for index, operand in enumerate(operands):
            element = Cell(None, element_type or UNKNOWN, f"{storage.label}[{index}]", storage, kind, span)
            element.key = index
            storage.cells[index] = element
            machine.objects.initialise(element, element.type, operand, span)
            machine.objects.adopt(element)
        if element_type is not None and span is not None and isinstance(storage.length, int):
            if machine.objects.is_class(element_type):
                for index in range(len(operands), min(storage.length, LARGEST_EAGER)):
                    machine.objects.construct(
                        machine.objects.element(storage, index), element_type, [], span, default=True
                    )
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """An array that unseen code filled."""
        length = type.arguments[1] if len(type.arguments) > 1 else machine.fresh(f"{name}.size()", origin)
        storage = ArrayObject(cls.element_type(type), length, MemoryKind.HOST_STACK, name)
        storage.symbol = machine.fresh(name, origin)
        return cls(type, storage)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method == "fill" and operands and isinstance(self.storage.length, int):
            for index in range(min(self.storage.length, LARGEST_EAGER)):
                target = Operand(cell=machine.objects.element(self.storage, index))
                machine.expressions.assign(target, operands[0], span)
            return None
        if method == "operator=" and operands:
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            if isinstance(held, Array):
                self.storage.cells = machine.objects.copy_array(held.storage, operands[0].moved, span).cells
                for cell in self.storage.cells.values():
                    cell.owner = self.storage
                return Operand(self, self.cell)
        return super().call(machine, method, operands, span)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy the elements."""
        return Array(self.type, machine.objects.copy_array(self.storage, False, span))

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Move the elements."""
        return Array(self.type, machine.objects.copy_array(self.storage, True, span))
