"""Calls of CUDA as the module around a place writes them: its names of the API, and its way with a status."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from streamsan.edits.python.checks import Checks
from streamsan.edits.python.imports import Import, defined_at_top, imports_of, longer_import, new_import
from streamsan.edits.python.names import Names
from streamsan.edits.python.spots import Spot
from streamsan.edits.python.text import PythonText
from streamsan.evidence.fix.steps import Calls
from streamsan.findings.finding import Edit

EVENT = "streamsan_event"
USUAL = {"runtime": ("cudart", "runtime"), "driver": ("driver", "cu")}
"""names for a module of cuda.bindings, where one has to be imported"""


class Speech:
    """How code is written at one spot. What it needs to import is in `imports` when the code is made."""

    def __init__(self, spot: Spot, names: Names, row: int, checks: Checks) -> None:
        self._spot = spot
        self._names = names
        self._row = row
        self._checks = checks
        self._imports: dict[Edit, None] = {}

    @property
    def imports(self) -> list[Edit]:
        """The edits of imports that the code needs."""
        return list(self._imports)

    def calls(self, *apis: str) -> Calls:
        """Return the functions for code between calls of these: of the runtime, or of the driver."""
        preferred = self._checks.prefers_driver(self._spot)
        if preferred is None:
            preferred = all(not each.startswith("cuda") for each in apis)
        return Calls(preferred)

    def call(self, api: str, *arguments: str) -> list[str]:
        """Return the lines of a call that gives a status only."""
        way = self._checks.status(self._spot, not api.startswith("cuda"))
        return way.written(self.function(api), arguments)

    def made(self, target: str, api: str, *arguments: str, guess: bool = True) -> list[str]:
        """Return the lines of a call that makes something. `guess`: see `Checks.making`."""
        way = self._checks.making(self._spot, not api.startswith("cuda"), guess=guess)
        return way.written(self.function(api), arguments, target)

    def event(self, runs: Sequence[str], waits: Sequence[str], calls: Calls, *, guess: bool = True) -> list[str]:
        """Return the lines that let each of some streams wait for another one."""
        driver = calls.driver
        code: list[str] = []
        flags = "CUevent_flags" if driver else "cudaEventDisableTiming"
        made = "cuEventCreate" if driver else "cudaEventCreateWithFlags"
        for first, second in zip(runs, waits, strict=True):
            constant = self.function(flags) + (".CU_EVENT_DISABLE_TIMING" if driver else "")
            code += self.made(EVENT, made, constant, guess=guess)
            code += self.call(calls.record, EVENT, first)
            code += self.call(calls.stream_wait, second, EVENT, "0")
            code += self.call("cuEventDestroy" if driver else "cudaEventDestroy", EVENT)
        return code

    def function(self, name: str) -> str:
        """Return how a function or constant of the API is written."""
        api = "runtime" if name.startswith("cuda") else "driver"
        known = [each for each in imports_of(self._spot) if each.api == api]
        direct = next((each.name for each in known if each.function == name), "")
        modules = [each.name for each in known if not each.function]
        if direct or any(each.function == "*" for each in known):
            return direct or name
        if not modules:
            modules = sorted(self._names.modules(self._row, self._spot.level)[api], key=len)
        if modules:
            return f"{self._used(modules)}.{name}"
        return self._imported(known, api, name)

    def _used(self, modules: Sequence[str]) -> str:
        """Return the name of a module that the call at the spot uses, else the first one."""
        call = self._spot.call
        if call is not None and isinstance(call.func, ast.Attribute):
            own = self._spot.text.of(call.func.value)
            if own in modules:
                return own
        return modules[0]

    def _imported(self, known: Sequence[Import], api: str, name: str) -> str:
        """Return the name of what is to be imported."""
        functions = [each for each in known if each.function and isinstance(each.statement, ast.ImportFrom)]
        if functions:
            statement = functions[-1].statement
            assert isinstance(statement, ast.ImportFrom)
            self._imports[longer_import(self._spot, statement, name)] = None
            return name
        tree = self._spot.text.tree
        alias = next((each for each in USUAL[api] if not defined_at_top(tree, each)), f"streamsan_{api}")
        text = f"from cuda.bindings import {api}" + (f" as {alias}" if alias != api else "")
        self._imports[new_import(self._spot, text)] = None
        return f"{alias}.{name}"


class Speeches:
    """How code is written at the spots of some modules."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._checks: dict[int, tuple[PythonText, Checks]] = {}

    def at(self, spot: Spot, row: int) -> Speech:
        """Return how code is written at a spot, where a row's operation was issued."""
        found = self._checks.get(id(spot.text))
        if found is None:
            found = self._checks[id(spot.text)] = (spot.text, Checks(spot.text))
        return Speech(spot, self._names, row, found[1])
