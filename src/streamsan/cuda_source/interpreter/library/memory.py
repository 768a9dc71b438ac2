"""The C heap and memory functions; moves and forwards."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library import function
from streamsan.cuda_source.interpreter.library.face import CallSite, Machine
from streamsan.cuda_source.interpreter.terms import combine
from streamsan.cuda_source.interpreter.types import CHAR
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Operand,
    Reference,
    StructObject,
    Value,
)
from streamsan.vocabulary import AccessMode, MemoryKind


def value_of(machine: Machine, operands: list[Operand], position: int, call: CallSite) -> Value:
    """Return an argument's value; None if it was not given."""
    if position >= len(operands):
        return None
    return machine.expressions.load(operands[position], call.span)


def _block(call: CallSite, size: Any) -> ElementPointer:
    return ElementPointer(ArrayObject(None, size, MemoryKind.HOST_HEAP, span=call.span), 0)


@function("std::malloc", "malloc", "alloca", "valloc")
def malloc(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """A block of the heap."""
    return _block(call, machine.known(value_of(machine, operands, 0, call)))


@function("std::calloc", "calloc")
def calloc(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """A cleared block of the heap."""
    count, size = value_of(machine, operands, 0, call), value_of(machine, operands, 1, call)
    made = _block(call, machine.known(combine("*", count, size)))
    made.array.origin = "zero"
    return made


@function("std::aligned_alloc", "aligned_alloc", "memalign", "_aligned_malloc")
def aligned_alloc(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """An aligned block of the heap."""
    return _block(call, machine.known(value_of(machine, operands, 1, call)))


@function("posix_memalign")
def posix_memalign(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """An aligned block of the heap, through an out-argument."""
    target = machine.expressions.dereference(value_of(machine, operands, 0, call), call.span).cell
    if target is not None:
        block = _block(call, machine.known(value_of(machine, operands, 2, call)))
        target.value = machine.objects.convert(block, target.type)
    return 0


@function("std::realloc", "realloc")
def realloc(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
    """A new block; the old one ends."""
    old = value_of(machine, operands, 0, call)
    size = machine.known(value_of(machine, operands, 1, call))
    if isinstance(old, ElementPointer):
        made = ArrayObject(None, size, MemoryKind.HOST_HEAP, old.array.label, call.span)
        made.cells = dict(old.array.cells)
        made.element, made.origin = old.array.element, old.array.origin
        if made.element is not None:
            made.length = None
        for cell in made.cells.values():
            cell.owner = made
        old.array.cells = {}
        machine.objects.end_array(old.array, call.span)
        return ElementPointer(made, 0)
    return _block(call, size)


@function("std::free", "free", "_aligned_free")
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


@function("std::memcpy", "memcpy", "std::memmove", "memmove")
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
        for key, cell in list(source.array.cells.items()):
            if isinstance(key, int) and not isinstance(cell.value, StructObject | ArrayObject | LibraryObject):
                machine.objects.element(target.array, key + shift).value = cell.value


@function("std::memset", "memset", "bzero")
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
        target.cell.value.origin = "zero"
    elif isinstance(target, ElementPointer):
        target.array.cells = {k: c for k, c in target.array.cells.items() if not isinstance(c.value, int | float)}
        if not target.array.cells:
            target.array.origin = "zero"
    return target


@function("std::move", "move")
def move(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The operand as an xvalue."""
    if len(operands) != 1:
        from streamsan.cuda_source.interpreter.library.algorithms import copy_range
        from streamsan.cuda_source.interpreter.library.ranges import Range

        return copy_range(machine, Range(machine, operands, call), call, moved=True)
    operand = operands[0]
    operand.moved = True
    return operand


@function("std::forward", "forward")
def forward(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The operand as it came: an lvalue stays one."""
    return operands[0] if operands else None


@function("std::ref", "ref", "std::cref", "cref")
def ref(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A reference that survives copying."""
    return Reference(machine.expressions.cell_of(operands[0])) if operands else None


@function("std::as_const", "as_const", "std::launder", "launder")
def same(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The operand itself."""
    return operands[0] if operands else None


@function("std::addressof", "addressof")
def addressof(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """`&x`, whatever `operator&` says."""
    return machine.expressions.operators.address_of(operands[0]) if operands else None


@function("std::swap", "swap")
def swap(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Two cells exchange their values."""
    if len(operands) == 2 and operands[0].cell is not None and operands[1].cell is not None:
        first, second = operands[0].cell, operands[1].cell
        first.value, second.value = second.value, first.value
        machine.objects.adopt(first)
        machine.objects.adopt(second)
    return None


@function("std::exchange", "exchange")
def exchange(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The old value; the cell holds the new one."""
    if len(operands) != 2 or operands[0].cell is None:
        return None
    cell = operands[0].cell
    old = cell.value
    cell.value = machine.objects.convert(machine.expressions.load(operands[1], call.span), cell.type)
    machine.objects.adopt(cell)
    return old


def _extreme(operator: str) -> Any:
    def choose(machine: Machine, operands: list[Operand], call: CallSite) -> Value:
        values = [machine.known(machine.expressions.load(operand, call.span)) for operand in operands[:2]]
        if len(values) == 2:
            first, second = values
            if isinstance(first, int | float) and isinstance(second, int | float):
                return min(first, second) if operator == "<" else max(first, second)
            return combine("min" if operator == "<" else "max", first, second)  # type: ignore[no-any-return]
        return machine.fresh("extreme", "opaque")

    return choose


function("std::min", "min")(_extreme("<"))
function("std::max", "max")(_extreme(">"))

__all__ = ["CHAR", "malloc", "value_of"]
