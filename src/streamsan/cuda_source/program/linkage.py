"""Several translation units as one program: each keeps its own names, and what one only declares another may define.

A unit is read as a compiler reads it: its macros, its `static` functions, its types are its own. A path that comes to a
function without a body goes on in the unit that defines it, by that unit's names, and comes back. A name that two units
define is nobody's: such a call stays what it is without the other units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsan.cuda_source.program.coverage import Coverage
from streamsan.cuda_source.program.created_streams import CreatedStreams
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.program.prospects import Prospects
from streamsan.cuda_source.program.relevance import Relevance
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree


class Home:
    """One unit of a program, and what its code may do."""

    def __init__(self, program: Program, coverage: Coverage) -> None:
        self.program = program
        self.relevance = Relevance(program)
        self.prospects = Prospects(self.relevance, coverage)


class Linkage:
    """Where the units of a program define what others declare."""

    def __init__(self, homes: Sequence[Home]) -> None:
        self.homes = tuple(homes)
        self._of: dict[int, Home] = {}
        self._functions: dict[str, list[tree.Function]] = {}
        self._short: dict[str, list[tree.Function]] = {}
        self._variables: dict[str, list[tuple[Home, tree.Variable]]] = {}
        self._found: dict[int, tree.Function] = {}
        streams = CreatedStreams(*(home.program for home in self.homes))
        for home in self.homes:
            for name, function in _defined(home.program):
                self._of[id(function)] = home
                if not is_internal(home.program, name, function):
                    self._functions.setdefault(name, []).append(function)
                    self._short.setdefault(last_name(name), []).append(function)
            for variable in home.program.globals:
                if not is_internal_variable(variable) and is_definition(variable):
                    self._variables.setdefault(variable.name, []).append((home, variable))
            home.relevance.elsewhere = self.named
            home.relevance.created_streams = streams

    def home_of(self, function: tree.Function) -> Home | None:
        """Return the unit in which a function's body stands; None if it is none of those that were there at first."""
        return self._of.get(id(function))

    def definition(self, function: tree.Function) -> tree.Function:
        """Return the definition of a function that is only declared; itself where none, or no single one, is known."""
        if function.body is not None or function.deleted or function.defaulted:
            return function
        key = id(function)
        if key not in self._found:
            self._found[key] = self._definition(function)
        return self._found[key]

    def _definition(self, declared: tree.Function) -> tree.Function:
        candidates = [
            each
            for each in self._functions.get(declared.name, ())
            if len(each.parameters) == len(declared.parameters) and each.kernel == declared.kernel
        ]
        exact = [each for each in candidates if _signature(each) == _signature(declared)]
        found = exact or candidates
        # The same text, in a header that several units include, is one function.
        places = {each.span for each in found}
        return found[0] if len(places) == 1 else declared

    def named(self, name: str) -> list[tree.Function]:
        """Return the functions of all units that have a last name."""
        return self._short.get(name, [])

    def variable(self, name: str) -> tuple[Home, tree.Variable] | None:
        """Return where a variable is defined that is only declared; None where nobody, or more than one unit, does."""
        found = self._variables.get(name, [])
        return found[0] if len({variable.span for _, variable in found}) == 1 else None


def _defined(program: Program) -> Iterator[tuple[str, tree.Function]]:
    """Yield the functions and methods with bodies, by their qualified names."""
    for name, functions in program.functions.items():
        yield from ((name, each) for each in functions if each.body is not None)
    for name, node in program.classes.items():
        for method in program.members_of(name, node):
            if method.body is not None:
                yield f"{name}::{last_name(method.name)}", method


def _signature(function: tree.Function) -> list[tuple[str, int]]:
    return [(last_name(each.type.name), each.type.pointers) for each in function.parameters]


def is_internal(program: Program, name: str, function: tree.Function) -> bool:
    """Tell whether a function is its unit's own. `static` says that of a function, not of a member of a class."""
    return function.static and name.rpartition("::")[0] not in program.classes


def is_internal_variable(variable: tree.Variable) -> bool:
    """Tell whether a global variable is its unit's own."""
    constant = variable.type.const and not variable.type.pointers
    return variable.static or ((constant or "constexpr" in variable.type.name) and not variable.extern)


def is_definition(variable: tree.Variable) -> bool:
    """Tell whether a global variable is defined, not only declared."""
    return not variable.extern or variable.initializer is not None
