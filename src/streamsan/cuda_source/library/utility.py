"""Small functions of values: moves, references, swaps, extremes; the makers of CUDA's vectors and structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsan.cuda_source.library.algorithms import copy_range
from streamsan.cuda_source.library.host_data import value_of
from streamsan.cuda_source.library.iterator_ranges import Range
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import CallSite, Cell, Operand, Reference, StructObject, Value
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import UNKNOWN


def move(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The operand as an xvalue."""
    if len(operands) != 1:
        return copy_range(machine, Range(machine, operands, call), call, moved=True)
    operand = operands[0]
    operand.moved = True
    return operand


def ref(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A reference that survives copying."""
    return Reference(machine.expressions.cell_of(operands[0])) if operands else None


def same(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The operand itself: an lvalue stays one."""
    return operands[0] if operands else None


def addressof(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """`&x`, whatever `operator&` says."""
    return machine.expressions.operators.address_of(operands[0]) if operands else None


def swap(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Two cells exchange their values."""
    if len(operands) == 2 and operands[0].cell is not None and operands[1].cell is not None:
        first, second = operands[0].cell, operands[1].cell
        first.value, second.value = second.value, first.value
        machine.objects.adopt(first)
        machine.objects.adopt(second)
    return None


def exchange(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The old value; the cell holds the new one."""
    if len(operands) != 2 or operands[0].cell is None:
        return None
    cell = operands[0].cell
    old = cell.value
    cell.value = machine.objects.convert(machine.expressions.load(operands[1], call.span), cell.type)
    machine.objects.adopt(cell)
    return old


def extreme(machine: Machine, operands: list[Operand], call: CallSite, *, operator: str) -> Value:
    """The smaller (`<`) or larger (`>`) of two numbers."""
    values = [machine.known(machine.expressions.load(operand, call.span)) for operand in operands[:2]]
    if len(values) == 2:
        first, second = values
        if isinstance(first, int | float) and isinstance(second, int | float):
            return min(first, second) if operator == "<" else max(first, second)
        return combine("min" if operator == "<" else "max", first, second)  # type: ignore[no-any-return]
    return machine.fresh("extreme", "opaque")


def make(machine: Machine, operands: list[Operand], call: CallSite, *, fields: Sequence[str]) -> Any:
    """Return a structure of CUDA's headers with the operands in its fields."""
    made = StructObject(None, machine.fresh("structure", "opaque"))
    for position, field in enumerate(fields[: len(operands)]):
        cell = Cell(value_of(machine, operands, position, call), UNKNOWN, field, made)
        made.fields[field] = cell
        machine.objects.adopt(cell)
    return machine.statements.temporary(made)


def make_vector(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Return a vector type's value: `make_float4(x, y, z, w)`."""
    return make(machine, operands, call, fields="xyzw"[: int(name[-1])])
