"""std::optional, std::variant and std::any; access to parts of objects by position or type: std::get, std::visit."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_data import cell_from, default_cell, type_argument, unknown_cell
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.library.tuples import Tuple
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    CallSite,
    Cell,
    CellPointer,
    ElementPointer,
    LibraryObject,
    Operand,
    Value,
    held_by,
)
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import MemoryKind


class Optional(Modelled):
    """One object, or none: what a variant or `any` holds now is followed like an optional's."""

    class_name = "std::optional"
    own_parts = ("held",)

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self.held: Cell | None = None
        self.certain = True

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        first = type_argument(self.type, 0)
        if operands:
            self.take(machine, operands[0], span)
        elif self.type.name.endswith("variant") and first is not UNKNOWN:
            self.held = default_cell(machine, first, "", span, MemoryKind.HOST_STACK)

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        self.held, self.certain = unknown_cell(machine, type_argument(self.type, 0), name), False

    def take(self, machine: Machine, operand: Operand, span: Span) -> None:
        """Replace what is held."""
        source = held_by(operand)
        moved = operand.temporary
        self.destroy(machine, span)
        if isinstance(source, Optional):
            self.certain = source.certain
            if source.held is not None:
                given = Operand(cell=source.held, moved=moved)
                self.held = cell_from(machine, source.held.type, given, source.held.name, span)
        elif not (operand.cell is None and is_nullopt(source)):
            wanted = UNKNOWN if self.type.name.endswith(("any", "variant")) else type_argument(self.type, 0)
            self.held = cell_from(machine, wanted, operand, "", span)
            self.certain = True

    def destroy(self, machine: Machine, span: Span) -> None:
        """Destroy what is held."""
        held, self.held = self.held, None
        if held is not None:
            machine.objects.destroy(held, span)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        return Optional.construct(machine, self.type, [Operand(cell=Cell(self, self.type))], span, None, False)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        operand = Operand(cell=Cell(self, self.type), moved=True)
        return Optional.construct(machine, self.type, [operand], span, None, False)

    def truth(self) -> bool | None:
        return self.held is not None if self.certain else None

    def holds(self, wanted: CType) -> bool | None:
        """Tell whether the object held is of a type; None if it is not known."""
        if self.held is None or not self.certain or wanted.name == "" or self.held.type.name in ("", "auto"):
            return None
        return (wanted.name, wanted.pointers) == (self.held.type.name, self.held.type.pointers)

    def value(self, machine: Machine) -> Operand:
        """Return what is held."""
        if self.held is None:
            return Operand(machine.fresh("value", "opaque"))
        return Operand(cell=self.held)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method in ("value", "operator*"):
            return self.value(machine)
        if method == "operator->":
            return CellPointer(self.held) if self.held is not None else machine.fresh("value", "opaque")
        if method in ("has_value", "operator bool"):
            return int(self.held is not None) if self.certain else machine.fresh("has_value", "opaque")
        if method == "value_or" and operands:
            return Operand(cell=self.held) if self.held is not None else operands[0]
        if method == "reset":
            self.destroy(machine, span)
            self.certain = True
            return None
        if method == "operator=" and operands:
            self.take(machine, operands[0], span)
            return Operand(self, self.cell)
        if method == "emplace":
            self.destroy(machine, span)
            type = type_argument(self.type, 0)
            self.held = Cell(None, type, "", span=span)
            machine.objects.construct(self.held, type, operands, span)
            self.certain = True
            return Operand(cell=self.held)
        if method in ("operator==", "operator!=") and operands:
            if is_nullopt(held_by(operands[0])) and self.certain:
                return int((self.held is None) == (method == "operator=="))
            return machine.fresh(method, "opaque")
        if method == "index" and self.held is not None:
            alternatives = [argument for argument in self.type.arguments if isinstance(argument, CType)]
            answers = [self.holds(alternative) for alternative in alternatives]
            if True in answers and None not in answers:
                return answers.index(True)
        if method in ("index", "valueless_by_exception", "type"):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED


def is_nullopt(value: Value) -> bool:
    """Tell whether a value is `std::nullopt`."""
    return getattr(value, "name", None) in ("nullopt", "std::nullopt")


def get(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A part of a tuple, array, variant or `any`, by position or by type."""
    if not operands:
        return machine.fresh("get", "opaque")
    held = held_by(operands[0])
    target = (
        machine.expressions.dereference(held, call.span) if isinstance(held, CellPointer | ElementPointer) else None
    )
    pointed = target is not None and isinstance(held_by(target), Optional)
    if target is not None and pointed:
        held = held_by(target)
    wanted = call.template_arguments[0] if call.template_arguments else None
    found: Operand | None = None
    if isinstance(held, Tuple):
        found = held.find(wanted) if isinstance(wanted, CType) else held.part(machine, _number(machine, wanted))
    elif isinstance(held, Sequence):
        found = held.at(machine, machine.known(wanted), call.span)
    elif isinstance(held, Optional) and held.held is not None:
        if pointed:
            position = _number(machine, wanted) if not isinstance(wanted, CType) else None
            alternative = type_argument(held.type, position) if position is not None and position >= 0 else UNKNOWN
            same = held.holds(wanted if isinstance(wanted, CType) else alternative)
            if same is None:
                machine.reach.unfollowed([held], call.span)
                return machine.fresh("get_if", "opaque")
            return CellPointer(held.held) if same else 0
        found = held.value(machine)
    if found is None:
        return machine.fresh("get", "opaque")
    return Operand(cell=found.cell, value=found.value, moved=operands[0].moved)


def _number(machine: Machine, value: Any) -> int | None:
    known = machine.known(value)
    return known if isinstance(known, int) else None


def apply(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Call the first operand with the parts of the second."""
    if len(operands) != 2:
        return machine.fresh("apply", "opaque")
    parts = [Operand(cell=part) for part in getattr(held_by(operands[1]), "cells", [])]
    return machine.calls.invoke_value(held_by(operands[0]), parts, call.span)


def visit(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Call the first operand with what each variant holds."""
    if not operands:
        return machine.fresh("visit", "opaque")
    given = [held_by(operand) for operand in operands[1:]]
    parts = [value.value(machine) if isinstance(value, Optional) else Operand(value) for value in given]
    return machine.calls.invoke_value(held_by(operands[0]), parts, call.span)


def make_optional(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """An optional that holds the operand."""
    made = Optional.construct(machine, CType("std::any"), operands, call.span, None, False)
    return machine.statements.temporary(made)


def holds_alternative(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Whether a variant holds the type."""
    held = held_by(operands[0]) if operands else None
    wanted = call.template_arguments[0] if call.template_arguments else None
    same = held.holds(wanted) if isinstance(held, Optional) and isinstance(wanted, CType) else None
    if same is not None:
        return int(same)
    return machine.fresh("holds_alternative", "opaque")
