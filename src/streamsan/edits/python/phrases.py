"""Calls of CUDA as the module around a place writes them: its names of the API, and its way with a status."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Protocol

from streamsan.edits.language import Code
from streamsan.edits.python.calls import module_of
from streamsan.edits.python.checks import Checks
from streamsan.edits.python.imports import Import, defined_at_top, imports_of, longer_import, new_import
from streamsan.edits.python.places import PythonPlace
from streamsan.evidence.fix.steps import Calls
from streamsan.findings.finding import Edit

_WAITS = ("EventRecord", "WaitEvent", "Synchronize")
USUAL = {"runtime": ("cudart", "runtime"), "driver": ("driver", "cu")}
"""names for a module of cuda.bindings, where one has to be imported"""


class Modules(Protocol):
    """Knows what a frame could name."""

    def modules(self, row: int, level: int) -> dict[str, list[str]]:
        """Return the names of the modules of cuda.bindings: `{"runtime": ["cudart"]}`."""


class PythonPhrases:
    """How calls are written at one place. What they need to import is in `imports` when they are made."""

    def __init__(self, place: PythonPlace, names: Modules, row: int, checks: Checks, apis: Sequence[str]) -> None:
        self._place = place
        self._names = names
        self._row = row
        self._checks = checks
        self._imports: dict[Edit, None] = {}
        preferred = checks.prefers_driver(place)
        if preferred is None:
            preferred = all(module_of(each) == "driver" for each in apis)
        self.calls = Calls(preferred)

    @property
    def imports(self) -> list[Edit]:
        return list(self._imports)

    def call(self, api: str, *arguments: str) -> Code:
        way = self._checks.status(self._place, module_of(api) == "driver")
        lines = way.written(self.function(api), arguments)
        return Code(tuple(lines), tuple(line.strip() for line in lines if any(word in line for word in _WAITS)))

    def new_event(self, event: str) -> Iterator[Code]:
        """Yield the ways to make an event under a new name: as a guess first, where no such call shows how."""
        driver = self.calls.driver
        flags = self.function("CUevent_flags" if driver else "cudaEventDisableTiming")
        constant = flags + (".CU_EVENT_DISABLE_TIMING" if driver else "")
        function = self.function("cuEventCreate" if driver else "cudaEventCreateWithFlags")
        for guess in (True, False):
            way = self._checks.making(self._place, driver, guess=guess)
            yield Code(tuple(way.written(function, [constant], event)))

    def enclosed(self, code: Code) -> Code:
        return code

    def function(self, name: str) -> str:
        api = module_of(name)
        known = [each for each in imports_of(self._place) if each.api == api]
        direct = next((each.name for each in known if each.function == name), "")
        modules = [each.name for each in known if not each.function]
        if direct or any(each.function == "*" for each in known):
            return direct or name
        if not modules:
            modules = sorted(self._names.modules(self._row, self._place.level)[api], key=len)
        if modules:
            return f"{self._used(modules)}.{name}"
        return self._imported(known, api, name)

    def _used(self, modules: Sequence[str]) -> str:
        """Return the name of a module that the call at the place uses, else the first one."""
        call = self._place.call
        if call is not None and isinstance(call.func, ast.Attribute):
            own = self._place.text.of(call.func.value)
            if own in modules:
                return own
        return modules[0]

    def _imported(self, known: Sequence[Import], api: str, name: str) -> str:
        """Return the name of what is to be imported."""
        functions = [each for each in known if each.function and isinstance(each.statement, ast.ImportFrom)]
        if functions:
            statement = functions[-1].statement
            assert isinstance(statement, ast.ImportFrom)
            self._imports[longer_import(self._place, statement, name)] = None
            return name
        tree = self._place.text.tree
        alias = next((each for each in USUAL[api] if not defined_at_top(tree, each)), f"streamsan_{api}")
        text = f"from cuda.bindings import {api}" + (f" as {alias}" if alias != api else "")
        self._imports[new_import(self._place, text)] = None
        return f"{alias}.{name}"
