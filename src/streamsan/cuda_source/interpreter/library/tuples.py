"""std::pair, std::tuple, std::optional, std::variant, std::any: one or a few objects held by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.library import NOT_MODELLED, CallSite, class_, function
from streamsan.cuda_source.interpreter.library.containers import Sequence
from streamsan.cuda_source.interpreter.library.operands import (
    cell_from,
    default_cell,
    held_by,
    type_argument,
    unknown_cell,
)
from streamsan.cuda_source.interpreter.machine import Operand
from streamsan.cuda_source.interpreter.types import UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import Cell, CellPointer, LibraryObject, Reference, Value
from streamsan.cuda_source.syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine

_PAIR_MEMBERS = {"first": 0, "second": 1}


def same_operands(machine: Machine, left: Value, right: Value) -> Value:
    """Return whether two values are equal, as `==` says."""
    return machine.expressions.operators.compare("==", left, right)


@class_("std::pair", "std::tuple", "thrust::pair", "thrust::tuple", "cuda::std::pair", "cuda::std::tuple")
class Tuple(LibraryObject):
    """A few objects in a row, each of its own type; a part made by `std::tie` is another name of a variable."""

    class_name = "std::tuple"

    def __init__(self, type: CType, cells: list[Cell]) -> None:
        super().__init__()
        self.type = type
        self.cells = cells

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make the parts from nothing, from operands, or from another tuple."""
        name = cell.name if cell is not None else ""
        kind = cell.kind if cell is not None else MemoryKind.HOST_STACK
        wanted = [argument for argument in type.arguments if isinstance(argument, CType)]
        if len(operands) == 1:
            held = held_by(operands[0])
            if isinstance(held, Tuple):
                return held._passed(machine, operands[0], span)
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

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A tuple from unseen code."""
        wanted = [argument for argument in type.arguments if isinstance(argument, CType)]
        cells = [Cell(machine.unknown_of(part.bare(), f"{name}.{i}", origin), part) for i, part in enumerate(wanted)]
        for cell in cells:
            machine.objects.adopt(cell)
        return cls(type, cells)

    def _passed(self, machine: Machine, operand: Operand, span: Span) -> LibraryObject:
        if operand.cell is None:
            machine.statements.keep(self)
            return self
        return self.move(machine, span) if operand.moved else self.copy(machine, span)

    def parts(self) -> list[Any]:
        """The objects."""
        return list(self.cells)

    def length(self) -> Value:
        """Return the number of objects."""
        return len(self.cells)

    def _rebuilt(self, machine: Machine, moved: bool, span: Span) -> LibraryObject:
        cells = [
            cell_from(machine, part.type, Operand(cell=part, moved=moved), part.name, span, part.kind)
            for part in self.cells
        ]
        return Tuple(self.type, cells)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy each object."""
        return self._rebuilt(machine, False, span)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Move each object."""
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
        moved = operand.cell is None or operand.moved
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
        """Call a method."""
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


@class_("std::optional", "std::any", "std::variant", "cuda::std::optional")
class Optional(LibraryObject):
    """One object, or none: what a variant or `any` holds now is followed like an optional's."""

    class_name = "std::optional"

    def __init__(self, type: CType, held: Cell | None, certain: bool = True) -> None:
        super().__init__()
        self.type = type
        self.held = held
        self.certain = certain

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Hold what is given."""
        made = cls(type, None)
        if operands:
            made.take(machine, operands[0], span)
        elif type.name.endswith("variant") and type_argument(type, 0) is not UNKNOWN:
            made.held = default_cell(machine, type_argument(type, 0), "", span, MemoryKind.HOST_STACK)
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """One that unseen code may have filled."""
        return cls(type, unknown_cell(machine, type_argument(type, 0), name), certain=False)

    def take(self, machine: Machine, operand: Operand, span: Span) -> None:
        """Replace what is held."""
        source = held_by(operand)
        moved = operand.cell is None or operand.moved
        self.drop(machine, span)
        if isinstance(source, Optional):
            self.certain = source.certain
            if source.held is not None:
                given = Operand(cell=source.held, moved=moved)
                self.held = cell_from(machine, source.held.type, given, source.held.name, span)
        elif not (operand.cell is None and is_nullopt(source)):
            wanted = UNKNOWN if self.type.name.endswith(("any", "variant")) else type_argument(self.type, 0)
            self.held = cell_from(machine, wanted, operand, "", span)
            self.certain = True

    def drop(self, machine: Machine, span: Span) -> None:
        """Destroy what is held."""
        held, self.held = self.held, None
        if held is not None:
            machine.objects.destroy(held, span)

    def parts(self) -> list[Any]:
        """What is held."""
        return [self.held] if self.held is not None else []

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy what is held."""
        made = Optional(self.type, None)
        made.take(machine, Operand(cell=Cell(self, self.type)), span)
        return made

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Move what is held."""
        made = Optional(self.type, None)
        made.take(machine, Operand(cell=Cell(self, self.type), moved=True), span)
        return made

    def destroy(self, machine: Machine, span: Span) -> None:
        """Destroy what is held."""
        self.drop(machine, span)

    def truth(self) -> bool | None:
        """Whether something is held."""
        return self.held is not None if self.certain else None

    def value(self, machine: Machine) -> Operand:
        """Return what is held."""
        if self.held is None:
            return Operand(machine.fresh("value", "opaque"))
        return Operand(cell=self.held)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method in ("value", "operator*"):
            return self.value(machine)
        if method == "operator->":
            return CellPointer(self.held) if self.held is not None else machine.fresh("value", "opaque")
        if method in ("has_value", "operator bool"):
            return int(self.held is not None) if self.certain else machine.fresh("has_value", "opaque")
        if method == "value_or" and operands:
            return Operand(cell=self.held) if self.held is not None else operands[0]
        if method == "reset":
            self.drop(machine, span)
            self.certain = True
            return None
        if method == "operator=" and operands:
            self.take(machine, operands[0], span)
            return Operand(self, self.cell)
        if method == "emplace":
            self.drop(machine, span)
            type = type_argument(self.type, 0)
            self.held = Cell(None, type, "", span=span)
            machine.objects.construct(self.held, type, operands, span)
            self.certain = True
            return Operand(cell=self.held)
        if method in ("operator==", "operator!=") and operands:
            if is_nullopt(held_by(operands[0])) and self.certain:
                return int((self.held is None) == (method == "operator=="))
            return machine.fresh(method, "opaque")
        if method in ("index", "valueless_by_exception", "type"):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED


def is_nullopt(value: Value) -> bool:
    """Tell whether a value is `std::nullopt`."""
    return getattr(value, "name", None) in ("nullopt", "std::nullopt")


@function("std::make_pair", "std::make_tuple", "thrust::make_pair", "thrust::make_tuple", "cuda::std::make_pair")
def make_tuple(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A tuple of copies."""
    return machine.statements.temporary(Tuple.construct(machine, CType("std::tuple"), operands, call.span, None, False))


@function("std::tie", "tie", "std::forward_as_tuple")
def tie(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A tuple of names of the variables themselves."""
    cells = [Cell(0, UNKNOWN) if operand.cell is None else operand.cell for operand in operands]
    return Tied(CType("std::tuple"), cells)


class Tied(Tuple):
    """What `std::tie` gives: it owns nothing."""

    def destroy(self, machine: Machine, span: Span) -> None:
        """The variables live on."""


@function("std::tuple_cat", "tuple_cat")
def tuple_cat(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The parts of all tuples in a row."""
    parts = [Operand(cell=part) for given in operands for part in getattr(held_by(given), "cells", [])]
    return machine.statements.temporary(Tuple.construct(machine, CType("std::tuple"), parts, call.span, None, False))


@function("std::get", "get", "std::get_if", "std::any_cast", "any_cast", "thrust::get", "cuda::std::get")
def get(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A part of a tuple, array, variant or `any`, by position or by type."""
    if not operands:
        return machine.fresh("get", "opaque")
    held = held_by(operands[0])
    pointed = isinstance(held, CellPointer) and isinstance(held.cell.value, Optional)
    if isinstance(held, CellPointer) and pointed:
        held = held.cell.value
    wanted = call.template_arguments[0] if call.template_arguments else None
    found: Operand | None = None
    if isinstance(held, Tuple):
        found = held.find(wanted) if isinstance(wanted, CType) else held.part(machine, _number(machine, wanted))
    elif isinstance(held, Sequence):
        found = held.at(machine, machine.known(wanted))
    elif isinstance(held, Optional) and held.held is not None:
        same = isinstance(wanted, CType) and (wanted.name, wanted.pointers) == (
            held.held.type.name, held.held.type.pointers)  # fmt: skip
        if pointed:
            return CellPointer(held.held) if same else machine.fresh("get_if", "opaque")
        found = held.value(machine)
    if found is None:
        return machine.fresh("get", "opaque")
    return Operand(cell=found.cell, value=found.value, moved=operands[0].moved)


def _number(machine: Machine, value: Any) -> int | None:
    known = machine.known(value)
    return known if isinstance(known, int) else None


@function("std::apply", "apply")
def apply(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Call the first operand with the parts of the second."""
    if len(operands) != 2:
        return machine.fresh("apply", "opaque")
    parts = [Operand(cell=part) for part in getattr(held_by(operands[1]), "cells", [])]
    return machine.calls.invoke_value(held_by(operands[0]), parts, call.span)


@function("std::visit", "visit")
def visit(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Call the first operand with what each variant holds."""
    if not operands:
        return machine.fresh("visit", "opaque")
    given = [held_by(operand) for operand in operands[1:]]
    parts = [value.value(machine) if isinstance(value, Optional) else Operand(value) for value in given]
    return machine.calls.invoke_value(held_by(operands[0]), parts, call.span)


@function("std::make_optional", "std::make_any", "std::in_place")
def make_optional(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """An optional that holds the operand."""
    made = Optional.construct(machine, CType("std::any"), operands, call.span, None, False)
    return machine.statements.temporary(made)


@function("std::holds_alternative", "holds_alternative")
def holds_alternative(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Whether a variant holds the type."""
    held = held_by(operands[0]) if operands else None
    wanted = call.template_arguments[0] if call.template_arguments else None
    cell = held.held if isinstance(held, Optional) and held.certain else None
    if cell is not None and isinstance(wanted, CType) and cell.type.name not in ("", "auto"):
        return int((wanted.name, wanted.pointers) == (cell.type.name, cell.type.pointers))
    return machine.fresh("holds_alternative", "opaque")


__all__ = ["Optional", "Reference", "Tuple", "is_nullopt", "make_tuple"]
