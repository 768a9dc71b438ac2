"""What `return` hands to the caller: a reference, a local without a copy, a value of the declared type."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.frame import Completion, Frame
from streamsan.cuda_source.interpreter.machine import Machine
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    LibraryObject,
    Operand,
    Scope,
    StructObject,
    Value,
)
from streamsan.cuda_syntax.tree import Expression, Name, Return, Span, Type


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
        return Operand(value)

    def completion(self, node: Return) -> Completion:
        """Evaluate a `return` statement."""
        machine = self.machine
        frame = machine.frame
        if node.value is None:
            return Completion("return", None, span=node.span)
        declared = frame.declaration
        returns = declared.returns if declared is not None else Type("auto")
        type = machine.resolve_in(returns, frame) if declared is not None else CType("auto")
        if type.reference == "&":
            cell = machine.expressions.cell(node.value)
            machine.statements.end_full_expression(node.span)
            return Completion("return", ReturnedCell(cell), span=node.span)
        value = self._returned(node.value, type, node.span)
        machine.statements.end_full_expression(node.span)
        pending, machine.pending_completion = machine.pending_completion, None
        return pending or Completion("return", value, span=node.span)

    def _returned(self, expression: Expression, type: CType, span: Span) -> Value:
        machine = self.machine
        from streamsan.cuda_syntax.tree import InitList

        if isinstance(expression, InitList):
            cell = Cell(None, type)
            target = machine.resolve(expression.type) if expression.type else type
            machine.objects.initialise_list(cell, target, expression)
            machine.statements.keep(cell.value)
            return cell.value
        operand = machine.expressions.operand(expression)
        if machine.pending_completion is not None:
            return None
        held = operand.held
        if not isinstance(held, StructObject | LibraryObject):
            value = machine.expressions.load(operand, span)
            if isinstance(value, ArrayObject):
                return value
            if machine.objects.is_class(type):
                made = Cell(None, type)
                machine.objects.initialise(made, type, Operand(value), span)
                machine.statements.keep(made.value)
                return made.value
            return machine.objects.convert(value, type)
        local = self._local_owner(operand.cell, expression)
        if local is not None:
            local.owned.remove(operand.cell)  # type: ignore[arg-type]
            if isinstance(held, StructObject) and machine.objects.is_class(type) and self._differs(held, type):
                made = Cell(None, type)
                machine.objects.initialise(made, type, Operand(cell=operand.cell, moved=True), span)
                return made.value
            return held
        made = Cell(None, type)
        moved = operand.moved or (operand.cell is not None and self._is_parameter(operand.cell))
        wanted = type if type.name not in ("auto", "") else CType("auto")
        machine.objects.initialise(made, wanted, Operand(operand.value, operand.cell, moved), span)
        machine.statements.keep(made.value)
        return made.value

    def _differs(self, held: StructObject, type: CType) -> bool:
        return held.cls is not None and not held.cls.is_a(type.name)

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

    def _is_parameter(self, cell: Cell) -> bool:
        return any(owned is cell for owned in self.machine.frame.outermost.owned)


class ReturnedCell(LibraryObject):
    """The result of a function that returns a reference."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell: Cell = cell

    def parts(self) -> list[Any]:
        """The cell."""
        return [self.cell]
