"""The rows of a platform's facts.toml."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from streamsan.effects.waits import Endpoint
from streamsan.vocabulary import MemoryKind

NO_STATUS = -32767
"""The number of a status that the platform does not have: no call returns it."""


class MemoryFacts(Struct, frozen=True):
    """What holds for all memory of a kind."""

    side: Endpoint = Endpoint.DEVICE
    dies_with_context: bool = False
    """a reset, or the end of the context that made it, takes it away"""
    pooled: bool = False
    """from a pool or a graph: given back in a stream's order, and no free waits for it"""
    every_device: bool = False
    """every device reaches it without further leave"""
    facts: tuple[str, ...] = ()
    """rows of docs/facts.md that say so"""


class FreeFacts(Struct, frozen=True):
    """What holds for a family of free functions."""

    accepts: frozenset[MemoryKind] | None = None
    """kinds that it releases; None: it is no call that could refuse"""
    waits: bool = False
    """for all work of the context that owns the memory, unless that is pooled; observed, not promised"""
    relied_on: bool = True
    """what only this wait orders is a program's reliance on it; False: to the rules it is unordered"""
    of_host: bool = False
    """nothing of the device's is taken back (yet)"""
    facts: tuple[str, ...] = ()
    """rows of docs/facts.md that say so"""


class Interface(Struct, frozen=True):
    """One of the interfaces by which programs use a platform: CUDA's runtime, CUDA's driver."""

    name: str
    prefix: str
    """how its functions begin"""
    document: str
    """the manual's title"""
    errors: str
    """how the names of its statuses begin"""
    low_level: bool = False
    """the others are made of it"""
    negative: bool = False
    """its statuses are negative numbers"""
    names: Mapping[str, str] = field(default_factory=dict)
    """of a low-level one: names of the other interface -> what does the same here"""


class Statuses(Struct, frozen=True):
    """The numbers of the statuses that mean something to the tool."""

    success: int = 0
    invalid_value: int = NO_STATUS
    out_of_memory: int = NO_STATUS
    initialization_error: int = NO_STATUS
    devices_unavailable: int = NO_STATUS
    invalid_context: int = NO_STATUS
    invalid_handle: int = NO_STATUS
    not_ready: int = NO_STATUS
    illegal_address: int = NO_STATUS
    peer_already_enabled: int = NO_STATUS
    context_is_destroyed: int = NO_STATUS
    not_registered: int = NO_STATUS
    launch_failure: int = NO_STATUS
    not_supported: int = NO_STATUS
    deinitialized: int = NO_STATUS
    capture_unsupported: int = NO_STATUS
    capture_invalidated: int = NO_STATUS
    capture_implicit: int = NO_STATUS
    captured_event: int = NO_STATUS
    update_refused: int = NO_STATUS
    answers: frozenset[int] = frozenset()
    """a program calls to see them: no failures"""
    of_other_code: frozenset[int] = frozenset()
    """those of the answers that are failures where all code is in view"""
    of_capture: frozenset[int] = frozenset()
    """a capture forbids the call, or is broken"""
    of_pointers: frozenset[int] = frozenset()
    """a free that returns one was given a wrong pointer"""
    sticky: frozenset[int] = frozenset()
    """every later call of the process returns it, too"""
