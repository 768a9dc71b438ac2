"""Which device a host thread has current when it issues an operation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind, SlotFlag

_Steps = tuple[list[int], list[int]]
"""sequence numbers, and what holds from each of them on"""


class CurrentDevices:
    """The devices that are current to the threads of one trace."""

    def __init__(self, chunks: Iterable[Slots]) -> None:
        self._contexts: dict[int, _Steps] = {}
        """thread -> contexts that become current to it"""
        self._devices: dict[int, _Steps] = {}
        """context -> devices: a number may come back for another context"""
        for chunk in chunks:
            # The number of a device that nobody knows says nothing.
            known = (chunk["flags"] & SlotFlag.ASSUMED) == 0
            wanted = (chunk["kind"] == OperationKind.CONTEXT_CREATE) & known
            wanted |= chunk["kind"] == OperationKind.CONTEXT_CURRENT
            for slot in chunk[wanted & np.isin(chunk["status"], (0, STATUS_UNKNOWN))]:
                made = int(slot["kind"]) == OperationKind.CONTEXT_CREATE
                key, value = ("object", "address") if made else ("thread", "object")
                table = self._devices if made else self._contexts
                numbers, values = table.setdefault(int(slot[key]), ([], []))
                numbers.append(int(slot["sequence"]))
                values.append(int(slot[value]))

    def of(self, thread: int, sequence: int) -> int | None:
        """Return the device that is current to a thread at an operation, None where that is not known."""
        context = _at(self._contexts.get(thread), sequence)
        return None if context is None else _at(self._devices.get(context), sequence)


def _at(steps: _Steps | None, sequence: int) -> int | None:
    """Return what holds just before a sequence number."""
    if steps is None:
        return None
    number = bisect_left(steps[0], sequence)
    return steps[1][number - 1] if number else None
