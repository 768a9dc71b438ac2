"""Which code may wait for another thread, itself or in what it calls.

It asks for atomic variables of the host, or for stop tokens; or it locks a mutex, and pauses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes

_LOCKS = frozenset({"lock_guard", "unique_lock", "scoped_lock", "shared_lock", "lock", "pthread_mutex_lock"})
_PAUSES = frozenset({"yield", "sleep_for", "sleep_until", "sched_yield", "usleep", "nanosleep"})
_MOST_FUNCTIONS = 200


class Way(Enum):
    """What code does that may wait for another thread."""

    ATOMIC = "names an atomic variable"
    LOCK = "locks a mutex"
    PAUSE = "pauses"


class ThreadWaits:
    """Those of one unit. `words` match the names of the types, and of functions that ask without naming a variable."""

    def __init__(
        self,
        unit: tree.Unit,
        functions: Callable[[], Mapping[str, Sequence[tree.Function]]],
        words: re.Pattern[str],
    ) -> None:
        self._unit = unit
        self._functions = functions
        self._words = words
        self._known: dict[int, frozenset[Way]] = {}
        self._kept: list[Any] = []

    def may_occur_in(self, parts: Sequence[Any]) -> bool:
        """Tell whether code, of several parts, names an atomic variable, or locks and pauses.

        It may do so itself, or in functions of the program that it calls.
        """
        found = frozenset[Way]().union(*map(self._ways, parts))
        return Way.ATOMIC in found or found >= {Way.LOCK, Way.PAUSE}

    def _ways(self, node: Any) -> frozenset[Way]:
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = frozenset(self._found(node))
            self._kept.append(node)
        return found

    def _found(self, node: Any) -> Iterator[Way]:
        pending, seen = [node], set[str]()
        while pending and len(seen) < _MOST_FUNCTIONS:
            for part in nodes(pending.pop()):
                short = last_name(_named(part))
                if short in self._names or self._words.fullmatch(short):
                    yield Way.ATOMIC
                    return
                if short and short not in seen:
                    seen.add(short)
                    pending += [each.body for each in self._functions().get(short, ()) if each.body is not None]
        if not _LOCKS.isdisjoint(seen):
            yield Way.LOCK
        if not _PAUSES.isdisjoint(seen):
            yield Way.PAUSE

    @cached_property
    def _names(self) -> frozenset[str]:
        """The last names of the variables and members that hold atomics, or refer to them."""
        everything = list(nodes(self._unit.declarations))
        made = [each for each in everything if isinstance(each, tree.Alias)]
        aliases = frozenset(last_name(each.name) for each in made if self._holds(each.type, frozenset()))
        holders: list[tree.Variable | tree.Parameter] = []
        for each in everything:
            if isinstance(each, tree.Variable):
                holders.append(each)
            elif isinstance(each, tree.Function | tree.Lambda):
                holders += each.parameters  # a walk passes them by
        return frozenset(last_name(each.name) for each in holders if each.name and self._holds(each.type, aliases))

    def _holds(self, type: tree.Type, aliases: frozenset[str]) -> bool:
        short = last_name(type.name)
        if self._words.fullmatch(short) or short in aliases:
            return True
        return any(isinstance(each, tree.Type) and self._holds(each, aliases) for each in type.arguments)


def _named(part: object) -> str:
    """Return the variable, or the function, that a part names; of an object its class: it is constructed."""
    if isinstance(part, tree.Variable):
        return part.type.name
    return part.member if isinstance(part, tree.Member) else part.name if isinstance(part, tree.Name) else ""
