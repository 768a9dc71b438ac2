"""Uses of macros: their bodies in place of the use, their arguments in the scope where they were written."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell, MacroArgument, Operand, Scope
from streamsan.cuda_syntax.tree import Call, Expression, Macro, Span


class Macros:
    """Expands the macros of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def in_scope_of(self, argument: MacroArgument, evaluate: Any) -> Any:
        """Evaluate an argument of a macro in the scope, and at the place, where it was written."""
        sites = self.machine.device.sites
        spans, sites.macros = sites.macros, sites.macros[:-1]
        try:
            with self.machine.frame.within(_at_use(argument, self.machine.frame.scope)):
                return evaluate(argument.expression)
        finally:
            sites.macros = spans

    def argument(self, argument: MacroArgument) -> Operand:
        """Evaluate an argument of a macro in the scope where it was written."""

        def evaluate(expressions: list[Expression]) -> Operand:
            result = Operand(None)
            for expression in expressions:
                result = self.machine.expressions.operand(expression)
            return result

        found: Operand = self.in_scope_of(argument, evaluate)
        return found

    def use(self, macro: Macro, span: Span) -> Operand:
        """Evaluate a use of an object-like macro."""
        machine = self.machine
        if macro.expression is None and macro.statements is None:
            if macro.text.strip():
                machine.not_understood(span, f"macro {macro.name}")
                return Operand(machine.names.undeclared(macro.name))
            return Operand(None)
        return self._expanded(macro, Scope(machine.frame.scope), span)

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
        return self._expanded(macro, scope, node.span)

    def _expanded(self, macro: Macro, scope: Scope, span: Span) -> Operand:
        """Evaluate a macro's body, which stands where the macro is used."""
        machine = self.machine
        frame, sites = machine.frame, machine.device.sites
        frame.expanding.add(macro.name)
        sites.macros.append(span)
        try:
            with frame.within(scope):
                if macro.expression is not None:
                    return machine.expressions.operand(macro.expression)
                machine.statements.inline(macro.statements or [], scope, span)
                return Operand(None)
        finally:
            if sites.macros:
                sites.macros.pop()
            frame.expanding.discard(macro.name)


def _at_use(argument: MacroArgument, scope: Scope) -> Scope:
    """Return the scope in which a macro's body names its argument: the body's own variables are in it, too.

    `NEW(queue, clCreateCommandQueue(context, device, 0, &err))`: `err` may be a variable of the macro's.
    """
    own: dict[str, Cell | MacroArgument] = {}
    around: Scope | None = scope
    while around is not None and around is not argument.scope:
        for name, found in around.names.items():
            if isinstance(found, Cell):
                own.setdefault(name, found)
        around = around.parent
    if around is None or not own:
        return argument.scope
    inner = Scope(argument.scope)
    inner.names = own
    return inner
