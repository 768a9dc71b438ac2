"""Which calls of CUDA that stand in a unit's host code no path came to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import parts
from streamsan.platforms import CUDA

_HAS_CALL = re.compile(r"\bcu(?:da)?[A-Z]|<<<")
_ONLY_NAMES = re.compile(r"cu(?:da)?GetError(?:String|Name)$")
"""calls that do nothing: they stand where errors are printed"""


class Coverage:
    """What the paths through a unit came to, and the branches that they left out on purpose."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._reached: dict[int, tree.Expression] = {}
        self._assumed_away: dict[int, tree.Statement] = {}

    def reach(self, node: tree.Call | tree.Launch) -> None:
        """A path comes to a call."""
        self._reached[id(node)] = node

    def assume_away(self, branch: tree.Statement) -> None:
        """A branch is left out on purpose: calls are taken to succeed."""
        self._assumed_away[id(branch)] = branch

    def places(self) -> tuple[frozenset[tree.Span], frozenset[tree.Span]]:
        """Return where calls of CUDA stand in host code that a path came to, and those that none came to."""
        reached: set[tree.Span] = set()
        missed: set[tree.Span] = set()
        bodies = [function for function in self._program.bodies() if not (function.kernel or function.device_only)]
        excused = self._only_after_errors(bodies)
        for function in bodies:
            calls = list(self._calls(function))
            come_to = {node.span for node in calls if id(node) in self._reached}
            reached |= come_to
            if come_to or id(function) not in excused:
                missed.update(node.span for node in calls)
        return frozenset(reached), frozenset(missed - reached)

    def _calls(self, function: tree.Function) -> Iterator[tree.Expression]:
        """Yield the calls of CUDA in a body, without those that stand in a branch that is left out on purpose."""
        if not self._may_have_calls(function):
            return
        pending: list[object] = [function.body]
        pending += [item for _, given, _ in function.initializers for item in given]
        while pending:
            node = pending.pop()
            if id(node) in self._assumed_away or isinstance(node, tree.SizeOf):
                continue
            if isinstance(node, tree.Try):  # handlers run after errors only
                pending.append(node.body)
                continue
            if isinstance(node, tree.Function) and (node.kernel or node.device_only):
                continue
            if isinstance(node, tree.Launch) or (isinstance(node, tree.Call) and self._is_of_cuda(node)):
                yield node
            pending.extend(self._evaluated(node) if isinstance(node, tree.Call) else parts(node))

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
        if CUDA.effects.find(name) is None or _ONLY_NAMES.match(name):
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


def _mentioned(root: object) -> Iterator[str]:
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, tree.Name):
            yield last_name(node.name)
        elif isinstance(node, tree.Member):
            yield last_name(node.member)
        pending.extend(parts(node))
