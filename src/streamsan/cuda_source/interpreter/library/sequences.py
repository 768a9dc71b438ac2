"""What all containers with elements in a row share: access by index, iterators."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, Machine
from streamsan.cuda_source.interpreter.terms import combine
from streamsan.cuda_source.interpreter.types import UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    ElementPointer,
    LibraryObject,
    Operand,
    Value,
)
from streamsan.cuda_syntax.tree import Span

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
        if method in ("rbegin", "crbegin"):
            last = self.storage.length
            return ReverseIterator(self.storage, combine("-", last, 1) if last is not None else None)
        if method in ("rend", "crend"):
            return ReverseIterator(self.storage, -1)
        if method in ("get_allocator", "operator==", "operator!=", "operator<"):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED


class ReverseIterator(LibraryObject):
    """An iterator that goes backwards."""

    class_name = "std::reverse_iterator"

    def __init__(self, array: ArrayObject, index: Value) -> None:
        super().__init__()
        self.array = array
        self.index = index

    def parts(self) -> list[Any]:
        """The elements."""
        return [self.array]

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Another iterator at the same place."""
        return ReverseIterator(self.array, self.index)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call an operator."""
        if method in ("operator++", "operator--"):
            self.index = combine("-" if method == "operator++" else "+", self.index, 1)
            return Operand(self, self.cell)
        if method == "operator*":
            return Operand(cell=machine.objects.element(self.array, self.index))
        if method == "operator->":
            return ElementPointer(self.array, self.index)
        if method == "base":
            return ElementPointer(self.array, combine("+", self.index, 1))
        if method in ("operator==", "operator!=") and operands:
            other = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            if isinstance(other, ReverseIterator) and other.array is self.array:
                return machine.expressions.operators.compare(method[8:], self.index, other.index)
            return machine.fresh(method, "opaque")
        return NOT_MODELLED
