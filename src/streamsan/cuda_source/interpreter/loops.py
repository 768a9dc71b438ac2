"""Loops: run, run in part, or summarised."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.frame import BREAK, CONTINUE, Completion, Scope, Thrown
from streamsan.cuda_source.interpreter.relevance import Relevance
from streamsan.cuda_source.interpreter.statements import end_of
from streamsan.cuda_source.interpreter.terms import condition as strip
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Native,
    Operand,
    StructObject,
    SymbolPointer,
    Term,
    Value,
    is_pointer,
)
from streamsan.cuda_syntax.tree import (
    Assign,
    Binary,
    Block,
    DoWhile,
    Expression,
    For,
    Function,
    If,
    Index,
    Literal_,
    Name,
    RangeFor,
    Span,
    Statement,
    Unary,
    Variable,
    While,
)
from streamsan.model.values import Handle, Symbol
from streamsan.vocabulary import AccessMode

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine


class Loops:
    """Executes the loops of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.relevance: Relevance = machine.program_relevance()
        self.depth = 0
        """Loops around the statement under execution, over all activations."""

    def callee_acts(self, callee: Value) -> bool:
        """Tell whether calling a value may do more than compute numbers."""
        if isinstance(callee, Closure):
            return self.closure_issues(callee) or bool(self.relevance.assigned(callee.node.body))
        if isinstance(callee, StructObject) and callee.cls is not None:
            found = callee.cls.find_method("operator()")
            return found is not None and self._functions_act(found[0])
        if isinstance(callee, FunctionValue):
            return self._functions_act(callee.functions)
        return isinstance(callee, Native)

    def closure_issues(self, closure: Closure) -> bool:
        """Tell whether calling a lambda may issue operations."""
        body: Any = closure.node.body
        return self.relevance.expression_acts(body)

    def _functions_act(self, functions: list[Function]) -> bool:
        return any(each.body is None or self.relevance.body_acts(each) for each in functions)

    # -- summaries ---------------------------------------------------------------------------------

    def skips(self, node: If) -> bool:
        """Summarise an undecided `if` whose branches do nothing of interest; True if that was possible."""
        branches = [node.then] + ([node.otherwise] if node.otherwise is not None else [])
        if any(self.relevance.statement_acts(branch) for branch in branches):
            return False
        return self._summarise(branches, node.span, conditional=True)

    def _summarise(
        self, parts: list[Any], span: Span, *, conditional: bool = False, counted: tuple[str, int] | None = None
    ) -> bool:
        """Do at once what running the parts could do to numbers and buffers; False if more could change.

        `counted`: the induction variable, and how often the loop runs, where it counts up from 0 by 1.
        """
        machine = self.machine
        targets = [target for part in parts for target in self.relevance.assigned(part)]
        declared = {name for part in parts for name in self.relevance.declares(part)}
        cells: list[Cell] = []
        for target in targets:
            if isinstance(target, Name):
                if target.name in declared:
                    continue
                operand = machine.expressions.operand(target)
                cell = operand.cell
                if cell is None or not self._is_number(cell):
                    return False
                cells.append(cell)
            elif not self._writes_numbers(target, declared):
                return False
        varying = declared | {target.name for target in targets if isinstance(target, Name)}
        for part in parts:
            for base, writes, indexing in self.relevance.accessed(part):
                self._touch(base, varying, writes, self._bytes(indexing, counted))
        for cell in cells:
            cell.value = machine.fresh(cell.name, "opaque")
        for target in targets:
            self._forget_elements(target, declared)
        return True

    def _is_number(self, cell: Cell) -> bool:
        value = cell.value
        if cell.type.pointers or isinstance(value, Handle | LibraryObject | StructObject) or is_pointer(value):
            return False
        return not (isinstance(value, Symbol) and value.number in self.machine.live_handles)

    def _writes_numbers(self, target: Expression, declared: set[str]) -> bool:
        """Tell whether an element or member that is assigned holds no pointer and no handle."""
        machine = self.machine
        names = set(self.relevance.names_in(target))
        if names & declared:
            base = target
            while not isinstance(base, Name):
                inner = next((c for c in _bases(base)), None)
                if inner is None:
                    return False
                base = inner
            if base.name in declared:
                return True
        type = machine.expressions.static_type(target)
        if type.name in ("", "auto", "void") or type.pointers:
            return False
        return not machine.objects.is_class(type) and type.name not in ("cudaStream_t", "cudaEvent_t", "CUdeviceptr")

    def _base_value(self, base: Expression, declared: set[str]) -> Value:
        if set(self.relevance.names_in(base)) & declared:
            return None
        if not isinstance(base, Name) and self.relevance.expression_acts(base):
            return None
        return self.machine.expressions.value(base)

    def _bytes(self, indexing: Index | None, counted: tuple[str, int] | None) -> int | None:
        """Return how much of a buffer a loop walks over: known where the index is the induction variable itself."""
        if indexing is None or counted is None or not isinstance(indexing.index, Name):
            return None
        name, count = counted
        size = self.machine.objects.size_of(self.machine.expressions.static_type(indexing))
        return None if indexing.index.name != name or size is None else count * size

    def _touch(self, base: Expression, varying: set[str], writes: bool, size: int | None) -> None:
        """Issue the accesses of a loop to one buffer; a base that varies with the loop stands for all it can be."""
        machine = self.machine
        mode = AccessMode.WRITE if writes else AccessMode.READ
        place = base.span
        every = False
        while set(self.relevance.names_in(base)) & varying:
            inner = next(_bases(base), None)
            if inner is None:
                return
            base, every = inner, True
        value = self._base_value(base, varying)
        if isinstance(value, LibraryObject):
            value = next((part for part in value.parts() if isinstance(part, ArrayObject)), None)
        if isinstance(value, ArrayObject):
            value = ElementPointer(value, 0)
        if not is_pointer(value):
            return
        machine.device.memory.access_value(value, None if every else size, mode, place)
        if every and isinstance(value, ElementPointer):
            for cell in list(value.array.cells.values())[: machine.limits.iterations]:
                if is_pointer(cell.value):
                    machine.device.memory.access_value(cell.value, None, mode, place)

    def _forget_elements(self, target: Expression, declared: set[str]) -> None:
        base: Expression = target
        while True:
            inner = next(_bases(base), None)
            if inner is None:
                break
            base = inner
        if base is target:
            return
        value = self._base_value(base, declared)
        if isinstance(value, ElementPointer):
            value.array.cells = {
                key: cell for key, cell in value.array.cells.items() if not isinstance(cell.value, int | float)
            }
            if value.array.origin == "zero":
                value.array.origin = "opaque"

    # -- for ---------------------------------------------------------------------------------------

    def for_(self, node: For) -> Completion | None:
        """Run a `for` loop."""
        machine = self.machine
        frame = machine.frame
        outer = frame.scope
        scope = Scope(outer)
        frame.scope = scope
        try:
            for part in node.init:
                completion = machine.statements.execute(part)
                if completion is not None:
                    return completion
            completion = self._for(node)
            machine.statements.end_scope(scope, end_of(node.span))
        except Thrown:
            machine.statements.end_scope(scope, end_of(node.span))
            raise
        finally:
            frame.scope = outer
        return completion

    def _for(self, node: For) -> Completion | None:
        machine = self.machine
        parts = [part for part in (node.condition, node.step, node.body) if part is not None]
        if (
            not self.relevance.loop_acts(node.body)
            and not any(
                part is not None and self.relevance.expression_acts(part) for part in (node.condition, node.step)
            )
            and self._summarise(parts, node.span, counted=self._counted(node))
        ):
            return None
        self._assume_bound(node)

        def step() -> None:
            if node.step is not None:
                machine.expressions.operand(node.step)
                machine.statements.end_full_expression(node.span)

        return self._run(node.condition, node.body, step, node.span, self._induction(node))

    def _counted(self, node: For) -> tuple[str, int] | None:
        """Return the induction variable's name and how often the loop runs, if it counts up from 0 by 1."""
        induction = self._induction(node)
        if induction is None or not isinstance(node.condition, Binary) or not isinstance(node.condition.left, Name):
            return None
        cell, amount, last = induction
        return (node.condition.left.name, last + 1) if amount == 1 and self.machine.known(cell.value) == 0 else None

    def _induction(self, node: For) -> tuple[Cell, int, int] | None:
        """Return the induction variable, its step and its last value, if they are known."""
        machine = self.machine
        step = _step_of(node.step)
        condition = node.condition
        if step is None or not isinstance(condition, Binary) or not isinstance(condition.left, Name):
            return None
        name, amount_node, sign = step
        if condition.left.name != name or condition.operator not in ("<", "<=", ">", ">=", "!="):
            return None
        cell = machine.expressions.operand(condition.left).cell
        if cell is None or self.relevance.expression_acts(condition.right):
            return None
        amount = 1 if amount_node is None else machine.known(machine.expressions.value(amount_node))
        bound = machine.known(machine.expressions.value(condition.right))
        start = machine.known(cell.value)
        if not (isinstance(amount, int) and isinstance(bound, int) and isinstance(start, int)) or amount <= 0:
            return None
        amount *= sign
        if condition.operator in ("<=", ">="):
            bound += 1 if amount > 0 else -1
        count = -(-(bound - start) // amount)
        return (cell, amount, start + amount * (count - 1)) if count > 0 else None

    def _assume_bound(self, node: For) -> None:
        """A loop of unknown length runs a few times: its bound is taken to be that, in conditions from here on."""
        machine = self.machine
        step = _step_of(node.step)
        condition = node.condition
        if step is None or not isinstance(condition, Binary) or not isinstance(condition.left, Name):
            return
        name, amount_node, sign = step
        if sign < 0 or condition.left.name != name or condition.operator not in ("<", "<=", "!="):
            return
        if self.relevance.expression_acts(condition.right):
            return
        start = machine.known(machine.expressions.value(condition.left))
        bound = machine.known(machine.expressions.value(condition.right))
        amount = 1 if amount_node is None else machine.known(machine.expressions.value(amount_node))
        if isinstance(start, int) and isinstance(amount, int) and isinstance(bound, Symbol | Term) and amount > 0:
            last = start + amount * machine.limits.unknown_iterations
            machine.assumed[bound] = last - amount if condition.operator == "<=" else last

    # -- while -------------------------------------------------------------------------------------

    def while_(self, node: While) -> Completion | None:
        """Run a `while` loop."""
        quiet = not self.relevance.loop_acts(node.body) and not self.relevance.expression_acts(node.condition)
        if quiet and self._summarise([node.condition, node.body], node.span):
            return None
        return self._run(node.condition, node.body, lambda: None, node.span, None)

    def do_while(self, node: DoWhile) -> Completion | None:
        """Run a `do` loop."""
        completion = self._iteration(node.body)
        if completion is BREAK:
            return None
        if completion is not None and completion is not CONTINUE:
            return completion
        if isinstance(node.condition, Literal_):
            if not node.condition.value:
                return None
        elif (
            not self.relevance.loop_acts(node.body)
            and not self.relevance.expression_acts(node.condition)
            and self._summarise([node.condition, node.body], node.span)
        ):
            return None
        return self._run(node.condition, node.body, lambda: None, node.span, None)

    # -- running -----------------------------------------------------------------------------------

    def _run(
        self,
        condition: Expression | None,
        body: Statement,
        step: Callable[[], None],
        span: Span,
        induction: tuple[Cell, int, int] | None,
    ) -> Completion | None:
        machine = self.machine
        limits = machine.limits
        count = unknown = 0
        jumped = False
        endless = condition is None or (isinstance(condition, Literal_) and bool(condition.value))
        polling = condition is not None and _is_empty(body)
        while True:
            if condition is not None and not endless:
                value = machine.expressions.condition(machine.expressions.operand(condition), condition.span)
                machine.statements.end_full_expression(condition.span)
                pending, machine.pending_completion = machine.pending_completion, None
                if pending is not None:
                    return pending
                truth = machine.truth(value)
                if truth is None:
                    enough = polling or unknown >= limits.unknown_iterations or self._is_query(value)
                    machine.assume(value, not enough)
                    self._forget_decision(value)
                    if enough:
                        return None
                    unknown += 1
                elif not truth:
                    return None
            if endless and count >= limits.endless_iterations:
                return None
            if count >= limits.iterations and induction is None:
                return None
            completion = self._iteration(body)
            count += 1
            if completion is not None and completion is not CONTINUE:
                return None if completion is BREAK else completion
            step()
            if induction is not None and not jumped and count >= limits.first_iterations:
                jumped = self._jump(induction, count)

    def _is_query(self, value: Value) -> bool:
        """Tell whether a condition asks for the result of a query: polling ends with success."""
        if not isinstance(value, Symbol | Term):
            return False
        question, _ = strip(value)
        operands = question.operands if isinstance(question, Term) else (question,)
        return any(isinstance(operand, Symbol) and operand in self.machine.device.queries for operand in operands)

    def _forget_decision(self, value: Value) -> None:
        """The same expression may differ in the next iteration: only symbols of this iteration are fixed."""
        if isinstance(value, Symbol | Term):
            self.machine.decisions.forget(strip(value)[0])

    def _jump(self, induction: tuple[Cell, int, int], count: int) -> bool:
        """In a long loop, go on with its last two iterations."""
        machine = self.machine
        cell, amount, last = induction
        value = cell.value
        if not isinstance(value, int):
            return True
        remaining = (last - value) // amount + 1
        if count + remaining <= machine.limits.iterations:
            return True
        cell.value = last - amount
        return True

    def _iteration(self, body: Statement) -> Completion | None:
        machine = self.machine
        self.depth += 1
        machine.frame.loops += 1
        try:
            return machine.statements.execute(body)
        finally:
            machine.frame.loops -= 1
            self.depth -= 1

    # -- range for ---------------------------------------------------------------------------------

    def range_for(self, node: RangeFor) -> Completion | None:
        """Run a range-based `for` loop."""
        machine = self.machine
        operand = machine.expressions.operand(node.range)
        held = operand.cell.value if operand.cell is not None else operand.value
        if isinstance(held, LibraryObject | StructObject) and operand.cell is None:
            machine.statements.keep(held)
        elements, known = self._elements(held, operand, node.span)
        if not known and not self.relevance.loop_acts(node.body) and self._summarise([node.body], node.span):
            return None
        if len(elements) > machine.limits.iterations:
            first = machine.limits.first_iterations
            elements = elements[:first] + elements[-2:]
        frame = machine.frame
        outer = frame.scope
        result: Completion | None = None
        for element in elements:
            scope = Scope(outer)
            frame.scope = scope
            try:
                self._bind(node.variable, element, scope, node.span)
                completion = self._iteration(node.body)
                machine.statements.end_scope(scope, end_of(node.span))
            except Thrown:
                machine.statements.end_scope(scope, end_of(node.span))
                raise
            finally:
                frame.scope = outer
            if completion is not None and completion is not CONTINUE:
                result = None if completion is BREAK else completion
                break
        if operand.cell is None and isinstance(held, LibraryObject | StructObject):
            machine.objects.destroy_value(held, end_of(node.span))
        machine.statements.end_full_expression(node.span)
        return result

    def _elements(self, held: Value, operand: Operand, span: Span) -> tuple[list[Operand], bool]:
        machine = self.machine
        if isinstance(held, ArrayObject) and isinstance(held.length, int):
            length = held.length
            indices = list(range(min(length, 4096)))
            return [Operand(cell=machine.objects.element(held, index)) for index in indices], True
        if isinstance(held, LibraryObject):
            from streamsan.cuda_source.interpreter import library

            found = library.iterate(machine, held, span)
            if found is not None:
                return found, held.length() is not None
        if isinstance(held, StructObject) and held.cls is not None and held.cls.find_method("begin") is not None:
            begin = held.cls.find_method("begin")
            assert begin is not None
            cell = machine.expressions.cell_of(operand)
            start = machine.calls.method(cell, begin[0], begin[1], [], span)
            value = machine.expressions.load(start, span)
            if isinstance(value, ElementPointer) and isinstance(value.array.length, int):
                return [
                    Operand(cell=machine.objects.element(value.array, index))
                    for index in range(min(value.array.length, 4096))
                ], True
        count = machine.limits.unknown_iterations
        return [Operand(machine.fresh("element", "opaque")) for _ in range(count)], False

    def _bind(self, variable: Variable, element: Operand, scope: Scope, span: Span) -> None:
        machine = self.machine
        if variable.bindings:
            machine.statements.bind_names(variable.bindings, machine.expressions.cell_of(element), scope)
            return
        type = machine.resolve(variable.type)
        if type.reference and element.cell is not None:
            scope.names[variable.name] = element.cell
            return
        if type.name in ("auto", ""):
            deduced = machine.expressions.type_of(element).bare()
            type = CType(deduced.name, deduced.arguments, max(deduced.pointers, type.pointers))
        cell = Cell(None, type.bare(), variable.name, span=variable.span)
        machine.objects.initialise(cell, type.bare(), element, span)
        machine.objects.adopt(cell)
        scope.names[variable.name] = cell
        scope.owned.append(cell)


def _is_empty(body: Statement) -> bool:
    return isinstance(body, Block) and not body.body


def _bases(node: Expression) -> Any:
    """Yield the expression that an element, member or pointee belongs to."""
    for name in ("base", "object"):
        inner = getattr(node, name, None)
        if isinstance(inner, Expression):
            yield inner
            return
    if isinstance(node, Unary) and node.operator == "*":
        yield node.operand
    elif isinstance(node, Binary):
        yield node.left


def _step_of(step: Expression | None) -> tuple[str, Expression | None, int] | None:
    """Return a loop step's variable, amount (None: 1) and direction."""
    if isinstance(step, Unary) and isinstance(step.operand, Name):
        if step.operator in ("++", "post++"):
            return step.operand.name, None, 1
        if step.operator in ("--", "post--"):
            return step.operand.name, None, -1
    if isinstance(step, Assign) and isinstance(step.target, Name) and step.operator in ("+=", "-="):
        return step.target.name, step.value, 1 if step.operator == "+=" else -1
    return None


__all__ = ["CellPointer", "DevicePointer", "Loops", "SymbolPointer"]
