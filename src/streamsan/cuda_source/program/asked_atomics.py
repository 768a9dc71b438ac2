"""Which code asks for atomic variables of the host, itself or in what it calls: it may wait for another thread so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.patterns.late_pattern import late_pattern

_ATOMIC = late_pattern(r"\b(?:atomic(?:_\w+)?|stop_token|stop_source)\b")
_MOST_FUNCTIONS = 200


class AskedAtomics:
    """Those of one unit."""

    def __init__(self, unit: tree.Unit, functions: Callable[[], Mapping[str, Sequence[tree.Function]]]) -> None:
        self._unit = unit
        self._functions = functions
        self._known: dict[int, bool] = {}
        self._kept: list[Any] = []

    def asks(self, node: Any) -> bool:
        """Tell whether code names an atomic variable, or calls a function of the program that does."""
        if not self._names:
            return False
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = self._asks(node)
            self._kept.append(node)
        return found

    def _asks(self, node: Any) -> bool:
        pending, seen = [node], set[str]()
        while pending and len(seen) < _MOST_FUNCTIONS:
            for part in nodes(pending.pop()):
                short = last_name(_named(part))
                if short in self._names:
                    return True
                if short and short not in seen:
                    seen.add(short)
                    pending += [each.body for each in self._functions().get(short, ()) if each.body is not None]
        return False

    @cached_property
    def _names(self) -> frozenset[str]:
        """The last names of the variables and members that hold atomics, or refer to them."""
        everything = list(nodes(self._unit.declarations))
        made = [each for each in everything if isinstance(each, tree.Alias)]
        aliases = frozenset(last_name(each.name) for each in made if _holds(each.type, frozenset()))
        return frozenset(
            last_name(each.name)
            for each in everything
            if isinstance(each, tree.Variable | tree.Parameter) and each.name and _holds(each.type, aliases)
        )


def _named(part: object) -> str:
    """Return the variable, or the function, that a part names; of an object its class: it is constructed."""
    if isinstance(part, tree.Variable):
        return part.type.name
    return part.member if isinstance(part, tree.Member) else part.name if isinstance(part, tree.Name) else ""


def _holds(type: tree.Type, aliases: frozenset[str]) -> bool:
    short = last_name(type.name)
    if _ATOMIC.fullmatch(short) or short in aliases:
        return True
    return any(isinstance(each, tree.Type) and _holds(each, aliases) for each in type.arguments)
