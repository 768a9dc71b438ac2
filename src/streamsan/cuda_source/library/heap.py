"""The C heap, and the functions that copy and fill memory."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_data import value_of
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    CallSite,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Operand,
    StructObject,
    Value,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.vocabulary import AccessMode, MemoryKind


def _block(call: CallSite, size: Any) -> ElementPointer:
    return ElementPointer(ArrayObject(None, size, MemoryKind.HOST_HEAP, span=call.span), 0)


def allocate(machine: Machine, operands: list[Operand], call: CallSite, *, size: int = 0) -> Value:
    """A block of the heap; `size` is the position of the argument that holds its bytes."""
    return _block(call, machine.known(value_of(machine, operands, size, call)))


def calloc(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """A cleared block of the heap."""
    count, size = value_of(machine, operands, 0, call), value_of(machine, operands, 1, call)
    made = _block(call, machine.known(combine("*", count, size)))
    made.array.origin = "zero"
    return made


def posix_memalign(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """An aligned block of the heap, through an out-argument."""
    target = machine.expressions.dereference(value_of(machine, operands, 0, call), call.span).cell
    if target is not None:
        block = _block(call, machine.known(value_of(machine, operands, 2, call)))
        target.value = machine.objects.convert(block, target.type)
    return 0


def realloc(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """A new block; the old one ends."""
    old = value_of(machine, operands, 0, call)
    size = machine.known(value_of(machine, operands, 1, call))
    if isinstance(old, ElementPointer):
        made = ArrayObject(None, size, MemoryKind.HOST_HEAP, old.array.label, call.span)
        made.cells = dict(old.array.cells)
        made.element, made.origin, made.written = old.array.element, old.array.origin, old.array.written
        if made.element is not None:
            made.length = None
        for cell in made.cells.values():
            cell.owner = made
        old.array.cells = {}
        machine.objects.end_array(old.array, call.span)
        return ElementPointer(made, 0)
    return _block(call, size)


def free(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """The block ends; no destructors run."""
    value = value_of(machine, operands, 0, call)
    if isinstance(value, ElementPointer):
        array = value.array
        array.released = True
        if array.host is not None:
            machine.memory.end(array, call.span)
    elif isinstance(value, CellPointer):
        machine.memory.end(value.cell, call.span)
    elif isinstance(value, DevicePointer):
        machine.device.heap_free(value, call.span)
    return None


def memcpy(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """Host code reads one block and writes another."""
    target, source = value_of(machine, operands, 0, call), value_of(machine, operands, 1, call)
    size = machine.known(value_of(machine, operands, 2, call))
    memory = machine.memory
    memory.access_value(source, size if isinstance(size, int) else None, AccessMode.READ, call.span)
    memory.access_value(target, size if isinstance(size, int) else None, AccessMode.WRITE, call.span)
    _copy_cells(machine, target, source, call)
    return target


def _copy_cells(machine: Machine, target: Value, source: Value, call: CallSite) -> None:
    """Copy the values of interest: whole arrays from their start, and single objects."""
    if isinstance(target, CellPointer) and isinstance(source, CellPointer):
        held = source.cell.value
        if isinstance(held, StructObject) and isinstance(target.cell.value, StructObject):
            machine.objects.copy_members(target.cell.value, held, False, call.span)
        elif not isinstance(held, StructObject | ArrayObject | LibraryObject):
            target.cell.value = held
    elif isinstance(target, ElementPointer) and isinstance(source, ElementPointer):
        shift = (
            combine("-", target.index, source.index) if target.index is not None and source.index is not None else None
        )
        if not isinstance(shift, int):
            return
        if source.array.written is not None:
            target.array.forget_numbers()
            if shift == 0 and target.array.element == source.array.element:
                target.array.written = source.array.written
        for key, cell in list(source.array.cells.items()):
            if isinstance(key, int) and not isinstance(cell.value, StructObject | ArrayObject | LibraryObject):
                machine.objects.element(target.array, key + shift).value = cell.value


def memset(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """Host code writes a block."""
    target = value_of(machine, operands, 0, call)
    size = machine.known(value_of(machine, operands, 2, call))
    machine.memory.access_value(target, size if isinstance(size, int) else None, AccessMode.WRITE, call.span)
    if isinstance(target, CellPointer) and isinstance(target.cell.value, StructObject):
        zeroed = machine.objects.zero(target.cell.type, target.cell.name)
        if isinstance(zeroed, StructObject):
            target.cell.value = zeroed
            zeroed.constructed = True
            machine.objects.adopt(target.cell)
    elif isinstance(target, CellPointer) and isinstance(target.cell.value, ArrayObject):
        target.cell.value.cells.clear()
        target.cell.value.written = None
        target.cell.value.origin = "zero"
    elif isinstance(target, ElementPointer):
        target.array.forget_numbers()
        if not target.array.cells:
            target.array.origin = "zero"
    return target
