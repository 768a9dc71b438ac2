"""What all containers with elements in a row share: access by index, iterators."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    ArrayObject,
    ElementPointer,
    LibraryObject,
    Operand,
    Value,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span

_MOST_ELEMENTS = 4096


class Row(Modelled):
    """Elements in a row: where they begin, how many there are, and how one is reached."""

    count: Value = 0

    def start(self) -> Value:
        """Return a pointer to the first element."""
        raise NotImplementedError

    def stop(self, machine: Machine) -> Value:
        """Return a pointer behind the last element."""
        return machine.expressions.operators.arithmetic("+", self.start(), self.number())

    def number(self) -> Value:
        """Return the number of elements, known or not."""
        return self.count

    def at(self, machine: Machine, index: Value, span: Span) -> Operand:
        """Return an element."""
        moved = machine.expressions.operators.arithmetic("+", self.start(), machine.known(index))
        return machine.expressions.dereference(moved, span)

    def length(self) -> Value:
        """Return the number of elements, if it is a number."""
        number = self.number()
        return number if isinstance(number, int) else None

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        """Return the elements, or a few if their number is not known."""
        number = machine.known(self.number())
        visited = min(number, _MOST_ELEMENTS) if isinstance(number, int) else machine.limits.unknown_iterations
        return [self.at(machine, index, span) for index in range(visited)]

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method that reads or reaches elements."""
        values = [machine.expressions.load(operand, span) for operand in operands[:2]]
        number = self.number()
        if method in ("begin", "cbegin", "data"):
            return self.start()
        if method in ("end", "cend"):
            return self.stop(machine)
        if method in ("operator[]", "at") and values:
            return self.at(machine, machine.known(values[0]), span)
        if method in ("front", "back"):
            return self.at(machine, 0 if method == "front" else combine("-", number, 1), span)
        if method in ("size", "capacity", "max_size"):
            return number if number is not None else machine.fresh("size", "opaque")
        if method == "empty":
            return machine.expressions.operators.compare("==", number, 0)
        return NOT_MODELLED


class Sequence(Row):
    """Elements in one `ArrayObject`, reached by index and by pointers as iterators."""

    class_name = "sequence"
    own_parts = ("storage",)

    def __init__(self, type: CType, storage: ArrayObject) -> None:
        super().__init__(type)
        self.storage = storage

    @classmethod
    def element_type(cls, type: CType) -> CType:
        """Return the type of the elements."""
        first = type.arguments[0] if type.arguments else None
        return first if isinstance(first, CType) else UNKNOWN

    def start(self) -> Value:
        return ElementPointer(self.storage, 0)

    def stop(self, machine: Machine) -> Value:
        return ElementPointer(self.storage, self.storage.length)

    def number(self) -> Value:
        return self.storage.length

    def at(self, machine: Machine, index: Value, span: Span) -> Operand:
        return Operand(cell=machine.objects.element(self.storage, index))

    def destroy(self, machine: Machine, span: Span) -> None:
        machine.objects.end_array(self.storage, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method in ("rbegin", "crbegin"):
            return ReverseIterator(self.storage, combine("-", self.storage.length, 1))
        if method in ("rend", "crend"):
            return ReverseIterator(self.storage, -1)
        if method in ("get_allocator", "operator==", "operator!=", "operator<"):
            return machine.fresh(method, "opaque")
        return super().call(machine, method, operands, span)


class ReverseIterator(LibraryObject):
    """An iterator that goes backwards."""

    class_name = "std::reverse_iterator"

    def __init__(self, array: ArrayObject, index: Value) -> None:
        super().__init__()
        self.array = array
        self.index = index

    def parts(self) -> list[Any]:
        return [self.array]

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        return ReverseIterator(self.array, self.index)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
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
            other = operands[0].held
            if isinstance(other, ReverseIterator) and other.array is self.array:
                return machine.expressions.operators.compare(method[8:], self.index, other.index)
            return machine.fresh(method, "opaque")
        return NOT_MODELLED
