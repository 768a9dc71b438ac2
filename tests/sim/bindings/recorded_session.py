"""A session without a device: the model alone, and a note of every call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from streamsan.model.call import CallDetails
from streamsan.model.device_model import DeviceModel
from streamsan.model.values import KernelArguments, Outcome, Value
from streamsan.trace.builder import TraceBuilder


@dataclass
class Noted:
    """One call as the bindings made it."""

    api: str
    arguments: list[Value]
    structures: dict[str, dict[str, Value]]
    kernel_arguments: KernelArguments | None
    payload: Any
    early_arguments: KernelArguments | None


@dataclass
class Launch:
    """What the kernels say of a launch."""

    status: int = 0
    kernel_arguments: Any = ()
    payload: Any = None
    early_arguments: Any = None


class Kernels:
    """Notes what a launch was given."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, ...]] = []
        self.answer = Launch()

    def launch(self, function: int, parameters: Any, extra: Any, *, grid: Any, block: Any, shared: int) -> Launch:
        self.given.append((function, parameters, extra, grid, block, shared))
        return self.answer


@dataclass
class RecordedSession:
    """What `active.session()` gives in these tests. `answers` replaces the model's outcome of an API."""

    answers: dict[str, Outcome] = field(default_factory=dict)
    calls: list[Noted] = field(default_factory=list)
    model: DeviceModel = field(default_factory=lambda: DeviceModel(TraceBuilder("test.py")))
    kernels: Kernels = field(default_factory=Kernels)
    lock: Any = field(default_factory=threading.RLock)
    refused: list[tuple[str, int]] = field(default_factory=list)

    def asked(self, api: str, error: int) -> None:
        self.refused.append((api, error))

    def object_of(self, handle: int) -> object:
        return None

    def answer(self, api: str, status: int) -> int:
        self.refused.append((api, status))
        return status

    def call(
        self,
        api: str,
        arguments: Sequence[Value],
        **details: Unpack[CallDetails],
    ) -> Outcome:
        noted = {name: dict(fields) for name, fields in details.get("structures", {}).items()}
        more = (details.get(name) for name in ("kernel_arguments", "payload", "early_arguments"))
        self.calls.append(Noted(api, list(arguments), noted, *more))
        if api in self.answers:
            return self.answers[api]
        return self.model.call(self.model.main_thread, api, arguments, 0, **details)

    @property
    def last(self) -> Noted:
        """The latest call."""
        return self.calls[-1]
