"""The cases: what each is called, what it shows, where it may run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    expected: Mapping[str, Observation] = field(default_factory=dict)
    """what docs/facts.md says; only for observations that a row is about"""
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


def case(
    name: str,
    statement: str,
    covers: Sequence[str],
    *,
    expected: Mapping[str, Observation] | None = None,
    timed: bool = False,
    fresh: bool = False,
    bare: bool = False,
    devices: int = 1,
    undefined: bool = False,
) -> Callable[[Body], Body]:
    """Register a function as a case."""

    def add(body: Body) -> Body:
        register(
            Case(
                name,
                statement,
                tuple(covers),
                body,
                dict(expected or {}),
                timed,
                fresh or bare,
                bare,
                devices,
                undefined,
            )
        )
        return body

    return add


def family(rows: Iterable[tuple[Case, Callable[..., Observations], tuple[object, ...]]]) -> None:
    """Register cases that share a body: each row gives the case without body, the function, its further arguments."""
    for row, function, arguments in rows:
        register(
            Case(
                row.name,
                row.statement,
                row.covers,
                functools.partial(_apply, function, arguments),
                row.expected,
                row.timed,
                row.fresh,
                row.bare,
                row.devices,
                row.undefined,
            )
        )


def _apply(function: Callable[..., Observations], arguments: tuple[object, ...], lab: Any) -> Observations:
    return function(lab, *arguments)


def all_cases() -> dict[str, Case]:
    """Return every case by name, in the order in which they were written."""
    from conformance import cases

    cases.load()
    return dict(_CASES)
