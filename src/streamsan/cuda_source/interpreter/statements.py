"""Execution of statements: scopes, lifetimes, branches, and how control leaves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.frame import (
    BREAK,
    CONTINUE,
    Completion,
    Frame,
    MacroArgument,
    PathEnds,
    Scope,
    Thrown,
)
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    LibraryObject,
    Operand,
    StructObject,
    Value,
)
from streamsan.cuda_syntax.tree import (
    Alias,
    Block,
    Break,
    Case,
    Class,
    Continue,
    DoWhile,
    Enum,
    Expression,
    ExpressionStatement,
    For,
    Function,
    Goto,
    If,
    Label,
    Name,
    RangeFor,
    Return,
    Span,
    Statement,
    StatementExpression,
    Switch,
    Try,
    Type,
    UnparsedStatement,
    UsingNamespace,
    Variable,
    While,
)
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine

MOST_JUMPS = 16
"""Jumps of `goto` in one block."""


def end_of(span: Span) -> Span:
    """Return the place of a block's closing brace."""
    return Span(span.file, span.end_line, max(1, span.end_column - 1), span.end_line, span.end_column)


class Statements:
    """Executes the statements of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._handlers: dict[type[Statement], Callable[[Any], Completion | None]] = {
            Block: self._block,
            ExpressionStatement: self._expression,
            Variable: self._variable,
            If: self._if,
            For: lambda node: machine.loops.for_(node),
            RangeFor: lambda node: machine.loops.range_for(node),
            While: lambda node: machine.loops.while_(node),
            DoWhile: lambda node: machine.loops.do_while(node),
            Switch: self._switch,
            Case: self._nothing,
            Return: self._return,
            Break: lambda node: BREAK,
            Continue: lambda node: CONTINUE,
            Goto: lambda node: Completion("goto", label=node.label),
            Label: self._nothing,
            Try: self._try,
            UnparsedStatement: self._unparsed,
            Function: self._nothing,
            Class: self._local_declaration,
            Enum: self._local_declaration,
            Alias: self._local_declaration,
            UsingNamespace: self._local_declaration,
        }

    def execute(self, statement: Statement) -> Completion | None:
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

    # -- full expressions --------------------------------------------------------------------------

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

    def end_full_expression(self, span: Span) -> None:
        """Destroy the temporaries of the full-expression that ends, last first."""
        temporaries = self.machine.frame.temporaries
        while temporaries:
            self.machine.objects.destroy_value(temporaries.pop(), span)

    def _expression(self, node: ExpressionStatement) -> Completion | None:
        machine = self.machine
        machine.device.failures.discarded(machine.expressions.operand(node.expression).value)
        machine.device.failures.stored(node)
        completion, machine.pending_completion = machine.pending_completion, None
        self.end_full_expression(node.span)
        return completion

    # -- scopes ------------------------------------------------------------------------------------

    def end_scope(self, scope: Scope, span: Span) -> None:
        """End the lifetime of a scope's variables, last first."""
        machine = self.machine
        owned = scope.owned
        while owned:
            machine.objects.destroy(owned.pop(), span)

    def _block(self, node: Block) -> Completion | None:
        frame = self.machine.frame
        return self.in_scope(node.body, Scope(frame.scope), end_of(node.span))

    def in_scope(self, statements: list[Statement], scope: Scope, end: Span) -> Completion | None:
        """Run statements in a scope of their own, and end it however they end."""
        machine = self.machine
        frame = machine.frame
        outer = frame.scope
        frame.scope = scope
        dying: list[Cell] = []
        try:
            completion = self.sequence(statements)
            dying = list(scope.owned)
            if completion is not None and completion.kind == "return":
                machine.reach.protect(completion.value)
            self.end_scope(scope, end)
        except Thrown:
            self.end_scope(scope, end)
            raise
        finally:
            frame.scope = outer
        if dying:
            machine.reach.scope_ended(dying, end, completion)
        return completion

    def sequence(self, statements: list[Statement]) -> Completion | None:
        """Run statements in order; a `goto` to a label among them continues there."""
        position = jumps = 0
        while position < len(statements):
            completion = self.execute(statements[position])
            position += 1
            if completion is None:
                continue
            if completion.kind != "goto":
                return completion
            target = next(
                (i for i, s in enumerate(statements) if isinstance(s, Label) and s.label == completion.label), None
            )
            jumps += 1
            if target is None:
                return completion
            if jumps > MOST_JUMPS:
                self.machine.not_understood(statements[target].span, f"goto {completion.label} repeats too often")
                return None
            position = target
        return None

    def inline(self, statements: list[Statement], scope: Scope, span: Span) -> None:
        """Run a macro's statements where the macro is used; `return` and `break` in them leave the user's code."""
        completion = self.in_scope(statements, scope, span)
        if completion is not None:
            self.machine.pending_completion = completion

    def statement_expression(self, node: StatementExpression) -> Operand:
        """Evaluate a GNU statement expression."""
        machine = self.machine
        frame = machine.frame
        scope = Scope(frame.scope)
        outer = frame.scope
        frame.scope = scope
        statements = node.body.body
        result = Operand(None)
        try:
            last = statements[-1] if statements else None
            if isinstance(last, ExpressionStatement):
                completion = self.sequence(statements[:-1])
                if completion is None:
                    operand = machine.expressions.operand(last.expression)
                    result = Operand(machine.expressions.load(operand, last.span))
            else:
                completion = self.sequence(statements)
            if completion is not None:
                machine.pending_completion = completion
            self.end_scope(scope, end_of(node.span))
        finally:
            frame.scope = outer
        return result

    def body(self, block: Block, frame: Frame, returns: Type) -> Operand:
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
        return self._result(value, frame, returns)

    def _result(self, value: Value, frame: Frame, returns: Type) -> Operand:
        machine = self.machine
        if isinstance(value, ReturnedCell):
            return Operand(cell=value.cell)
        if isinstance(value, StructObject | LibraryObject):
            caller = machine.frames[-2] if len(machine.frames) > 1 else frame
            if not any(kept is value for kept in caller.temporaries):
                caller.temporaries.append(value)
            return Operand(value)
        return Operand(value)

    def _return(self, node: Return) -> Completion:
        machine = self.machine
        frame = machine.frame
        if node.value is None:
            return Completion("return", None, span=node.span)
        declared = frame.declaration
        returns = declared.returns if declared is not None else Type("auto")
        type = machine.program.resolve(returns, frame, machine.constant) if declared is not None else CType("auto")
        if type.reference == "&":
            cell = machine.expressions.cell(node.value)
            self.end_full_expression(node.span)
            return Completion("return", ReturnedCell(cell), span=node.span)
        value = self._returned(node.value, type, node.span)
        self.end_full_expression(node.span)
        pending, machine.pending_completion = machine.pending_completion, None
        return pending or Completion("return", value, span=node.span)

    def _returned(self, expression: Expression, type: CType, span: Span) -> Value:
        machine = self.machine
        from streamsan.cuda_syntax.tree import InitList

        if isinstance(expression, InitList):
            cell = Cell(None, type)
            target = machine.resolve(expression.type) if expression.type else type
            machine.objects.initialise_list(cell, target, expression)
            self.keep(cell.value)
            return cell.value
        operand = machine.expressions.operand(expression)
        if machine.pending_completion is not None:
            return None
        held = operand.cell.value if operand.cell is not None else operand.value
        if not isinstance(held, StructObject | LibraryObject):
            value = machine.expressions.load(operand, span)
            if isinstance(value, ArrayObject):
                return value
            if machine.objects.is_class(type):
                made = Cell(None, type)
                machine.objects.initialise(made, type, Operand(value), span)
                self.keep(made.value)
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
        self.keep(made.value)
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

    # -- declarations ------------------------------------------------------------------------------

    def _nothing(self, node: Statement) -> Completion | None:
        return None

    def _local_declaration(self, node: Statement) -> Completion | None:
        self.machine.program.add_local(node)
        return None

    def _variable(self, node: Variable) -> Completion | None:
        machine = self.machine
        frame = machine.frame
        if node.extern and node.initializer is None:
            if machine.global_cell(node.name) is None:
                type = machine.resolve(node.type)
                frame.scope.names[node.name] = Cell(machine.unknown_of(type, node.name, "undeclared"), type, node.name)
            return None
        if node.maybe_function and machine.program.find_functions(node.name, frame):
            return None
        if node.bindings:
            self._bind(node)
        elif node.static:
            self._static(node)
        else:
            self._declare(node)
            machine.device.failures.stored(node)
        completion, machine.pending_completion = machine.pending_completion, None
        self.end_full_expression(node.span)
        return completion

    def _declare(self, node: Variable) -> None:
        machine = self.machine
        frame = machine.frame
        type = machine.resolve(node.type)
        source = _source_of(node)
        if type.reference and source is not None:
            operand = machine.expressions.operand(source)
            held = operand.cell.value if operand.cell is not None else operand.value
            if operand.cell is not None:
                frame.scope.names[node.name] = operand.cell
                return
            cell = Cell(None, machine.expressions.type_of(operand) if type.name == "auto" else type.plain(), node.name,
                        span=node.span)  # fmt: skip
            if isinstance(held, ArrayObject):
                cell.value = held
            else:
                machine.objects.initialise(cell, cell.type, operand, node.span)
            machine.objects.adopt(cell)
            frame.scope.names[node.name] = cell
            frame.scope.owned.append(cell)
            return
        cell = Cell(None, type, node.name, span=node.span)
        if type.name in ("auto", "") and node.arguments is None and node.initializer is not None:
            self._declare_auto(cell, node, type)
        else:
            machine.objects.declare(cell, type, node)
        machine.objects.adopt(cell)
        frame.scope.names[node.name] = cell
        frame.scope.owned.append(cell)

    def _declare_auto(self, cell: Cell, node: Variable, type: CType) -> None:
        from streamsan.cuda_syntax.tree import InitList

        machine = self.machine
        assert node.initializer is not None
        if isinstance(node.initializer, InitList):
            target = machine.resolve(node.initializer.type) if node.initializer.type else type
            cell.type = target
            machine.objects.initialise_list(cell, target, node.initializer)
            return
        operand = machine.expressions.operand(node.initializer)
        deduced = machine.expressions.type_of(operand).bare()
        if deduced.array:
            deduced = deduced.element().pointer_to()
        cell.type = deduced
        machine.objects.initialise(cell, deduced, operand, node.span)

    def _static(self, node: Variable) -> None:
        machine = self.machine
        frame = machine.frame
        key = (id(node), tuple(sorted((k, repr(v)) for k, v in frame.bindings.items())))
        cell = machine.statics.get(key)
        if cell is None:
            type = machine.resolve(node.type)
            cell = Cell(0, type.plain(), node.name, kind=MemoryKind.HOST_STATIC, span=node.span)
            machine.statics[key] = cell
            constant = type.const or "constexpr" in node.type.name
            if type.reference and node.initializer is not None:
                cell = machine.expressions.cell(node.initializer)
                machine.statics[key] = cell
            elif machine.known_main or constant or machine.objects.is_class(type):
                if type.name in ("auto", "") and node.initializer is not None:
                    self._declare_auto(cell, node, type)
                else:
                    machine.objects.declare(cell, type, node, static=True)
                machine.globals.owned.append(cell)
            else:
                cell.value = machine.unknown_of(type, node.name, "parameter")
            machine.objects.adopt(cell)
        frame.scope.names[node.name] = cell

    def _bind(self, node: Variable) -> None:
        """`auto [a, b] = pair;`"""
        machine = self.machine
        frame = machine.frame
        source = _source_of(node)
        if source is None:
            return
        operand = machine.expressions.operand(source)
        whole = operand.cell
        if whole is None or not node.type.reference:
            whole = Cell(None, machine.expressions.type_of(operand).bare(), span=node.span)
            machine.objects.initialise(whole, whole.type, operand, node.span)
            machine.objects.adopt(whole)
            frame.scope.owned.append(whole)
        self.bind_names(node.bindings, whole, frame.scope)

    def bind_names(self, names: list[str], whole: Cell, scope: Scope) -> None:
        """Give the parts of an object the names of a structured binding."""
        machine = self.machine
        held = whole.value
        parts: list[Cell | None] = []
        if isinstance(held, StructObject) and held.cls is not None:
            parts = [machine.objects.field(held, field.name) for field, _ in machine.objects.all_fields(held.cls)]
        elif isinstance(held, ArrayObject):
            parts = [machine.objects.element(held, index) for index in range(len(names))]
        elif isinstance(held, LibraryObject):
            parts = [part if isinstance(part, Cell) else None for part in held.parts()]
        for position, name in enumerate(names):
            part = parts[position] if position < len(parts) else None
            scope.names[name] = part or Cell(machine.fresh(name, "opaque"), CType("auto"), name)

    # -- branches ----------------------------------------------------------------------------------

    def _if(self, node: If) -> Completion | None:
        machine = self.machine
        frame = machine.frame
        outer = frame.scope
        scope = Scope(outer)
        frame.scope = scope
        try:
            if node.init is not None:
                completion = self.execute(node.init)
                if completion is not None:
                    return completion
            condition = machine.expressions.condition(machine.expressions.operand(node.condition), node.condition.span)
            self.end_full_expression(node.span)
            pending, machine.pending_completion = machine.pending_completion, None
            if pending is not None:
                return pending
            completion = self._branch(node, condition)
            self.end_scope(scope, end_of(node.span))
        except Thrown:
            self.end_scope(scope, end_of(node.span))
            raise
        finally:
            frame.scope = outer
        return completion

    def _branch(self, node: If, condition: Value) -> Completion | None:
        machine = self.machine
        if machine.truth(condition) is None and machine.loops.skips(node):
            return None
        answer, known = machine.decide(condition)
        chosen = node.then if answer else node.otherwise
        if chosen is None:
            return None
        if known:
            return self.execute(chosen)
        machine.enter_conditional()
        try:
            return self.execute(chosen)
        finally:
            machine.leave_conditional()

    def _switch(self, node: Switch) -> Completion | None:
        machine = self.machine
        value = machine.known(machine.expressions.value(node.value))
        self.end_full_expression(node.span)
        statements = node.body.body if isinstance(node.body, Block) else [node.body]
        start, known = self._switch_start(value, statements)
        if start is None:
            return None
        if not known:
            machine.enter_conditional()
        try:
            completion = self.in_scope(statements[start:], Scope(machine.frame.scope), end_of(node.span))
        finally:
            if not known:
                machine.leave_conditional()
        return None if completion is BREAK else completion

    def _switch_start(self, value: Value, statements: list[Statement]) -> tuple[int | None, bool]:
        machine = self.machine
        default: int | None = None
        known = True
        for position, statement in enumerate(statements):
            if not isinstance(statement, Case):
                continue
            if statement.value is None:
                default = position
                continue
            question = machine.expressions.operators.compare("==", value, machine.expressions.value(statement.value))
            answer, decided = machine.decide(question)
            known = known and decided
            if answer:
                return position, known
        return default, known

    def _try(self, node: Try) -> Completion | None:
        machine = self.machine
        depth = len(machine.frames)
        scope = machine.frame.scope
        try:
            return self.execute(node.body)
        except Thrown:
            del machine.frames[depth:]
            machine.frame.scope = scope
            if not node.handlers:
                raise
            return self.execute(node.handlers[0])

    def _unparsed(self, node: UnparsedStatement) -> Completion | None:
        for child in node.children:
            self.machine.expressions.operand(child)
            self.end_full_expression(node.span)
        return None


def _source_of(node: Variable) -> Expression | None:
    """Return the expression that a reference or structured binding is bound to."""
    if node.initializer is not None:
        return node.initializer
    return node.arguments[0] if node.arguments else None


class ReturnedCell(LibraryObject):
    """The result of a function that returns a reference."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell: Cell = cell

    def parts(self) -> list[Any]:
        """The cell."""
        return [self.cell]


__all__ = ["MacroArgument", "Statements", "end_of"]
