"""Streams of text, files and the console; random numbers; and other classes that hold no pointer and no handle."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_calls import receive
from streamsan.cuda_source.library.host_data import touch
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.strings import String
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    CallSite,
    CellPointer,
    LibraryObject,
    Operand,
    StructObject,
    Value,
    held_by,
    is_pointer,
)
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span
from streamsan.vocabulary import AccessMode

_CONSOLE = CType("std::ostream")


class Console(Modelled):
    """`std::cout` and its kin: nothing about them is remembered."""

    class_name = "std::ostream"

    def __init__(self, type: CType = _CONSOLE) -> None:
        super().__init__(type)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        return self

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "operator<<" and operands:
            if isinstance(held_by(operands[0]), StructObject):
                return NOT_MODELLED  # an operator of the program's own
            machine.expressions.load(operands[0], span)
            return Operand(self, self.cell)
        if method == "operator>>" and operands:
            if operands[0].cell is not None:
                receive(machine, operands[0].cell, span)
            self.was_read()
            return Operand(self, self.cell)
        values = [machine.expressions.load(operand, span) for operand in operands]
        if method in ("read", "getline", "get", "readsome") and values:
            touch(machine, values[0], AccessMode.WRITE, span)
            self._fill(machine, values[0], span)
            self.was_read()
            return Operand(self, self.cell)
        if method == "write" and values:
            touch(machine, values[0], AccessMode.READ, span)
            return Operand(self, self.cell)
        if method == "str":
            return machine.statements.temporary(String(CType("std::string"), None))
        if method in ("is_open", "good", "operator bool"):
            return 1
        if method in ("fail", "bad", "operator!"):
            return 0
        if method.startswith("operator") and method != "operator=":
            return NOT_MODELLED
        return machine.fresh(method, "input")

    def _fill(self, machine: Machine, value: Value, span: Span) -> None:
        if isinstance(value, CellPointer) and not is_pointer(value.cell.value):
            receive(machine, value.cell, span)

    def was_read(self) -> None:
        """Whether there was something to read is not known."""


class TextStream(Console):
    """A file or a text as a stream: opening one succeeds, as calls do."""

    class_name = "std::iostream"

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self._read = False

    def was_read(self) -> None:
        """Whether there was something to read is not known."""
        self._read = True

    def truth(self) -> bool | None:
        """Whether the last operation succeeded."""
        return None if self._read else True


def getline(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A line of input; whether there was one is not known."""
    for operand in operands[1:2]:
        if operand.cell is not None:
            receive(machine, operand.cell, call.span)
    return machine.fresh("getline", "input")


class Quiet(Modelled):
    """An object whose methods give numbers and hold nothing of interest."""

    class_name = "std::random"
    copy = Modelled.another

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        for operand in operands:
            machine.expressions.load(operand, span)
        if method in ("operator=", "operator+=", "operator++"):
            return Operand(self, self.cell)
        return machine.fresh(method, "input")
