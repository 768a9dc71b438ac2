"""Values that cross the API: what a call is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct, field

from streamsan.vocabulary import AccessMode

Origin = Literal["parameter", "undeclared", "opaque", "input", "uninitialised"]
HandleType = Literal["stream", "event", "context", "device", "pool", "graph", "graph_exec", "node", "array", "ipc",
                     "other", "memory", "kernel", "program", "sampler", "platform", "command_buffer",
                     "semaphore"]  # fmt: skip


class Symbol(Struct, frozen=True):
    """An unknown with identity: the same symbol is the same value; two symbols may be equal."""

    number: int
    name: str
    origin: Origin
    """who decides it: an unknown caller, code that is not there, an opaque call, the program's input"""
    apart: int = 0
    """not 0: a stream that the program made; symbols of the same number are different streams"""

    def __hash__(self) -> int:
        return self.number  # looked up all the time, and hardly any two have the same


class Pointer(Struct, frozen=True):
    """An address inside one allocation of the model's address space."""

    address: int
    """base of the allocation plus offset when the offset is known; else the base"""
    base: int
    generation: int
    """the allocation this pointer was derived from; tells a recycled address apart"""
    exact: bool = True
    """False: an offset was added that is not known, so the pointer may or may not be the base"""
    offset: Symbol | None = None
    """of one that is not exact: what stands for its offset from the base in bytes; None: nobody can say"""


class Handle(Struct, frozen=True):
    """A handle of the API (stream, event, ...). Values are never reused within one model unless a sim decides so."""

    type: HandleType
    value: int


Value = int | float | str | Symbol | Pointer | Handle | None
"""None is a value nobody could compute; 0 is NULL, and the legacy default stream where a stream is meant."""


class Stride(NamedTuple):
    """Of memory that is touched in equal steps: a member of each element of an array."""

    width: int
    """bytes that are touched, from the first one on"""
    pitch: int
    """bytes from step to step"""


KernelArgument = (
    tuple[Value, AccessMode]
    | tuple[Value, AccessMode, int]
    | tuple[Value, AccessMode, int, Value]
    | tuple[Value, AccessMode, int, Value, Stride]
)
"""A value, how the kernel's body uses it, and perhaps flags of the reference (SlotFlag.TOUCHES, SlotFlag.ATOMIC), what
stands for the bytes that it touches there, from the first to the last one, and which of these."""
KernelArguments = Sequence[KernelArgument]
"""The arguments of a kernel, structures flattened."""
Fields = Mapping[str, Value]
"""What is known of a structure: `{"srcPtr.ptr": ..., "extent.width": ...}`."""


class Outcome(Struct, frozen=True):
    """What a call did: its status, and the values written through its out-arguments, by argument name."""

    status: int = 0
    outputs: dict[str, Value] = field(default_factory=dict)


class RefusalError(Exception):
    """A handler ends its call, which fails. The trace knows of it, as of every call that returns."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.outcome = Outcome(status)
