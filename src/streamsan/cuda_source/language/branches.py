"""Branches: which way a condition goes that is not known, and what the other way leads to.

A branch that leaves at once, after an error, is not taken first. Else the first way is the one that leads to calls of
CUDA which no path has come to: so one path sees what stands in both branches of a loop's `if`, and a second one takes
the other side of all that the first one took.
"""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.cuda_source.device.source_sites import end_of
from streamsan.cuda_source.language.known_conditions import is_about_success, is_supposed, may_be_wrong
from streamsan.cuda_source.language.polling import leaves_loop, polling
from streamsan.cuda_source.language.summaries import Summaries
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.prospects import Goal
from streamsan.cuda_source.program.relevance import WayOut
from streamsan.cuda_source.values.cells import Scope, Term, Value
from streamsan.cuda_source.values.frame import BREAK, Completion
from streamsan.cuda_source.values.terms import symbols_of
from streamsan.cuda_syntax import tree
from streamsan.model.values import Symbol

Code = tree.Statement | tree.Expression


class Branches:
    """Executes the branches of one path."""

    def __init__(self, machine: Machine, summaries: Summaries) -> None:
        self.machine = machine
        self._summaries = summaries

    def if_(self, node: tree.If) -> Completion | None:
        """Run an `if`."""
        machine = self.machine
        statements = machine.statements
        with statements.opened(Scope(machine.frame.scope), end_of(node.span)):
            if node.init is not None:
                completion = statements.execute(node.init)
                if completion is not None:
                    return completion
            machine.decisions.supposes_pointers = False
            with polling(machine, leaves_loop(node.then)):
                value = machine.expressions.operand(node.condition)
                condition = machine.expressions.condition(value, node.condition.span)
            pending = statements.settle(node.span)
            if pending is not None:
                return pending
            return self._branch(node, condition)

    def _branch(self, node: tree.If, condition: Value) -> Completion | None:
        machine = self.machine
        if machine.truth(condition) is None:
            if machine.device.asked(condition) and not machine.relevance.branch_acts(node):
                return self._by_query(node, condition)
            if self._summaries.skips(node):
                return None
        gives_up, goes_on = self._gives_up(node.then), node.otherwise
        if (
            machine.truth(condition)
            and gives_up
            and (is_supposed(machine, node.condition) or self._ends_for_what_may_be_over(node, condition))
        ):
            # `if (arguments[3] != NULL) exit(1);`, `if (stream_) return;`: what comes after is not left out for that.
            condition = machine.fresh("condition", "opaque")
        truth = machine.truth(condition)
        if truth is not None:
            answer, known = truth, True
            if may_be_wrong(machine, node.condition) and machine.decisions.goes_against(
                node, self._kept_from(node, truth)
            ):
                answer = not truth
        elif gives_up == self._gives_up(goes_on) or machine.relevance.ends_its_loop(node):
            answer, known = self._turn(condition, self._led_to(node.then, goes_on), self._led_to(goes_on, node.then))
        else:
            position = len(machine.decisions.taken)
            answer, known = self.decide(condition, (node.then,), self._code(goes_on), likely=not gives_up)
            machine.decisions.leaving.update(range(position, len(machine.decisions.taken)))
        chosen, other = (node.then, node.otherwise) if answer else (node.otherwise, node.then)
        if known and other is not None and is_about_success(self.machine, node.condition):
            machine.coverage.assume_away(other)
        if chosen is None:
            return None
        with machine.under_branch(known):
            return machine.statements.execute(chosen)

    def _by_query(self, node: tree.If, condition: Value) -> Completion | None:
        """Run a branch that notes what a query says: `if (cudaEventQuery(e) == cudaSuccess) done = true;`.

        What it notes holds with the work being done, or not: no summary may forget which.
        """
        machine = self.machine
        answer, _ = self.decide(condition, (node.then,), self._code(node.otherwise), likely=None)
        chosen = node.then if answer else node.otherwise
        if chosen is None:
            return None
        with machine.under_branch(False):
            return machine.statements.execute(chosen)

    def _ends_for_what_may_be_over(self, node: tree.If, condition: Value) -> bool:
        """Tell whether a branch ends the program: `get(&info); if (!info.mapped) exit(1);`, decided before `get`."""
        machine = self.machine
        if not any(symbol in machine.handed_out for symbol in symbols_of(condition)):
            return False
        return machine.relevance.way_out(node.then) is WayOut.PROGRAM

    def _gives_up(self, branch: tree.Statement | None) -> bool:
        """Tell whether a branch leaves at once, after an error; one that found what the function sought does not."""
        relevance, frame = self.machine.relevance, self.machine.frame
        code = frame.declaration or frame.closure
        return relevance.gives_up(branch) and not (code is not None and relevance.has_found(branch, code))

    def _turn(self, condition: Value, then: Sequence[Code], otherwise: Sequence[Code]) -> tuple[bool, bool]:
        """Decide a condition, first so that something new comes of it."""
        has_new = self.machine.home.prospects.has_new
        likely = any(map(has_new, then)) or not any(map(has_new, otherwise))
        return self.decide(condition, then, otherwise, likely=likely)

    def decide(
        self, condition: Value, then: Sequence[Code], otherwise: Sequence[Code], *, likely: bool | None
    ) -> tuple[bool, bool]:
        """Decide a condition that is not known, and note what the other way leads to."""
        machine = self.machine
        position = len(machine.decisions.taken)
        answer, known = machine.decide(condition, likely=likely)
        if len(machine.decisions.taken) > position:
            prospects = machine.home.prospects
            machine.decisions.leads_to(
                Goal(prospects, tuple(otherwise if answer else then)), Goal(prospects, self._behind())
            )
        return answer, known

    def _behind(self) -> tuple[Code, ...]:
        """Return what comes behind a branch of the file itself: those of headers are many, and seldom about it."""
        machine = self.machine
        function = machine.frame.declaration
        if function is None or function.span.file != machine.home.program.unit.file:
            return ()
        return machine.code_behind()

    def _led_to(self, branch: tree.Statement | None, other: tree.Statement | None) -> tuple[Code, ...]:
        """Return what a branch leads to: itself, and what only comes after it because the other one leaves."""
        relevance = self.machine.relevance
        out, out_of_other = relevance.way_out(branch), relevance.way_out(other)
        if out.value >= out_of_other.value:
            return self._code(branch)
        if out_of_other is WayOut.PROGRAM:
            return (*self._code(branch), *(each for frame in self.machine.frames for each in frame.rest()))
        return (*self._code(branch), *self.machine.frame.rest(in_loop=out_of_other is WayOut.LOOP))

    def _kept_from(self, node: tree.If, truth: bool) -> Goal:
        """Return what a known condition keeps the path from; nothing where that is what is done after a failure."""
        chosen, other = (node.then, node.otherwise) if truth else (node.otherwise, node.then)
        if is_about_success(self.machine, node.condition) and not self._gives_up(chosen):
            return Goal(self.machine.home.prospects, ())
        return Goal(self.machine.home.prospects, self._led_to(other, chosen))

    def _code(self, branch: tree.Statement | None) -> tuple[Code, ...]:
        return () if branch is None else (branch,)

    def switch(self, node: tree.Switch) -> Completion | None:
        """Run a `switch`."""
        machine = self.machine
        value = machine.known(machine.expressions.value(node.value))
        machine.statements.end_full_expression(node.span)
        statements = node.body.body if isinstance(node.body, tree.Block) else [node.body]
        start, known = self._switch_start(node, value, statements)
        if start is None:
            return None
        with machine.under_branch(known):
            completion = machine.statements.in_scope(statements[start:], Scope(machine.frame.scope), end_of(node.span))
        return None if completion is BREAK else completion

    def _switch_start(
        self, node: tree.Switch, value: Value, statements: list[tree.Statement]
    ) -> tuple[int | None, bool]:
        machine = self.machine
        default: int | None = None
        known = True
        for position, statement in enumerate(statements):
            if not isinstance(statement, tree.Case):
                continue
            if statement.value is None:
                default = position
                continue
            question = machine.expressions.operators.compare("==", value, machine.expressions.value(statement.value))
            if machine.truth(question) is None:
                here, others = _case(statements, position), (*statements[:position], *statements[position + 1 :])
                answer, decided = self._turn(question, here, others)
            else:
                answer, decided = machine.decide(question)
                goal = Goal(machine.home.prospects, tuple(_case(statements, position)))
                by_itself = not isinstance(value, Symbol | Term) and may_be_wrong(machine, node.value)
                if by_itself and not answer and machine.decisions.goes_against(statement, goal):
                    return position, True
            known = known and decided
            if answer:
                return position, known
        return default, known


def _case(statements: list[tree.Statement], position: int) -> list[tree.Statement]:
    """Return the statements that run from a label on, up to what ends them."""
    for end in range(position + 1, len(statements)):
        if isinstance(statements[end], tree.Break | tree.Return | tree.Continue | tree.Goto):
            return statements[position:end]
    return statements[position:]
