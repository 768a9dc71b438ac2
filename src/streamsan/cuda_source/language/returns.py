"""What `return` hands to the caller: a reference, a local without a copy, a value of the declared type."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    LibraryObject,
    Operand,
    Scope,
    StructObject,
    Value,
)
from streamsan.cuda_source.values.frame import Completion, Frame
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Expression, InitList, Name, Return, Span, Type


class Returns:
    """Evaluates the results of one path's functions."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def operand(self, value: Value, frame: Frame, returns: Type) -> Operand:
        """Return a result as the caller gets it: an object is a temporary of the caller's full-expression."""
        if isinstance(value, ReturnedCell):
            return Operand(cell=value.cell)
        if isinstance(value, StructObject | LibraryObject):
            caller = self.machine.frames[-2] if len(self.machine.frames) > 1 else frame
            if not any(kept is value for kept in caller.temporaries):
                caller.temporaries.append(value)
        return Operand(value)

    def completion(self, node: Return) -> Completion:
        """Evaluate a `return` statement."""
        machine = self.machine
        frame = machine.frame
        if node.value is None:
            return Completion("return", None, span=node.span)
        declared = frame.declaration
        type = machine.resolve_in(declared.returns, frame) if declared is not None else CType("auto")
        if type.reference == "&":
            cell = machine.expressions.cell(node.value)
            machine.statements.end_full_expression(node.span)
            return Completion("return", ReturnedCell(cell), span=node.span)
        value = self._returned(node.value, type, node.span)
        pending = machine.statements.settle(node.span)
        return pending or Completion("return", value, span=node.span)

    def _returned(self, expression: Expression, type: CType, span: Span) -> Value:
        machine = self.machine
        if isinstance(expression, InitList):
            cell = Cell(None, type)
            target = machine.resolve(expression.type) if expression.type else type
            machine.objects.initialise_list(cell, target, expression)
            return machine.statements.keep(cell.value)
        operand = machine.expressions.operand(expression)
        if machine.pending_completion is not None:
            return None
        held = operand.held
        if not isinstance(held, StructObject | LibraryObject):
            value = machine.expressions.load(operand, span)
            if isinstance(value, ArrayObject):
                return value
            if machine.objects.is_class(type):
                return self._made(type, Operand(value), span)
            return machine.objects.convert(value, type)
        local = self._local_owner(operand.cell, expression)
        if local is not None:
            local.owned.remove(operand.cell)  # type: ignore[arg-type]
            differs = isinstance(held, StructObject) and held.cls is not None and not held.cls.is_a(type.name)
            if differs and machine.objects.is_class(type):
                made = Cell(None, type)
                machine.objects.initialise(made, type, Operand(cell=operand.cell, moved=True), span)
                return made.value
            return held
        moved = operand.moved or any(owned is operand.cell for owned in machine.frame.outermost.owned)
        return self._made(type, Operand(operand.value, operand.cell, moved), span)

    def _made(self, type: CType, operand: Operand, span: Span) -> Value:
        """Return an object that is initialised from an operand, and lives on in the caller."""
        made = Cell(None, type)
        wanted = type if type.name not in ("auto", "") else CType("auto")
        self.machine.objects.initialise(made, wanted, operand, span)
        return self.machine.statements.keep(made.value)

    def _local_owner(self, cell: Cell | None, expression: Expression) -> Scope | None:
        """The scope of a local whose return by name elides the copy; parameters are moved instead."""
        if cell is None or not isinstance(expression, Name):
            return None
        scope: Scope | None = self.machine.frame.scope
        while scope is not None and scope is not self.machine.frame.outermost:
            if any(owned is cell for owned in scope.owned):
                return scope
            scope = scope.parent
        return None


class ReturnedCell(LibraryObject):
    """The result of a function that returns a reference."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell: Cell = cell

    def parts(self) -> list[Any]:
        """The cell."""
        return [self.cell]
