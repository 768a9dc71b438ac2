"""std::pair and std::tuple."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_data import cell_from, default_cell
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import NOT_MODELLED, CallSite, Cell, LibraryObject, Operand, Value, held_by
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import MemoryKind

_PAIR_MEMBERS = {"first": 0, "second": 1}


class Tuple(Modelled):
    """A few objects in a row, each of its own type; a part made by `std::tie` is another name of a variable."""

    class_name = "std::tuple"
    contents = ("cells",)

    def __init__(self, type: CType, cells: list[Cell] | None = None) -> None:
        super().__init__(type)
        self.cells = cells or []

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        name = cell.name if cell is not None else ""
        kind = cell.kind if cell is not None else MemoryKind.HOST_STACK
        wanted = [argument for argument in type.arguments if isinstance(argument, CType)]
        if len(operands) == 1:
            held = held_by(operands[0])
            if isinstance(held, Tuple):
                return held.passed(machine, operands[0], span)
            if isinstance(held, Sequence) and len(wanted) > 1 and isinstance(held.storage.length, int):
                operands = held.elements(machine, span)  # a braced list
        if not operands:
            made = [default_cell(machine, part, f"{name}.{i}", span, kind) for i, part in enumerate(wanted)]
            return cls(type, made)
        cells: list[Cell] = []
        for position, operand in enumerate(operands):
            part = wanted[position] if position < len(wanted) else UNKNOWN
            if part.reference and operand.cell is not None:
                cells.append(operand.cell)
            else:
                cells.append(cell_from(machine, part, operand, f"{name}.{position}", span, kind))
        return cls(type, cells)

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        wanted = [argument for argument in self.type.arguments if isinstance(argument, CType)]
        self.cells = [
            Cell(machine.objects.unknown(part.bare(), f"{name}.{position}", origin), part)
            for position, part in enumerate(wanted)
        ]
        for cell in self.cells:
            machine.objects.adopt(cell)

    def parts(self) -> list[Any]:
        return list(self.cells)

    def length(self) -> Value:
        return len(self.cells)

    def _rebuilt(self, machine: Machine, moved: bool, span: Span) -> LibraryObject:
        cells = [
            cell_from(machine, part.type, Operand(cell=part, moved=moved), part.name, span, part.kind)
            for part in self.cells
        ]
        return Tuple(self.type, cells)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        return self._rebuilt(machine, False, span)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        return self._rebuilt(machine, True, span)

    def destroy(self, machine: Machine, span: Span) -> None:
        """Destroy each object, last first."""
        for part in reversed(self.cells):
            if not part.type.reference:
                machine.objects.destroy(part, span)
        self.cells = []

    def member(self, machine: Machine, name: str, span: Span) -> Operand | None:
        """Return `first` or `second`."""
        return self.part(machine, _PAIR_MEMBERS.get(name))

    def part(self, machine: Machine, position: int | None) -> Operand | None:
        """Return one object."""
        if position is None or not 0 <= position < len(self.cells):
            return None
        return Operand(cell=self.cells[position])

    def find(self, wanted: CType) -> Operand | None:
        """Return the object of a type."""
        for part in self.cells:
            if (part.type.name, part.type.pointers) == (wanted.name, wanted.pointers):
                return Operand(cell=part)
        return None

    def assign(self, machine: Machine, operand: Operand, span: Span) -> bool:
        """Assign part by part; False if the operand is no tuple."""
        other = held_by(operand)
        moved = operand.temporary
        sources: list[Operand] = []
        if isinstance(other, Tuple):
            sources = [Operand(cell=part, moved=moved) for part in other.cells]
        elif isinstance(other, Sequence):
            sources = other.elements(machine, span)
        else:
            return False
        if not self.cells:
            self.cells = [cell_from(machine, UNKNOWN, source, "", span) for source in sources]
        for target, source in zip(self.cells, sources, strict=False):
            machine.expressions.assign(Operand(cell=target), source, span)
        return True

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "operator=" and operands:
            return Operand(self, self.cell) if self.assign(machine, operands[0], span) else NOT_MODELLED
        if method == "swap" and operands:
            other = held_by(operands[0])
            if isinstance(other, Tuple):
                self.cells, other.cells = other.cells, self.cells
            return None
        if method in ("operator==", "operator!=", "operator<", "operator>", "operator<=", "operator>="):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED


def make_tuple(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A tuple of copies."""
    return machine.statements.temporary(Tuple.construct(machine, CType("std::tuple"), operands, call.span, None, False))


def tie(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A tuple of names of the variables themselves."""
    cells = [Cell(0, UNKNOWN) if operand.cell is None else operand.cell for operand in operands]
    return Tied(CType("std::tuple"), cells)


class Tied(Tuple):
    """What `std::tie` gives: it owns nothing."""

    def destroy(self, machine: Machine, span: Span) -> None:
        """The variables live on."""


def tuple_cat(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The parts of all tuples in a row."""
    parts = [Operand(cell=part) for given in operands for part in getattr(held_by(given), "cells", [])]
    return machine.statements.temporary(Tuple.construct(machine, CType("std::tuple"), parts, call.span, None, False))
