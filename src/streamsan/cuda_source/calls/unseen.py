"""Calls into code nobody can see: what it may do to what reaches it."""

from __future__ import annotations

import re

from streamsan.cuda_source.calls.questions import Questions
from streamsan.cuda_source.library.braced import BracedList
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Operand,
    Status,
    StructObject,
    SymbolPointer,
    Value,
    is_pointer,
)
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.success import asks_for_success
from streamsan.cuda_syntax.tree import Function, Span
from streamsan.model.values import Handle, Origin, Symbol
from streamsan.patterns.late_pattern import late_pattern

_TIMER_NAME = late_pattern(r"(?i)time|clock|tick|toc\b|elapsed|stopwatch|bench|profil|start|stop|second|lap\b")
_CHECK_NAME = late_pattern(r"check|err|assert|safe|verify|expect|throw|try|succe|ensure|must|call", re.IGNORECASE)


class Unseen:
    """The unseen code that one path calls."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._questions = Questions()

    def carries(self, operands: list[Operand]) -> bool:
        """Tell whether a pointer or handle of interest is among the arguments."""
        reached: list[Value] = []
        for operand in operands:
            self.machine.reach.collect(operand.held, reached)
        return any(isinstance(value, DevicePointer | SymbolPointer | Handle) for value in reached)

    def harmless(self, name: str, operands: list[Operand], span: Span, *, this: Cell | None = None) -> Operand:
        """A call that only reads its arguments."""
        for operand in operands:
            self.machine.expressions.load(operand, span)
        return Operand(self._answer(name, operands, this, "input"))

    def _answer(self, name: str, operands: list[Operand], this: Cell | None, origin: Origin) -> Symbol:
        """Return an unknown: the same one where the same was asked before."""
        return self._questions.answer(name, operands, this, lambda: self.machine.fresh(last_name(name), origin))

    def _is_check(self, name: str, operands: list[Operand]) -> bool:
        """An unseen macro or function that gets a status to check: it neither keeps nor changes anything."""
        values = [operand.held for operand in operands]
        if not values or not all(isinstance(value, int | float | str) for value in values):
            return False
        return any(isinstance(value, Status) for value in values) or _CHECK_NAME.search(last_name(name)) is not None

    def call(
        self, name: str, operands: list[Operand], span: Span, *, this: Cell | None = None, quiet: bool = False
    ) -> Operand:
        """A call into code nobody can see: it may use, order, free or replace whatever reaches it."""
        machine = self.machine
        machine.failures.asked()
        machine.run_late_threads()
        if this is None and self._is_check(name, operands):
            machine.not_understood(span, f"`{name}` is not visible here")
            return Operand(operands[0].value)
        reached: list[Value] = []
        for operand in operands:
            value = operand.held
            machine.reach.collect(value, reached)
            self._invalidate(operand, span)
        if this is not None:
            machine.reach.collect(this.value, reached)
            self._forget(this.value, last_name(name))
        machine.reach.escape(reached)
        machine.device.opaque_call(name, reached, span)
        if _TIMER_NAME.search(name):
            # It is likely to read a clock: what was awaited before it is what it times.
            machine.device.model.host_clock(machine.device.thread, machine.device.site(span))
        if not quiet and name:
            machine.not_understood(span, f"`{name}` is not visible here")
        if asks_for_success(last_name(name)):
            return Operand(1)
        return Operand(self._answer(name, operands, this, "opaque"))

    def _invalidate(self, operand: Operand, span: Span) -> None:
        """What unseen code gets the address of may hold anything afterwards."""
        value = operand.held
        if isinstance(value, BracedList):
            for item in value.operands:
                self._invalidate(item, span)
        elif isinstance(value, LibraryObject):
            value.handed_out()
        elif isinstance(value, CellPointer):
            self._replace(value.cell)
        elif isinstance(value, ElementPointer):
            array = value.array
            if isinstance(value.index, int) and (value.index in array.cells or array.written is not None):
                element = array.element
                if element is not None and (element.pointers or not self.machine.objects.is_class(element)):
                    self._replace(self.machine.objects.element(array, value.index))
        elif isinstance(value, StructObject) and operand.cell is not None:
            return
        elif operand.cell is not None and isinstance(value, Closure):
            for cell in value.captured.values():
                self._invalidate(Operand(cell=cell), span)

    def _replace(self, cell: Cell) -> None:
        machine = self.machine
        held = cell.value
        if isinstance(held, StructObject):
            self._forget(held, cell.name)
        elif isinstance(held, ArrayObject):
            held.cells.clear()
            held.symbol = machine.fresh(cell.name, "opaque")
        elif isinstance(held, LibraryObject):
            held.handed_out()
        elif not isinstance(held, FunctionValue | Closure):
            cell.value = machine.objects.unknown(cell.type, cell.name, "opaque")
            machine.objects.adopt(cell)

    def _forget(self, held: Value, name: str) -> None:
        """An object that unseen code may have changed: members that hold no live resource become unknown."""
        if not isinstance(held, StructObject):
            return
        for member in held.fields.values():
            if is_pointer(member.value) and not isinstance(member.value, SymbolPointer):
                continue
            if isinstance(member.value, Symbol) and member.value.origin == "uninitialised":
                member.value = self.machine.objects.unknown(member.type, member.name, "opaque")

    def hand_out(self, function: Function, operands: list[Operand]) -> None:
        """A function that is only declared gets objects that it may write: what was decided of them may be over."""
        machine = self.machine
        for parameter, operand in zip(function.parameters, operands, strict=False):
            type = parameter.type
            held = operand.held.cell.value if isinstance(operand.held, CellPointer) else operand.held
            if type.const or not (type.pointers or type.reference) or not isinstance(held, StructObject):
                continue
            numbers = [each.value for each in held.fields.values() if not each.type.pointers]
            machine.handed_out.update(
                each
                for each in numbers
                if isinstance(each, Symbol)
                and each.number not in machine.live_handles
                and machine.truth(each) is not None
            )
