"""Uses of macros: their bodies in place of the use, their arguments in the scope where they were written."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.machine import Machine
from streamsan.cuda_source.interpreter.values import MacroArgument, Operand, Scope
from streamsan.cuda_syntax.tree import (
    Call,
    Expression,
    Macro,
    Span,
)


class Macros:
    """Expands the macros of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def in_scope_of(self, argument: MacroArgument, evaluate: Any) -> Any:
        """Evaluate an argument of a macro in the scope, and at the place, where it was written."""
        frame = self.machine.frame
        scope, spans = frame.scope, self.machine.device.leave_macro()
        frame.scope = argument.scope
        try:
            return evaluate(argument.expression)
        finally:
            frame.scope = scope
            self.machine.device.enter_macros(spans)

    def argument(self, argument: MacroArgument) -> Operand:
        """Evaluate an argument of a macro in the scope where it was written."""
        machine = self.machine

        def evaluate(expressions: list[Expression]) -> Operand:
            result = Operand(None)
            for expression in expressions:
                result = machine.expressions.operand(expression)
            return result

        found: Operand = self.in_scope_of(argument, evaluate)
        return found

    def use(self, macro: Macro, span: Span) -> Operand:
        """Evaluate a use of an object-like macro."""
        machine = self.machine
        frame = machine.frame
        if macro.expression is None and macro.statements is None:
            if macro.text.strip():
                machine.not_understood(span, f"macro {macro.name}")
                return Operand(machine.names.undeclared(macro.name))
            return Operand(None)
        frame.expanding.add(macro.name)
        machine.device.enter_macro(span)
        try:
            if macro.expression is not None:
                return machine.expressions.operand(macro.expression)
            assert macro.statements is not None
            machine.statements.inline(macro.statements, Scope(frame.scope), span)
            return Operand(None)
        finally:
            machine.device.leave_macro_once()
            frame.expanding.discard(macro.name)

    def call(self, macro: Macro, node: Call) -> Operand:
        """Evaluate a use of a function-like macro: its parameters name the argument trees."""
        machine = self.machine
        frame = machine.frame
        if macro.expression is None and macro.statements is None:
            if not macro.text.strip():
                return Operand(None)
            return machine.unseen.call(macro.name, machine.calls.operands(node.arguments), node.span)
        if macro.redefined:
            machine.not_understood(node.span, f"macro {macro.name} has several definitions; the last is taken")
        scope = Scope(frame.scope)
        parameters = macro.parameters or []
        for position, name in enumerate(parameters):
            arguments = node.arguments[position : position + 1]
            if macro.variadic and position == len(parameters) - 1:
                arguments = node.arguments[position:]
            scope.names[name] = MacroArgument(list(arguments), frame.scope)
        if macro.variadic:
            named = [name for name in parameters if name not in ("...", "__VA_ARGS__")]
            rest = node.arguments[len(named) if len(named) < len(parameters) else len(parameters) :]
            if "__VA_ARGS__" not in scope.names:
                scope.names["__VA_ARGS__"] = MacroArgument(list(rest), frame.scope)
        frame.expanding.add(macro.name)
        outer = frame.scope
        machine.device.enter_macro(node.span)
        frame.scope = scope
        try:
            if macro.expression is not None:
                return machine.expressions.operand(macro.expression)
            assert macro.statements is not None
            machine.statements.inline(macro.statements, scope, node.span)
            return Operand(None)
        finally:
            frame.scope = outer
            machine.device.leave_macro_once()
            frame.expanding.discard(macro.name)
