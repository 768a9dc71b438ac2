"""Execution of statements: scopes, lifetimes, branches, and how control leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from streamsan.cuda_source.device.source_sites import end_of
from streamsan.cuda_source.language.branches import Branches
from streamsan.cuda_source.language.local_variables import Declarations
from streamsan.cuda_source.language.loops import Loops
from streamsan.cuda_source.language.returns import Returns
from streamsan.cuda_source.language.summaries import Summaries
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import LibraryObject, Operand, Scope, StructObject, Value
from streamsan.cuda_source.values.frame import BREAK, CONTINUE, Completion, Frame, PathEnds, Thrown, UnderWay
from streamsan.cuda_syntax import tree

MOST_JUMPS = 16
"""Jumps of `goto` in one block."""


class Statements:
    """Executes the statements of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._returns = Returns(machine)
        summaries = Summaries(machine)
        declarations = Declarations(machine)
        branches = Branches(machine, summaries)
        loops = Loops(machine, declarations, summaries)
        self._handlers: dict[type[tree.Statement], Callable[[Any], Completion | None]] = {
            tree.Block: self._block,
            tree.ExpressionStatement: self._expression,
            tree.Variable: declarations.declare,
            tree.If: branches.if_,
            tree.For: loops.for_,
            tree.RangeFor: loops.range_for,
            tree.While: loops.while_,
            tree.DoWhile: loops.do_while,
            tree.Switch: branches.switch,
            tree.Case: self._nothing,
            tree.Return: self._returns.completion,
            tree.Break: lambda node: BREAK,
            tree.Continue: lambda node: CONTINUE,
            tree.Goto: lambda node: Completion("goto", label=node.label),
            tree.Label: self._nothing,
            tree.Try: self._try,
            tree.UnparsedStatement: self._unparsed,
            tree.Function: self._nothing,
            tree.Class: self._local_declaration,
            tree.Enum: self._local_declaration,
            tree.Alias: self._local_declaration,
            tree.UsingNamespace: self._local_declaration,
        }

    def execute(self, statement: tree.Statement) -> Completion | None:
        """Execute one statement."""
        machine = self.machine
        machine.step(statement.span)
        machine.nesting += 1
        if machine.nesting > machine.limits.nesting:
            machine.nesting -= 1
            raise PathEnds("nested too deeply to follow", statement.span)
        try:
            return self._handlers[type(statement)](statement)
        finally:
            machine.nesting -= 1

    def temporary(self, value: Value) -> Value:
        """Register an object that the full-expression under evaluation made; it dies when that ends."""
        if isinstance(value, StructObject | LibraryObject):
            self.machine.frame.temporaries.append(value)
        return value

    def keep(self, value: Value) -> Value:
        """A temporary becomes a variable, member or result: its lifetime is the new owner's."""
        for frame in reversed(self.machine.frames):
            for position in range(len(frame.temporaries) - 1, -1, -1):
                if frame.temporaries[position] is value:
                    del frame.temporaries[position]
                    return value
        return value

    def end_full_expression(self, span: tree.Span) -> None:
        """Destroy the temporaries of the full-expression that ends, last first."""
        temporaries = self.machine.frame.temporaries
        while temporaries:
            self.machine.objects.destroy_value(temporaries.pop(), span)

    def settle(self, span: tree.Span) -> Completion | None:
        """End the full-expression; returns the `return` or `break` that a macro's statements in it came to."""
        completion, self.machine.pending_completion = self.machine.pending_completion, None
        self.end_full_expression(span)
        return completion

    def _expression(self, node: tree.ExpressionStatement) -> Completion | None:
        machine = self.machine
        machine.failures.discarded(machine.expressions.operand(node.expression).value)
        machine.failures.stored(node)
        machine.made_names.stored(node)
        return self.settle(node.span)

    def end_scope(self, scope: Scope, span: tree.Span) -> None:
        """End the lifetime of a scope's variables, last first."""
        owned = scope.owned
        while owned:
            self.machine.objects.destroy(owned.pop(), span)

    def _block(self, node: tree.Block) -> Completion | None:
        frame = self.machine.frame
        return self.in_scope(node.body, Scope(frame.scope), end_of(node.span))

    def in_scope(self, statements: list[tree.Statement], scope: Scope, end: tree.Span) -> Completion | None:
        """Run statements in a scope of their own, and end it however they end."""
        reach = self.machine.reach
        with self.opened(scope, end):
            completion = self.sequence(statements)
            dying = list(scope.owned)
            if completion is not None and completion.kind == "return":
                reach.protect(completion.value)
        if dying:
            reach.scope_ended(dying, end, completion)
        return completion

    @contextmanager
    def opened(self, scope: Scope, end: tree.Span) -> Iterator[None]:
        """Run in a scope for a while; then, or when an exception leaves it, its variables end."""
        with self.machine.frame.within(scope):
            try:
                yield
            except Thrown:
                self.end_scope(scope, end)
                raise
            self.end_scope(scope, end)

    def sequence(self, statements: list[tree.Statement]) -> Completion | None:
        """Run statements in order; a `goto` to a label among them continues there."""
        with self.machine.frame.following(statements) as under_way:
            return self._in_order(statements, under_way)

    def _in_order(self, statements: list[tree.Statement], under_way: UnderWay) -> Completion | None:
        position = jumps = 0
        while position < len(statements):
            statement = statements[position]
            position += 1
            under_way.next = position
            completion = self.execute(statement)
            if completion is None:
                continue
            if completion.kind != "goto":
                return completion
            target = next(
                (i for i, s in enumerate(statements) if isinstance(s, tree.Label) and s.label == completion.label), None
            )
            jumps += 1
            if target is None:
                return completion
            if jumps > MOST_JUMPS:
                self.machine.not_understood(statements[target].span, f"goto {completion.label} repeats too often")
                return None
            position = target
        return None

    def inline(self, statements: list[tree.Statement], scope: Scope, span: tree.Span) -> None:
        """Run a macro's statements where the macro is used; `return` and `break` in them leave the user's code."""
        completion = self.in_scope(statements, scope, span)
        if completion is not None:
            self.machine.pending_completion = completion

    def statement_expression(self, node: tree.StatementExpression) -> Operand:
        """Evaluate a GNU statement expression."""
        machine = self.machine
        scope = Scope(machine.frame.scope)
        statements = node.body.body
        result = Operand(None)
        with machine.frame.within(scope):
            last = statements[-1] if statements else None
            if isinstance(last, tree.ExpressionStatement):
                completion = self.sequence(statements[:-1])
                if completion is None:
                    operand = machine.expressions.operand(last.expression)
                    result = Operand(machine.expressions.load(operand, last.span))
            else:
                completion = self.sequence(statements)
            if completion is not None:
                machine.pending_completion = completion
            self.end_scope(scope, end_of(node.span))
        return result

    def body(self, block: tree.Block, frame: Frame, returns: tree.Type) -> Operand:
        """Run a function's body in its frame and return its result; ends the parameters' lifetime."""
        machine = self.machine
        span = end_of(block.span)
        try:
            completion = self.in_scope(block.body, Scope(frame.scope), span)
            value = completion.value if completion is not None and completion.kind == "return" else None
            returned_at = (completion.span if completion is not None else None) or span
            if completion is not None and completion.kind == "goto":
                machine.not_understood(span, f"goto {completion.label}: the label is not around it")
            dying = list(frame.outermost.owned)
            self.end_scope(frame.outermost, span)
            self.end_full_expression(span)
            if dying:
                machine.reach.protect(value)
                machine.reach.scope_ended(dying, span, completion)
        except Thrown:
            self.end_scope(frame.outermost, span)
            self.end_full_expression(span)
            raise
        machine.returned_at = returned_at
        return self._returns.operand(value, frame, returns)

    def _nothing(self, node: tree.Statement) -> Completion | None:
        return None

    def _local_declaration(self, node: tree.Statement) -> Completion | None:
        self.machine.program.add_local(node)
        return None

    def _try(self, node: tree.Try) -> Completion | None:
        machine = self.machine
        depth = len(machine.frames)
        scope = machine.frame.scope
        try:
            return self.execute(node.body)
        except Thrown as thrown:
            del machine.frames[depth:]
            machine.frame.scope = scope
            if not node.handlers:
                raise
            last = len(machine.decisions.taken) - 1
            completion = self.execute(node.handlers[0])
            if completion is None and thrown.conditional > machine.conditional and self._is_expected(node, thrown):
                machine.decisions.either_way.add(last)
            return completion

    def _is_expected(self, node: tree.Try, thrown: Thrown) -> bool:
        """Tell whether an exception is one of the program's own that a loop goes on from: no end, but an outcome."""
        own = isinstance(thrown.value, StructObject) and thrown.value.cls is not None
        return own and len(node.handlers) == 1 and self.machine.loop_depth > 0

    def _unparsed(self, node: tree.UnparsedStatement) -> Completion | None:
        for child in node.children:
            self.machine.expressions.operand(child)
            self.end_full_expression(node.span)
        return None
