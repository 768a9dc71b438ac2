"""Loops: run, run in part, or summarised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.device.source_sites import end_of
from streamsan.cuda_source.language.known_conditions import is_about_success, may_be_wrong
from streamsan.cuda_source.language.local_variables import Declarations
from streamsan.cuda_source.language.polling import polling
from streamsan.cuda_source.language.query_loops import QueryLoop, counted_part
from streamsan.cuda_source.language.seeking_loops import counted_loop_seeks, while_loop_seeks
from streamsan.cuda_source.language.summaries import Summaries
from streamsan.cuda_source.language.walked_elements import step_of, turns_of
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.polls import OpenLoop
from streamsan.cuda_source.program.prospects import Goal
from streamsan.cuda_source.program.relevance import Relevance
from streamsan.cuda_source.values.approaches import WATCHED, Nearing
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    ElementPointer,
    LibraryObject,
    Operand,
    Scope,
    StructObject,
    Term,
    Value,
)
from streamsan.cuda_source.values.frame import BREAK, CONTINUE, Completion
from streamsan.cuda_source.values.terms import condition as strip
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax import tree
from streamsan.model.values import Symbol

if TYPE_CHECKING:
    from streamsan.cuda_source.language.spin_waits import SpinWait


class Loops:
    """Executes the loops of one path."""

    def __init__(self, machine: Machine, declarations: Declarations, summaries: Summaries) -> None:
        self.machine = machine
        self._declarations = declarations
        self._summaries = summaries

    @property
    def relevance(self) -> Relevance:
        """What is known of the unit under execution."""
        return self.machine.relevance

    def for_(self, node: tree.For) -> Completion | None:
        """Run a `for` loop."""
        statements = self.machine.statements
        with statements.opened(Scope(self.machine.frame.scope), end_of(node.span)):
            for part in node.init:
                completion = statements.execute(part)
                if completion is not None:
                    return completion
            return self._for(node)

    def _for(self, node: tree.For) -> Completion | None:
        parts = [part for part in (node.condition, node.step, node.body) if part is not None]
        if (
            not self.relevance.may_wait_for_threads(node)
            and not self.relevance.loop_acts(node.body)
            and not any(
                part is not None and self.relevance.expression_acts(part) for part in (node.condition, node.step)
            )
            and not counted_loop_seeks(self.machine, node, self._turns_of)
            and self._summarise_for(node, parts)
        ):
            return None
        lengthen = self._assume_bound(node)

        def step() -> None:
            if node.step is not None:
                self.machine.expressions.operand(node.step)
                self.machine.statements.end_full_expression(node.span)

        return self._run(node.condition, node.body, step, self._induction(node), lengthen)

    def _summarise_for(self, node: tree.For, parts: list[Any]) -> bool:
        """Do the same for a `for` loop; one without a step waits for something."""
        with polling(self.machine, node.step is None):
            return self._summaries.summarise(parts, running=node)

    def _turns_of(self, node: tree.For) -> int | None:
        """Return how often a loop turns, if that is known."""
        induction = self._induction(node)
        if induction is None:
            return None
        cell, amount, last = induction
        begin = self.machine.known(cell.value)
        return (last - begin) // amount + 1 if isinstance(begin, int) else None

    def _induction(self, node: tree.For) -> tuple[Cell, int, int] | None:
        """Return the induction variable, its step and its last value, if they are known."""
        machine = self.machine
        step = step_of(node.step)
        condition = counted_part(node.condition)
        if step is None or not isinstance(condition, tree.Binary) or not isinstance(condition.left, tree.Name):
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
        count = turns_of(condition, start, bound, amount)
        return None if count is None else (cell, amount, start + amount * (count - 1))

    def _assume_bound(self, node: tree.For) -> Callable[[int], None] | None:
        """A loop of unknown length runs a few times: its bound is taken to be that, in conditions from here on.

        Returns what takes it to be so many turns instead; None where the bound is known, or no number.
        """
        machine = self.machine
        step = step_of(node.step)
        condition = node.condition
        if step is None or not isinstance(condition, tree.Binary) or not isinstance(condition.left, tree.Name):
            return None
        name, amount_node, sign = step
        if sign < 0 or condition.left.name != name or condition.operator not in ("<", "<=", "!="):
            return None
        if self.relevance.expression_acts(condition.right):
            return None
        start = machine.known(machine.expressions.value(condition.left))
        bound = machine.known(machine.expressions.value(condition.right))
        amount = 1 if amount_node is None else machine.known(machine.expressions.value(amount_node))
        if isinstance(start, int) and isinstance(amount, int) and isinstance(bound, Symbol | Term) and amount > 0:
            inclusive = amount if condition.operator == "<=" else 0

            def lengthen(turns: int) -> None:
                machine.is_now(bound, start + amount * turns - inclusive)

            machine.supposed_bounds.append(bound)
            lengthen(machine.limits.unknown_iterations)
            return lengthen
        return None

    def while_(self, node: tree.While) -> Completion | None:
        """Run a `while` loop."""
        quiet = not self.relevance.loop_acts(node.body) and not self.relevance.expression_acts(node.condition)
        at_once = quiet and not self.relevance.may_wait_for_threads(node) and not while_loop_seeks(self.machine, node)
        if at_once and self._summarise(node):
            return None
        return self._run(node.condition, node.body, lambda: None, None)

    def do_while(self, node: tree.DoWhile) -> Completion | None:
        """Run a `do` loop."""
        with self._of_unknown_length() as run:
            return self._do_while(node, run)

    def _do_while(self, node: tree.DoWhile, run: OpenLoop) -> Completion | None:
        completion = self._iteration(node.body)
        if completion is not None and completion is not CONTINUE:
            QueryLoop(self.machine, run, node.condition, node.body).is_left()
            return None if completion is BREAK else completion
        if isinstance(node.condition, tree.Literal_):
            if not node.condition.value:
                return None
        elif (
            not self.relevance.may_wait_for_threads(node)
            and not self.relevance.loop_acts(node.body)
            and not self.relevance.expression_acts(node.condition)
            and self._summarise(node)
        ):
            return None
        return self._run(node.condition, node.body, lambda: None, None, begun=run)

    def _summarise(self, node: tree.While | tree.DoWhile) -> bool:
        """Do at once what a loop without calls of CUDA does; False if that cannot be. Its condition may poll memory."""
        endless = isinstance(node.condition, tree.Literal_)
        with polling(self.machine):
            self._summaries.summarise([node.body if endless else node.condition])
        return self._summaries.summarise([node.condition, node.body])

    def _run(
        self,
        condition: tree.Expression | None,
        body: tree.Statement,
        step: Callable[[], None],
        induction: tuple[Cell, int, int] | None,
        lengthen: Callable[[int], None] | None = None,
        begun: OpenLoop | None = None,
    ) -> Completion | None:
        """Run a loop; `begun`: where its first turn is over."""
        opened = self._of_unknown_length() if induction is None and begun is None else nullcontext(begun)
        with opened as run, self.machine.approaches.of_loop() as nearing:
            endless = condition is None or (isinstance(condition, tree.Literal_) and bool(condition.value))
            asking = QueryLoop(self.machine, run, None if endless else condition, body)
            try:
                return self._turns(condition, body, step, induction, nearing, lengthen, asking)
            finally:
                asking.end()

    @contextmanager
    def _of_unknown_length(self) -> Iterator[OpenLoop]:
        """A loop that may go on until work is done."""
        run = self.machine.polls.open()
        open_loops = self.machine.open_loops
        open_loops.append(run)
        try:
            yield run
        finally:
            open_loops.remove(run)

    def _turns(
        self,
        condition: tree.Expression | None,
        body: tree.Statement,
        step: Callable[[], None],
        induction: tuple[Cell, int, int] | None,
        nearing: Nearing,
        lengthen: Callable[[int], None] | None,
        asking: QueryLoop,
    ) -> Completion | None:
        machine = self.machine
        limits = machine.limits
        most_unknown, most_first = limits.unknown_iterations, limits.first_iterations
        begun, issued = machine.steps, machine.issued
        count = unknown = 0
        jumped = False
        endless = condition is None or (isinstance(condition, tree.Literal_) and bool(condition.value))
        if endless:
            machine.relevance.meets_endless_loop(body)
        empty = condition is not None and _is_empty(body)
        spins = induction is None and machine.relevance.may_wait_for_threads(condition, body)
        spin = _spin_wait(machine, condition, body) if spins else None
        while True:
            asking.begin_turn()
            if spin is not None:
                spin.begin_turn()
            sure = True
            if condition is not None and not endless:
                asked_before = set(machine.device.queries)
                with polling(machine):
                    value = machine.expressions.condition(machine.expressions.operand(condition), condition.span)
                pending = machine.statements.settle(condition.span)
                if pending is not None:
                    return pending
                truth = machine.truth(value)
                asked = machine.device.asked(value)
                if truth is None and asked and (asking.may_give_up or not asked_before.isdisjoint(asked)):
                    goes_on, _ = machine.decide(value, likely=False)
                    self._forget_decision(value)
                    if not goes_on:
                        asking.is_left()
                        return None
                elif truth is None:
                    enough = empty or unknown >= most_unknown or bool(asked)
                    machine.polls.doubts += not asked
                    if enough:
                        machine.suppose(value, False)
                    else:
                        machine.assume(value, True)
                    self._forget_decision(value)
                    if enough:
                        return None
                    unknown += 1
                    sure = False
                elif not truth:
                    asking.is_left()
                    if count == 0 and self._goes_in_all_the_same(condition, body):
                        completion = self._iteration(body)
                        return None if completion in (BREAK, CONTINUE) else completion
                    return None
            if endless and count >= asking.most_turns:
                asking.is_cut()
                return None
            cut_short = count >= limits.thrifty_iterations and machine.may_cut_short(body)
            if cut_short or (count >= limits.iterations and induction is None):
                # What ends it was not seen: `if (line[0] == '#') continue;` may be all that these turns came to.
                self._summaries.forget_numbers(body)
                asking.is_cut()
                return None
            if count < WATCHED:
                nearing.begin_turn()
            completion = self._iteration(body)
            asking.end_turn()
            if spin is not None and sure and completion in (None, CONTINUE) and spin.is_idle:
                if count < WATCHED:
                    nearing.take_back_turn()
                step()
                if spin.wait():
                    continue
                return None
            count += 1
            if completion is not None and completion is not CONTINUE:
                asking.is_left()
                return None if completion is BREAK else completion
            if count == WATCHED:
                machine.approaches.ends(nearing)
                known = induction is not None and lengthen is None
                acts = machine.issued > issued
                turns = self._turns_to_see(nearing, machine.steps - begun, known=known) if acts else 0
                most_unknown, most_first = max(most_unknown, turns), max(most_first, turns)
                if turns and lengthen is not None:
                    lengthen(turns)
            step()
            if induction is not None and not jumped and count >= most_first:
                jumped = self._jump(induction, count)

    def _turns_to_see(self, nearing: Nearing, spent: int, *, known: bool) -> int:
        """Return how many turns it takes to see what a loop comes nearer to; 0: too many, or it comes to nothing.

        `spent`: steps of the turns that were looked at; `known`: how often it runs is known. One turn behind those of a
        loop of unknown length is its supposed end.
        """
        machine, limits = self.machine, self.machine.limits
        planned = limits.first_iterations if known else limits.unknown_iterations + 1
        left = min(limits.steps_to_see, limits.steps // 2 - machine.steps)
        most = min(limits.iterations, left * WATCHED // max(spent, 1)) - 1
        return max((turns + 1 for turns in nearing.turns() if planned < turns <= most), default=0)

    def _goes_in_all_the_same(self, condition: tree.Expression, body: tree.Statement) -> bool:
        """A loop runs not once, as far as is known. Tell whether the path runs it all the same, for its calls."""
        machine = self.machine
        if is_about_success(machine, condition):
            machine.coverage.assume_away(body)
            return False
        goal = Goal(machine.home.prospects, (body,))
        return may_be_wrong(machine, condition) and machine.decisions.goes_against(body, goal)

    def _forget_decision(self, value: Value) -> None:
        """The same expression may differ in the next iteration: only symbols of this iteration are fixed."""
        if isinstance(value, Symbol | Term):
            self.machine.decisions.forget(strip(value)[0])

    def _jump(self, induction: tuple[Cell, int, int], count: int) -> bool:
        """In a long loop, go on with its last two iterations."""
        cell, amount, last = induction
        value = cell.value
        if not isinstance(value, int):
            return True
        remaining = (last - value) // amount + 1
        if count + remaining <= self.machine.limits.iterations:
            return True
        cell.value = last - amount
        return True

    def _iteration(self, body: tree.Statement) -> Completion | None:
        machine = self.machine
        self.machine.loop_depth += 1
        machine.frame.loops += 1
        try:
            return machine.statements.execute(body)
        finally:
            machine.frame.loops -= 1
            self.machine.loop_depth -= 1

    def range_for(self, node: tree.RangeFor) -> Completion | None:
        """Run a range-based `for` loop."""
        machine = self.machine
        operand = machine.expressions.operand(node.range)
        held = operand.held
        if isinstance(held, LibraryObject | StructObject) and operand.cell is None:
            machine.statements.keep(held)
        elements, known = self._elements(held, operand, node.span)
        if not known and not self.relevance.loop_acts(node.body) and self._summaries.summarise([node.body]):
            return None
        if len(elements) > machine.limits.iterations:
            first = machine.limits.first_iterations
            elements = elements[:first] + elements[-2:]
        result: Completion | None = None
        for element in elements:
            scope = Scope(machine.frame.scope)
            with machine.statements.opened(scope, end_of(node.span)):
                self._bind(node.variable, element, scope, node.span)
                completion = self._iteration(node.body)
            if completion is not None and completion is not CONTINUE:
                result = None if completion is BREAK else completion
                break
        if operand.cell is None and isinstance(held, LibraryObject | StructObject):
            machine.objects.destroy_value(held, end_of(node.span))
        machine.statements.end_full_expression(node.span)
        return result

    def _elements(self, held: Value, operand: Operand, span: tree.Span) -> tuple[list[Operand], bool]:
        machine = self.machine
        if isinstance(held, ArrayObject) and isinstance(held.length, int):
            length = held.length
            indices = list(range(min(length, 4096)))
            return [Operand(cell=machine.objects.element(held, index)) for index in indices], True
        if isinstance(held, LibraryObject):
            found = held.elements(machine, span)
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
            found = self._iterated(held, cell, value, span) if isinstance(value, StructObject) else None
            if found is not None:
                return found, True
        count = machine.limits.unknown_iterations
        return [Operand(machine.fresh("element", "opaque")) for _ in range(count)], False

    def _iterated(self, range_: StructObject, cell: Cell, first: StructObject, span: tree.Span) -> list[Operand] | None:
        """Return what an iterator of a class of the program's own comes to; None if its end is not seen."""
        machine, operators = self.machine, self.machine.class_operators
        assert range_.cls is not None
        end = range_.cls.find_method("end")
        if end is None:
            return None
        at = Operand(cell=machine.expressions.cell_of(Operand(first)))
        last = machine.calls.method(cell, *end, [], span)
        found: list[Operand] = []
        while len(found) < machine.limits.iterations:
            differs = operators.call("!=", [at, last], span)
            equal = operators.call("==", [at, last], span) if differs is None else None
            answer = differs if equal is None else equal
            truth = None if answer is None else machine.truth(machine.expressions.condition(answer, span))
            if truth is None:
                return None
            if truth == (differs is None):
                return found
            element = operators.call("*", [at], span)
            if element is None:
                return None
            if element.cell is None:
                machine.statements.keep(element.value)
            found.append(element)
            if operators.call("++", [at], span) is None:
                return None
        return found

    def _bind(self, variable: tree.Variable, element: Operand, scope: Scope, span: tree.Span) -> None:
        machine = self.machine
        if variable.bindings:
            self._declarations.bind_names(variable.bindings, machine.expressions.cell_of(element), scope)
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
        scope.own(variable.name, cell)


def _spin_wait(machine: Machine, condition: tree.Expression | None, body: tree.Statement) -> SpinWait:
    from streamsan.cuda_source.language.spin_waits import SpinWait  # few programs have threads that spin

    return SpinWait(machine, condition, body)


def _is_empty(body: tree.Statement) -> bool:
    return isinstance(body, tree.Block) and not body.body
