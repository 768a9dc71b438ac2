"""The inline helpers of CUDA's headers that make values: vectors, extents, pitched pointers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsan.cuda_source.interpreter.library.face import CallSite, Machine
from streamsan.cuda_source.interpreter.library.host_data import value_of
from streamsan.cuda_source.interpreter.types import UNKNOWN
from streamsan.cuda_source.interpreter.values import Cell, Operand, StructObject


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
