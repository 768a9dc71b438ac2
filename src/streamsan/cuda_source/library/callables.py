"""std::function and std::bind."""

from __future__ import annotations

from typing import Any, ClassVar

from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    ArrayObject,
    CallSite,
    Cell,
    Closure,
    LibraryObject,
    Native,
    Operand,
    Reference,
    StructObject,
    Value,
)
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin


class Function(Modelled):
    """Something that can be called, or nothing."""

    class_name = "std::function"
    own_parts: ClassVar[tuple[str, ...]] = ("held",)

    def __init__(self, type: CType, held: Value = 0) -> None:
        super().__init__(type)
        self.held = Cell(held, UNKNOWN, "callable")

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        if operands:
            self.take(machine, operands[0], span)

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        self.held.value = machine.fresh(name, origin)

    def take(self, machine: Machine, operand: Operand, span: Span) -> None:
        """Replace the callable."""
        source = operand.held
        if isinstance(source, Function):
            self.held.value = source.held.value
        elif isinstance(source, LibraryObject) or operand.cell is None:
            self.held.value = machine.statements.keep(source)
        else:
            self.held = Cell(None, operand.cell.type, "callable")
            machine.objects.initialise(self.held, UNKNOWN, operand, span)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        return Function(self.type, self.held.value)

    def truth(self) -> bool | None:
        return not (isinstance(self.held.value, int) and self.held.value == 0)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method; `operator()` calls what is held."""
        if method == "operator()":
            return machine.calls.invoke_value(self.held.value, operands, span)
        if method == "operator=" and operands:
            self.take(machine, operands[0], span)
            return Operand(self, self.cell)
        return NOT_MODELLED


class Overloaded(Modelled):
    """`overloaded{[](int) {...}, [](float*) {...}}`: an object whose bases are a pack, of which one is called."""

    class_name = "overloaded functions"
    own_parts: ClassVar[tuple[str, ...]] = ("whole",)

    def __init__(self, type: CType, functions: list[Value]) -> None:
        super().__init__(type)
        self.functions = functions
        self.whole = ArrayObject(None, len(functions))
        self.whole.cells = {index: Cell(value, UNKNOWN) for index, value in enumerate(functions)}

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method != "operator()" or not self.functions:
            return NOT_MODELLED
        given = [machine.expressions.type_of(operand).bare() for operand in operands]
        best = max(self.functions, key=lambda each: _fits(machine, each, given))
        return machine.calls.invoke_value(best, operands, span)


def _fits(machine: Machine, function: Value, given: list[CType]) -> int:
    """Return how well a function takes arguments of these types: 2 exactly, 1 whatever they are, 0 not at all."""
    if isinstance(function, Closure):
        parameters = function.node.parameters
    else:
        found = function.cls.find_method("operator()") if isinstance(function, StructObject) and function.cls else None
        parameters = found[0][0].parameters if found is not None else []
    if len(parameters) != len(given):
        return 0
    wanted = [machine.resolve(parameter.type).bare() for parameter in parameters]
    if all((one.name, one.pointers) == (other.name, other.pointers) for one, other in zip(wanted, given, strict=True)):
        return 2
    return int(all(one.name in ("auto", "") for one in wanted))


def invoke(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Call the first operand with the rest."""
    if not operands:
        return None
    value = operands[0].held
    return machine.calls.invoke_value(value, operands[1:], call.span)


def bind(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A function with some of its operands given."""
    if not operands:
        return None
    callee = operands[0].held
    given: list[Operand | int] = []
    for operand in operands[1:]:
        place = _placeholder(operand)
        given.append(place if place is not None else Operand(cell=_kept(machine, operand, call.span)))

    def run(machine: Machine, later: list[Operand], span: Span) -> Any:
        used = max((item for item in given if isinstance(item, int)), default=0)
        chosen: list[Operand] = []
        for item in given:
            if isinstance(item, Operand):
                chosen.append(item)
            else:
                chosen.append(later[item - 1] if item <= len(later) else Operand())
        return machine.calls.invoke_value(callee, [*chosen, *later[used:]], span)

    return Native("std::bind", run)


def _placeholder(operand: Operand) -> int | None:
    name = getattr(operand.value, "name", "") if operand.cell is None else ""
    short = name.rpartition("::")[2]
    return int(short[1:]) if len(short) == 2 and short[0] == "_" and "1" <= short[1] <= "9" else None


def _kept(machine: Machine, operand: Operand, span: Span) -> Cell:
    value = operand.held
    if isinstance(value, Reference):
        return value.cell
    type = machine.expressions.type_of(operand).bare()
    cell = Cell(None, type, "bound", span=span)
    machine.objects.initialise(cell, type, operand, span)
    machine.objects.adopt(cell)
    machine.reach.kept.append(cell)
    return cell
