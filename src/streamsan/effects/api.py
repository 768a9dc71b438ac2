"""One API of the effects table: what it does and every argument list it was ever published with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from streamsan.effects.roles import POINTER_ROLES, Effect, Role
from streamsan.effects.signature import Parameter, Signature
from streamsan.vocabulary import FreeClass, MemoryKind

Domain = Literal["runtime", "driver"]
Hint = Literal["stream", "event", "context", "device", "pool", "graph", "graph_exec", "node", "array", "ipc", "other",
               "memory", "kernel", "program", "sampler", "platform", "command_buffer", "semaphore",
               "pointer", "number", "address of"] | None  # fmt: skip
"""What a caller knows of an argument: a handle's type, a memory address, a number, the address of a variable."""


class Api(Struct, frozen=True):
    """One row of the table."""

    name: str
    """as programs write it, without `_v2` or `_ptsz`"""
    domain: Domain
    family: str
    effect: Effect
    versions: tuple[Signature, ...]
    """published argument lists, the current one first; never empty"""
    memory: MemoryKind | None = None
    """for allocations: what is made"""
    free: FreeClass | None = None
    """for frees: the family of free"""
    wait: Literal["", "synchronous", "asynchronous"] = ""
    """for copies and fills: which column of waits.toml"""
    direction: str = ""
    """for copies whose direction is in their name: host_to_device, device_to_host, device_to_device"""
    statuses: tuple[str, ...] = ()
    """what the call itself may return beyond success (any call may also return earlier asynchronous errors)"""
    returns: str = ""
    """what the call returns (roles.RESULT_WORDS): "" is a status"""
    since: str = ""
    """first CUDA version that has it, "" when it was always there or is not recorded"""
    until: str = ""
    """last CUDA version that had it"""

    def bind(self, count: int, types_hint: Sequence[Hint] | None = None) -> Signature | None:
        """Return the argument list that a call with `count` arguments uses; None if no published one takes as many.

        Where several do (old and new cudaMemPrefetchAsync), `types_hint` decides: what is known of each argument, None
        where nothing is. Without a hint the first in the table wins.
        """
        fitting = [signature for signature in self.versions if signature.accepts(count)]
        if not fitting:
            return None
        if types_hint is None or len(fitting) == 1:
            return fitting[0]
        return max(fitting, key=lambda signature: _agreement(signature, types_hint))

    def best_guess(self, count: int) -> Signature:
        """Return the argument list nearest to a malformed call: the one with the least difference in arguments."""
        bound = self.bind(count)
        if bound is not None:
            return bound
        return min(self.versions, key=lambda signature: _distance(signature, count))

    def explain_mismatch(self, count: int) -> str:
        """Return why `count` arguments are wrong: "cudaFreeAsync takes 2 arguments (devPtr, hStream); 1 given"."""
        counts = sorted({number for signature in self.versions for number in _counts(signature)})
        takes = f"{_either(counts)} argument{'' if counts == [1] else 's'}" if counts != [0] else "no arguments"
        nearest = self.best_guess(count)
        if any(signature.most is None for signature in self.versions):
            takes = f"at least {takes}"
        names = f" ({nearest.names})" if nearest.parameters else ""
        return f"{self.name} takes {takes}{names}; {count} given"


def _counts(signature: Signature) -> range:
    most = signature.least if signature.most is None else signature.most
    return range(signature.least, most + 1)


def _either(counts: list[int]) -> str:
    if len(counts) > 2 and counts == list(range(counts[0], counts[-1] + 1)):
        return f"{counts[0]} to {counts[-1]}"
    return " or ".join(str(count) for count in counts)


def _distance(signature: Signature, count: int) -> int:
    if count < signature.least:
        return signature.least - count
    return 0 if signature.most is None else max(0, count - signature.most)


def _agreement(signature: Signature, hints: Sequence[Hint]) -> int:
    """How many hints agree with the argument list, less how many contradict it."""
    score = 0
    for position, hint in enumerate(hints):
        parameter = signature.parameter(position)
        if hint is not None and parameter is not None:
            score += 1 if _agrees(parameter, hint) else -1
    return score


def _agrees(parameter: Parameter, hint: Hint) -> bool:
    if hint == "pointer":
        return parameter.role in POINTER_ROLES or parameter.is_out
    if hint == "address of":
        return parameter.is_out or parameter.role in (Role.STRUCTURE, Role.LIST)
    if hint == "number":
        # A number is also the default stream, and a device.
        return parameter.role not in POINTER_ROLES and not parameter.is_out
    if hint == "device":
        return parameter.role is Role.DEVICE
    return parameter.role is Role.HANDLE and parameter.handle == hint
