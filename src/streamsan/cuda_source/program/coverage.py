"""Which calls of CUDA that stand in a unit's host code no path came to, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.program.calls_in_text import ONLY_NAMES, inactive_calls, unparsed_calls
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes, parts
from streamsan.findings.reading_gaps import NotReached, Obstacle
from streamsan.patterns.late_pattern import late_pattern

_HAS_CALL = late_pattern(r"\bcu(?:da)?[A-Z]|<<<")


class Coverage:
    """What the paths through a program came to, and the branches that they left out on purpose."""

    def __init__(self, *programs: Program) -> None:
        self._programs = programs
        """its units"""
        self._program = programs[0]
        """the unit that is looked at"""
        self._entered: dict[int, tree.Function] = {}
        self._reached: dict[int, tree.Expression] = {}
        self._assumed_away: dict[int, tree.Statement] = {}
        self._settled: set[int] = set()
        """calls that a path came to, or that stand in what is left out on purpose"""

    def enter(self, function: tree.Function) -> None:
        """A path comes to a function's body."""
        self._entered[id(function)] = function

    def reach(self, node: tree.Call | tree.Launch) -> None:
        """A path comes to a call."""
        self._reached[id(node)] = node
        self._settled.add(id(node))

    @property
    def count(self) -> int:
        """How many calls some path came to."""
        return len(self._reached)

    def assume_away(self, branch: tree.Statement) -> None:
        """A branch is left out on purpose: calls are taken to succeed."""
        if id(branch) not in self._assumed_away:
            self._assumed_away[id(branch)] = branch
            self._settled.update(id(node) for node in nodes(branch) if isinstance(node, tree.Call | tree.Launch))

    def is_settled(self, call: int) -> bool:
        """Tell whether a call, given by its id, needs no path: one came to it, or it is left out on purpose."""
        return call in self._settled

    def has_entered(self, function: tree.Function) -> bool:
        """Tell whether a path came to a function's body."""
        return id(function) in self._entered

    def only_after_errors(self, program: Program) -> set[int]:
        """Return the ids of a unit's functions that no path entered, and that only branches of errors mention."""
        return self._only_after_errors(program.bodies())

    def has_only_unreached_calls(self, body: tree.Block) -> bool:
        """Tell whether a body has calls of CUDA, and no path came to any."""
        calls = [node for node in nodes(body) if isinstance(node, tree.Launch | tree.Call)]
        of_cuda = [node for node in calls if isinstance(node, tree.Launch) or self._is_of_cuda(node)]
        return bool(of_cuda) and not any(id(node) in self._reached for node in of_cuda)

    def places(self, cut_short: bool) -> tuple[frozenset[tree.Span], dict[tree.Span, NotReached]]:
        """Return where calls of CUDA stand that a path came to, and those that none came to, with the reasons.

        `cut_short`: a budget ended some path, or left some out.
        """
        every_reached: frozenset[tree.Span] = frozenset()
        every_missed: dict[tree.Span, NotReached] = {}
        for program in self._programs:
            self._program = program
            reached, missed = self._places(cut_short)
            every_reached |= reached
            every_missed |= missed
        # What one unit's text of a header leaves out, another one's may come to.
        return every_reached, {span: why for span, why in every_missed.items() if span not in every_reached}

    def _places(self, cut_short: bool) -> tuple[frozenset[tree.Span], dict[tree.Span, NotReached]]:
        reached: set[tree.Span] = set()
        missed: dict[tree.Span, NotReached] = {}
        bodies = [function for function in self._program.bodies() if not (function.kernel or function.device_only)]
        excused = self._only_after_errors(bodies)
        called: set[str] | None = None
        for function in bodies:
            calls = list(self._calls(function))
            come_to = {node.span for node, _ in calls if id(node) in self._reached}
            reached |= come_to
            if len(come_to) == len(calls) or not (come_to or id(function) not in excused):
                continue
            if called is None:
                called = self._called_names()
            for node, in_lambda in calls:
                if id(node) not in self._reached:
                    why = self._reason(function, in_lambda, called, cut_short)
                    missed[node.span] = replace(why, is_work=_is_work(node))
        foreign = self._program.unit.foreign
        for span, name in unparsed_calls(self._program.unit):
            work = known_apis.issues_work(name)
            missed.setdefault(span, NotReached(Obstacle.UNPARSED, "not parsed", work))
        for span, name, directive in inactive_calls(self._program.unit):
            work = known_apis.issues_work(name)
            missed.setdefault(span, NotReached(Obstacle.INACTIVE, f"inactive {directive}", work))
        missed = {span: why for span, why in missed.items() if span not in reached and span.file not in foreign}
        return frozenset(span for span in reached if span.file not in foreign), missed

    def _reason(self, function: tree.Function, in_lambda: bool, called: set[str], cut_short: bool) -> NotReached:
        """Say why no path came to a call of a function."""
        entered = id(function) in self._entered
        name = last_name(function.name)
        if not entered and name not in called and not function.destructor:
            return NotReached(Obstacle.UNCALLED, f"nothing that was read calls {function.name}")
        if cut_short:
            return NotReached(Obstacle.BUDGET, "the budget was spent before")
        if entered and in_lambda:
            return NotReached(Obstacle.UNSEEN_CALLER, "only code that is not visible may call this lambda")
        return NotReached(Obstacle.NO_PATH, "no path that was taken comes here")

    def _called_names(self) -> set[str]:
        """Return the names that bodies and globals mention, without those of functions that mention only themselves."""
        called: set[str] = set()
        for program in self._programs:
            for function in program.bodies():
                called |= set(_mentioned(function.body)) - {last_name(function.name)}
                for _, given, _ in function.initializers:
                    called |= set(_mentioned(given))
            for variable in program.globals:
                called |= set(_mentioned(variable))
        return called

    def _calls(self, function: tree.Function) -> Iterator[tuple[tree.Expression, bool]]:
        """Yield the calls of CUDA in a body, and whether each stands in a lambda.

        Those in a branch that is left out on purpose are none.
        """
        if not self._may_have_calls(function):
            return
        pending: list[tuple[object, bool]] = [(function.body, False)]
        pending += [(item, False) for _, given, _ in function.initializers for item in given]
        while pending:
            node, in_lambda = pending.pop()
            if id(node) in self._assumed_away or isinstance(node, tree.SizeOf):
                continue
            if isinstance(node, tree.Try):  # handlers run after errors only
                pending.append((node.body, in_lambda))
                continue
            if isinstance(node, tree.Function) and (node.kernel or node.device_only):
                continue
            if isinstance(node, tree.Launch) or (isinstance(node, tree.Call) and self._is_of_cuda(node)):
                yield node, in_lambda
            in_lambda = in_lambda or isinstance(node, tree.Lambda)
            inner = self._evaluated(node) if isinstance(node, tree.Call) else parts(node)
            pending.extend((each, in_lambda) for each in inner)

    def _may_have_calls(self, function: tree.Function) -> bool:
        """Tell by its text whether a body is worth a look: most of a header's are never lowered."""
        if function.body is None:
            return False
        span = function.body.span
        expansions = self._program.unit.expansions
        if expansions and any(made and span[:3] == each[:3] for each, made in expansions.items()):
            return True
        lines = self._program.lines(span.file)[span.line - 1 : span.end_line]
        return any(_HAS_CALL.search(line) for line in lines)

    def _is_of_cuda(self, node: tree.Call) -> bool:
        callee = node.callee
        if not isinstance(callee, tree.Name) or callee.name in self._program.macros:
            return False
        name = last_name(callee.name)
        if known_apis.find(name) is None or ONLY_NAMES.match(name):
            return False
        return all(function.body is None for function in self._program.functions.get(name, ()))

    def _evaluated(self, node: tree.Call) -> Iterable[object]:
        """Yield what a call evaluates: a macro may leave arguments out, or make texts of them."""
        callee = node.callee
        macro = self._program.macros.get(callee.name) if isinstance(callee, tree.Name) else None
        if macro is None or macro.parameters is None:
            yield from parts(node)
            return
        for position, argument in enumerate(node.arguments):
            name = macro.parameters[min(position, len(macro.parameters) - 1)] if macro.parameters else ""
            name = "__VA_ARGS__" if name == "..." else name
            if name and re.search(rf"(?<!#)\b{re.escape(name)}\b", macro.text):
                yield argument

    def _only_after_errors(self, bodies: list[tree.Function]) -> set[int]:
        """Return the functions that no path entered, and that only branches of errors mention."""
        after_errors: set[str] = set()
        for branch in self._assumed_away.values():
            after_errors |= set(_mentioned(branch))
        excused: set[int] = set()
        grown = bool(after_errors)
        while grown:
            grown = False
            for function in bodies:
                if id(function) not in excused and last_name(function.name) in after_errors:
                    excused.add(id(function))
                    after_errors |= set(_mentioned(function.body))
                    grown = True
        return excused


def _is_work(node: tree.Expression) -> bool:
    callee = node.callee if isinstance(node, tree.Call) else None
    return known_apis.issues_work(last_name(callee.name) if isinstance(callee, tree.Name) else known_apis.LAUNCH)


def _mentioned(root: object) -> Iterator[str]:
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, tree.Name):
            yield last_name(node.name)
        elif isinstance(node, tree.Member):
            yield last_name(node.member)
        pending.extend(parts(node))
