"""The cases: what each is called, what it shows, where it may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Observation = bool | int | str | list[int] | list[str]
Observations = dict[str, Observation]
Body = Callable[[Any], Observations]
"""takes the case's `Lab`, which knows this module"""

_CASES: dict[str, Case] = {}


@dataclass(frozen=True, slots=True)
class Case:
    """One program. It makes all it needs, and returns what it observed by name."""

    name: str
    """`family/what`, unique"""
    statement: str
    """one line: what is done, so that an observation can be read"""
    covers: tuple[str, ...]
    """ids of rows in docs/facts.md, or names of `OPEN_POINTS`"""
    body: Body
    timed: bool = False
    """asks whether a call waited: on a GPU nothing else may run meanwhile"""
    fresh: bool = False
    """in a process of its own: it resets, breaks or ends something"""
    bare: bool = False
    """begins before CUDA is initialised in its process (it forks)"""
    devices: int = 1
    """how many it needs"""
    undefined: bool = False
    """what happens is undefined, a crash too: it is recorded, and not compared"""

    def __post_init__(self) -> None:
        if self.bare:
            object.__setattr__(self, "fresh", True)

    @property
    def family(self) -> str:
        """The part of the name before the first slash."""
        return self.name.partition("/")[0]


OPEN_POINTS = {
    "implicit-free": "which frees wait, for what, by kind of memory and of pending work",
    "copy-return": "when a copy's call returns against its completion, by kinds of memory, direction and size",
    "fill-return": "when a fill's call returns against its completion",
    "staging": "whether pageable memory may be changed after an asynchronous copy has returned",
    "capture-modes": "which calls a capture forbids, by mode and thread",
    "reuse-policies": "what each reuse policy of a pool allows",
    "auto-free": "AutoFreeOnLaunch against consumers of the memory",
    "free-by-two-graphs": "one allocation freed by two graphs",
    "programmatic-dependence": "what programmatic dependent launch orders",
    "reset-pending": "reset, destruction of a context and last release with work pending",
    "per-thread-stream": "order of the per-thread default stream, the legacy one and others",
    "ipc-lifetime": "IPC: the exporter frees or ends first",
    "exit": "what happens to work and memory at the end of a process",
    "wrong-frees": "frees of what is no allocation, or another family's",
    "recycled-address": "an address that came back",
    "events": "re-record, destruction, events never recorded, queries",
    "host-functions": "host functions and the streams behind them",
    "stream-memory-ops": "stream memory operations",
    "wrong-handles": "handles that are none, or none any more",
    "vmm": "virtual memory: unmap and release of addresses",
    "graph-restrictions": "update, clone and nodes of graphs",
    "accounting": "attributes of pools and of graphs' memory",
    "peers": "two devices: access, frees, copies",
    "contexts": "memory and work of several contexts",
    "opaque-order": "orders that CUDA does not know of",
}
"""What the documentation leaves open, or says without a word on the driver; a case may cover one of these."""


class DuplicateError(Exception):
    """Two cases have one name."""


def register(case: Case) -> None:
    """Add a case. Raises DuplicateError."""
    if case.name in _CASES:
        raise DuplicateError(case.name)
    _CASES[case.name] = case


class Family:
    """Cases whose names begin alike, with the marks that all of them have (`timed=True`: see `Case`).

    As a decorator it registers a function as a case: the function's name is the rest of the case's name, its docstring
    the statement. `row` registers one of many cases that share a function.
    """

    def __init__(self, prefix: str, **marks: Any) -> None:
        self._prefix = prefix
        self._marks = marks

    def __call__(self, *covers: str, name: str = "", **marks: Any) -> Callable[[Body], Body]:
        """Return a decorator. `name`: the rest of the case's name, where the function cannot be called so."""

        def add(body: Body) -> Body:
            statement = " ".join((body.__doc__ or "").split()).removesuffix(".")
            self._register(name or body.__name__.replace("_", "-"), statement, covers, body, marks)
            return body

        return add

    def row(
        self,
        name: str,
        statement: str,
        covers: Sequence[str],
        function: Callable[..., Observations],
        *arguments: object,
        **marks: Any,
    ) -> None:
        """Register a case: a function, called with the `Lab` and the arguments."""
        self._register(name, statement, covers, lambda lab: function(lab, *arguments), marks)

    def _register(self, name: str, statement: str, covers: Sequence[str], body: Body, marks: Mapping[str, Any]) -> None:
        register(Case(f"{self._prefix}/{name}", statement, tuple(covers), body, **{**self._marks, **marks}))


def all_cases() -> dict[str, Case]:
    """Return every case by name, in the order in which they were written."""
    from conformance import cases

    cases.load()
    return dict(_CASES)
