"""What models of the library share: what an operand holds, new cells, and calls of an object's own methods."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    CallSite,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Operand,
    Reference,
    SymbolPointer,
    Value,
)
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.vocabulary import AccessMode, MemoryKind

LARGEST_RANGE = 64
"""Elements of a range that are visited one by one; of a longer one, the first and the last few."""
FIRST_VISITED, LAST_VISITED = 6, 2


def value_of(machine: Machine, operands: list[Operand], position: int, call: CallSite) -> Value:
    """Return an argument's value; None if it was not given."""
    if position >= len(operands):
        return None
    return machine.expressions.load(operands[position], call.span)


def product_of(machine: Machine, operands: list[Operand], span: Span) -> Value:
    """Return the product of some arguments: the bytes that a size and counts come to."""
    product: Value = 1
    for operand in operands:
        product = machine.expressions.operators.arithmetic("*", product, machine.expressions.load(operand, span))
    return product


def cell_from(
    machine: Machine,
    type: CType,
    operand: Operand,
    name: str,
    span: Span,
    kind: MemoryKind = MemoryKind.HOST_STACK,
) -> Cell:
    """Return a new cell initialised from an operand; an unknown type is the operand's own."""
    value = operand.held
    if isinstance(value, Reference) and type.name in ("", "auto", "std::reference_wrapper"):
        return value.cell  # std::ref: the part is another name of the variable
    if type.name in ("", "auto") and not type.pointers:
        type = machine.expressions.type_of(operand).bare()
        if type.array:
            type = type.element().pointer_to()
    cell = Cell(None, type.bare(), name, kind=kind, span=span)
    machine.objects.initialise(cell, type.bare(), operand, span)
    machine.objects.adopt(cell)
    return cell


def default_cell(machine: Machine, type: CType, name: str, span: Span | None, kind: MemoryKind) -> Cell:
    """Return a new value-initialised cell."""
    cell = Cell(None, type.bare(), name, kind=kind, span=span)
    if span is not None and machine.objects.is_class(type):
        machine.objects.construct(cell, type.bare(), [], span)
    else:
        cell.value = machine.objects.zero(type.bare(), name)
    machine.objects.adopt(cell)
    return cell


def unknown_cell(machine: Machine, type: CType, name: str) -> Cell:
    """Return a new cell that unseen code filled."""
    cell = Cell(machine.objects.unknown(type.bare(), name, "opaque"), type.bare(), name)
    machine.objects.adopt(cell)
    return cell


def type_argument(type: CType, position: int) -> CType:
    """Return a template argument of a type; UNKNOWN if it is not written."""
    found = type.arguments[position] if len(type.arguments) > position else None
    return found if isinstance(found, CType) else UNKNOWN


def memory_of(value: Value) -> Value:
    """Return a pointer to the elements of a container or array, for what reads or writes all of it."""
    if isinstance(value, ArrayObject):
        return ElementPointer(value, 0)
    if isinstance(value, LibraryObject):
        storage = next((part for part in value.parts() if isinstance(part, ArrayObject)), None)
        return ElementPointer(storage, 0) if storage is not None else value
    return value


def touch(machine: Machine, value: Value, mode: AccessMode, span: Span, size: Value = None) -> None:
    """Host code touches the memory behind a pointer, or all of a container."""
    machine.memory.access_value(memory_of(value), size, mode, span)


def range_size(machine: Machine, first: Value, last: Value) -> Value:
    """Return the bytes between two iterators; None if they are not known."""
    if isinstance(first, ElementPointer) and isinstance(last, ElementPointer) and first.array is last.array:
        start, stop = machine.known(first.index), machine.known(last.index)
        element = machine.objects.size_of(first.array.element) if first.array.element is not None else None
        if isinstance(start, int) and isinstance(stop, int) and element is not None and stop >= start:
            return (stop - start) * element
    if isinstance(first, DevicePointer) and isinstance(last, DevicePointer) and same_block(first, last):
        bytes_ = last.pointer.address - first.pointer.address
        return bytes_ if first.pointer.exact and last.pointer.exact and bytes_ >= 0 else None
    return None


def same_block(first: Value, second: Value) -> bool:
    """Tell whether two pointers point into one block for certain."""
    if isinstance(first, ElementPointer) and isinstance(second, ElementPointer):
        return first.array is second.array
    if isinstance(first, DevicePointer) and isinstance(second, DevicePointer):
        return first.pointer.generation == second.pointer.generation
    if isinstance(first, SymbolPointer) and isinstance(second, SymbolPointer):
        return first.symbol == second.symbol
    return False


def visited(count: int) -> list[int]:
    """Return which positions of a range are visited one by one."""
    if count <= LARGEST_RANGE:
        return list(range(count))
    return [*range(FIRST_VISITED), *range(count - LAST_VISITED, count)]


def elements_between(machine: Machine, first: Value, last: Value) -> list[Operand] | None:
    """Return the elements that an algorithm over two iterators visits; None if they are not known."""
    if not (isinstance(first, ElementPointer) and isinstance(last, ElementPointer) and first.array is last.array):
        return None
    start, stop = machine.known(first.index), machine.known(last.index)
    if not (isinstance(start, int) and isinstance(stop, int)):
        return None
    array = first.array
    return [Operand(cell=machine.objects.element(array, start + i)) for i in visited(max(0, stop - start))]


def forget_numbers(value: Value) -> None:
    """Numbers behind a pointer were overwritten by something nobody follows; pointers and handles stay."""
    value = memory_of(value)
    if isinstance(value, ElementPointer):
        array = value.array
        array.forget_numbers()
        if array.origin == "zero":
            array.origin = "opaque"
    elif isinstance(value, CellPointer) and isinstance(value.cell.value, ArrayObject):
        forget_numbers(value.cell.value)


def text_of(value: Any) -> str | None:
    """Return the text of a literal or a `std::string`, if it is known."""
    if isinstance(value, str):
        return value
    known = getattr(value, "text", None)
    return known if isinstance(known, str) else None
