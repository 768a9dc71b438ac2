"""Built-in operators on the interpreter's values: numbers, unknowns, pointers, handles."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.polls import MOST_TOGETHER
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Operand,
    StructObject,
    SymbolPointer,
    Term,
    Value,
    is_pointer,
)
from streamsan.cuda_source.values.success import Success
from streamsan.cuda_source.values.terms import combine, negate
from streamsan.cuda_source.values.types import CHAR, CType
from streamsan.model.values import Handle, Symbol

COMPARISONS = {"==", "!=", "<", ">", "<=", ">="}


class Operators:
    """Computes with values of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def unary(self, operator: str, value: Value) -> Value:
        """Compute `-x`, `+x`, `!x`, `~x`."""
        machine = self.machine
        if operator == "!":
            truth = machine.truth(value)
            if truth is not None and not isinstance(value, Symbol | Term):
                return int(not truth)
            result: Value = negate(value)
            return result if result is not None else machine.fresh("!", "opaque")
        if operator == "+":
            return value
        if operator == "-":
            if isinstance(value, int | float):
                return -value
            return self._or_fresh(combine("-", 0, value), "-")
        if operator == "~":
            if isinstance(value, int):
                return ~value
            return self._or_fresh(combine("^", -1, value), "~")
        return machine.fresh(operator, "opaque")

    def _or_fresh(self, value: Any, name: str) -> Value:
        return value if value is not None else self.machine.fresh(name, "opaque")

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        """Compute `left operator right` for a comparison, a logical or an arithmetic operator."""
        if operator in COMPARISONS:
            return self.compare(operator, left, right)
        if operator == "<=>":
            return self.machine.fresh("<=>", "opaque")
        return self.arithmetic(operator, left, right)

    def arithmetic(self, operator: str, left: Value, right: Value) -> Value:
        """Compute an arithmetic operator, on pointers too."""
        if operator in ("+", "-") and (is_pointer(left) or is_pointer(right)):
            if is_pointer(left) and is_pointer(right):
                return self._distance(left, right) if operator == "-" else self.machine.fresh("pointer", "opaque")
            if is_pointer(right):
                left, right = right, left
            return self._move(left, right if operator == "+" else self.unary("-", right))
        return self._computed(operator, self._scalar(left), self._scalar(right))

    def _scalar(self, value: Value) -> Any:
        """A value that takes part in arithmetic: addresses keep their identity."""
        if isinstance(value, SymbolPointer):
            base = value.symbol
            return base if value.offset == 0 else combine("+", base, value.offset)
        if isinstance(value, DevicePointer):
            return value.pointer.address if value.pointer.exact else None
        return value

    def _move(self, pointer: Value, steps: Value) -> Value:
        if isinstance(steps, int) and steps == 0:
            return pointer
        if isinstance(pointer, ElementPointer):
            elements = self._elements(pointer, steps)
            known = pointer.index is not None and elements is not None
            return replace(pointer, index=combine("+", pointer.index, elements) if known else None)
        if isinstance(pointer, DevicePointer):
            size = self.machine.objects.size_of(pointer.element) if pointer.element is not None else 1
            bytes_ = None if size is None else combine("*", self.machine.known(steps), size)
            return DevicePointer(self.machine.device.moved(pointer.pointer, bytes_), pointer.element)
        if isinstance(pointer, SymbolPointer):
            return replace(pointer, offset=combine("+", pointer.offset, steps) if pointer.offset is not None else None)
        if isinstance(pointer, CellPointer):
            return self.machine.fresh(pointer.cell.name, "opaque")
        return self.machine.fresh("pointer", "opaque")

    def _elements(self, pointer: ElementPointer, steps: Value) -> Any:
        """Return how many elements of its array so many steps of a pointer are; None where that is between two."""
        if pointer.seen is None or pointer.array.element is None:
            return steps
        size_of = self.machine.objects.size_of
        seen, size = size_of(pointer.seen), size_of(pointer.array.element)
        if not seen or not size:
            return None
        steps = self.machine.known(steps)
        if isinstance(steps, int) and steps * seen % size:
            return None
        return combine("/", combine("*", steps, seen), size)

    def _distance(self, left: Value, right: Value) -> Value:
        if isinstance(left, ElementPointer) and isinstance(right, ElementPointer) and left.array is right.array:
            if left.seen is not None:
                return self.machine.fresh("distance", "opaque")
            return self._or_fresh(combine("-", left.index, right.index), "distance")
        if isinstance(left, DevicePointer) and isinstance(right, DevicePointer):
            size = self.machine.objects.size_of(left.element) if left.element is not None else 1
            if left.pointer.base == right.pointer.base and left.pointer.exact and right.pointer.exact and size:
                return (left.pointer.address - right.pointer.address) // size
        if isinstance(left, SymbolPointer) and isinstance(right, SymbolPointer) and left.symbol == right.symbol:
            return self._or_fresh(combine("-", left.offset, right.offset), "distance")
        return self.machine.fresh("distance", "opaque")

    def compare(self, operator: str, left: Value, right: Value) -> Value:
        """Compute a comparison; identity decides between objects, unknowns stay unknown."""
        if isinstance(left, Success) != isinstance(right, Success) and operator in ("==", "!="):
            self.machine.succeeds(left if isinstance(right, Success) else right)
            left, right = self.machine.known(left), self.machine.known(right)
        same = self._same(left, right)
        if operator == "==" and same is not None:
            return int(same)
        if operator == "!=" and same is not None:
            return int(not same)
        known = self.machine.known
        first, second = known(self._scalar(left)), known(self._scalar(right))
        return self._computed(operator, first, second)

    def _computed(self, operator: str, left: Any, right: Any) -> Value:
        """Compute a number. What queries say is decided before it is forgotten in one that grows too large."""
        machine = self.machine
        found = combine(operator, left, right)
        if machine.device.queries:
            asked = [*machine.device.asked(left), *machine.device.asked(right)]
            if asked and (found is None or len(set(asked)) > MOST_TOGETHER):
                for symbol in asked:
                    machine.decide(symbol, likely=False)
                found = combine(operator, machine.known(left), machine.known(right))
        return self._or_fresh(found, operator)

    def _same(self, left: Value, right: Value) -> bool | None:
        objects = self.machine.objects
        if objects.is_null(left) or objects.is_null(right):
            other = right if objects.is_null(left) else left
            if objects.is_null(other):
                return True
            if is_pointer(other) or isinstance(other, Handle | FunctionValue | Closure | CellPointer | StructObject):
                self.machine.decisions.supposes_pointers |= isinstance(other, SymbolPointer)
                return False
            if isinstance(other, Symbol) and other.number in self.machine.live_handles:
                known = self.machine.known(other)
                if isinstance(known, int):
                    return known == 0
                self.machine.decisions.supposes_pointers = True
                return False
            if isinstance(other, LibraryObject):
                truth = other.truth()
                return None if truth is None else not truth
            return None
        if isinstance(left, DevicePointer) and isinstance(right, DevicePointer):
            if left.pointer.base != right.pointer.base or left.pointer.generation != right.pointer.generation:
                return False
            return left.pointer.address == right.pointer.address if left.pointer.exact and right.pointer.exact else None
        if isinstance(left, CellPointer) and isinstance(right, CellPointer):
            return left.cell is right.cell
        if isinstance(left, ElementPointer) and isinstance(right, ElementPointer):
            if left.array is not right.array:
                return False
            return left.index == right.index if isinstance(left.index, int) and isinstance(right.index, int) else None
        if isinstance(left, Handle) and isinstance(right, Handle):
            return left == right
        if isinstance(left, str) and isinstance(right, str):
            return left == right
        return None

    def address_of(self, operand: Operand) -> Value:
        """Compute `&x`."""
        if operand.cell is not None:
            cell = operand.cell
            array = cell.owner
            if isinstance(array, ArrayObject) and array.host is not None and array.host.from_api:
                return self.machine.memory.pointer_into(array, cell.key)
            if isinstance(array, ArrayObject) and array.symbol is not None and array.cell is None:
                return SymbolPointer(array.symbol, cell.key, array.element)
            return self.machine.objects.pointer_to(cell)
        if isinstance(operand.value, FunctionValue):
            return operand.value
        cell = Cell(operand.value, self.machine.expressions.type_of(operand), "temporary")
        self.machine.objects.adopt(cell)
        return CellPointer(cell)

    def cast(self, value: Value, type: CType) -> Value:
        """Compute a cast to a scalar or pointer type."""
        if isinstance(value, DevicePointer | SymbolPointer) and not type.pointers:
            return replace(value, element=CHAR)  # an address as a number keeps knowing where it came from
        return self.machine.objects.convert(value, type)
