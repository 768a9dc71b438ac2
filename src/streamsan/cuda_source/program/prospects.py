"""What a piece of code may still lead to: calls of CUDA that no path has come to. It decides which way a path turns."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.program.calls_in_text import ONLY_NAMES
from streamsan.cuda_source.program.coverage import Coverage
from streamsan.cuda_source.program.relevance import MOST_FUNCTIONS, Relevance, walk
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree

_Calls = tuple[int, ...]
_Names = tuple[str, ...]


class Goal(Struct, frozen=True):
    """Code that a path would come to."""

    prospects: Prospects
    nodes: tuple[tree.Statement | tree.Expression, ...]

    def has_new(self) -> bool:
        """Tell whether it leads to a call that no path has come to."""
        return any(self.prospects.has_new(node) for node in self.nodes)

    def count_new(self) -> int:
        """Count the calls that stand in the code itself, and that no path has come to."""
        return sum(self.prospects.count_new(node) for node in self.nodes)

    def and_also(self, other: Goal) -> Goal:
        """Return both goals as one."""
        return Goal(self.prospects, (*self.nodes, *other.nodes))


class Prospects:
    """Answers for one unit; shared by all its paths. What is exhausted stays so, since paths only come to more."""

    def __init__(self, relevance: Relevance, coverage: Coverage) -> None:
        self._relevance = relevance
        self._coverage = coverage
        self._parts: dict[int, tuple[_Calls, _Names]] = {}
        self._kept: list[object] = []
        """nodes whose ids are keys here: they must not be collected"""
        self._exhausted: set[int] = set()
        self._asking: set[int] = set()
        """ids of the calls that change nothing"""
        self._have_effects: dict[int, bool] = {}
        self._found: dict[int, int] = {}
        """id of a node -> that of a call which it leads to, and no path had come to"""

    def has_new(self, node: tree.Statement | tree.Expression | None) -> bool:
        """Tell whether a statement or expression, or a function that it names, has a call that no path came to."""
        if node is None or id(node) in self._exhausted:
            return False
        found = self._found.get(id(node))
        if found is not None and not self._coverage.is_settled(found):
            return True
        found = next((call for call in self._calls_of(node) if not self._coverage.is_settled(call)), None)
        if found is None:
            self._exhausted.add(id(node))
            return False
        self._found[id(node)] = found
        return True

    def count_new(self, node: tree.Statement | tree.Expression) -> int:
        """Count the calls in a statement or expression itself that no path came to."""
        return sum(not self._coverage.is_settled(call) for call in self._parts_of(node)[0])

    def has_effects(self, node: tree.Statement | tree.Expression) -> bool:
        """Tell whether a statement or expression, or a function it names, has calls of CUDA that change a state."""
        found = self._have_effects.get(id(node))
        if found is None:
            found = any(call not in self._asking for call in self._calls_of(node))
            self._have_effects[id(node)] = found
        return found

    def _calls_of(self, root: tree.Statement | tree.Expression) -> Iterator[int]:
        """Yield the ids of the calls in a tree, and in functions that it names."""
        pending: list[tree.Statement | tree.Expression] = [root]
        seen: set[str] = set()
        while pending and len(seen) < MOST_FUNCTIONS:
            calls, names = self._parts_of(pending.pop())
            yield from calls
            for name in names:
                if name not in seen:
                    seen.add(name)
                    pending += self._relevance.host_bodies(name)

    def _parts_of(self, root: tree.Statement | tree.Expression) -> tuple[_Calls, _Names]:
        """Return the ids of the calls of CUDA in a tree, and the names in it that functions may have."""
        known = self._parts.get(id(root))
        if known is None:
            calls: list[int] = []
            names: dict[str, None] = {}
            for part in walk(root):
                if isinstance(part, tree.Name):
                    names[last_name(part.name)] = None
                elif isinstance(part, tree.Member):
                    names[last_name(part.member)] = None
                elif isinstance(part, tree.Variable | tree.New):
                    names[last_name(part.type.name)] = None
                elif isinstance(part, tree.Launch) or (isinstance(part, tree.Call) and self._is_of_cuda(part)):
                    calls.append(id(part))
                    if isinstance(part, tree.Call) and _only_asks(part):
                        self._asking.add(id(part))
            known = self._parts[id(root)] = (tuple(calls), tuple(names))
            self._kept.append(root)
        return known

    def _is_of_cuda(self, node: tree.Call) -> bool:
        callee = node.callee
        if not isinstance(callee, tree.Name) or callee.name in self._relevance.macros:
            return False
        name = last_name(callee.name)
        if known_apis.find(name) is None or ONLY_NAMES.match(name):
            return False
        return not self._relevance.host_bodies(name)


def _only_asks(call: tree.Call) -> bool:
    return isinstance(call.callee, tree.Name) and known_apis.only_asks(last_name(call.callee.name))
