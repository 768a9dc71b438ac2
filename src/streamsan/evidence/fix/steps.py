"""What a fix can do to a trace: each step is made at every place where the program would make it, and has its words.

A program is edited at a place, and a place is run through many times: a step looks up all the operations at the places
of a finding's operations, and pairs each with the latest operation of the other place before it.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Protocol

import numpy as np
from msgspec import Struct

from streamsan.evidence.fix.edited_trace import EditableTrace, Edits
from streamsan.order.facts import Operation
from streamsan.platforms import CUDA, Platform
from streamsan.rules.case import Case
from streamsan.trace.reference_bounds import BOUNDED
from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind

USES = (
    OperationKind.LAUNCH,
    OperationKind.COPY,
    OperationKind.MEMSET,
    OperationKind.PREFETCH,
    OperationKind.HOST_ACCESS,
    OperationKind.HOST_FUNCTION,
    OperationKind.STREAM_MEMORY_OP,
    OperationKind.ALLOC_ATTRIBUTE,
)


class Step(Protocol):
    """One change of a trace, and of the program that it stands for."""

    def apply(self, edits: Edits) -> bool:
        """Make the change. Returns False where the trace has no place for it."""

    def words(self, case: Case) -> str:
        """Return what to write where, with the program's own names."""


class Calls(Struct, frozen=True):
    """The names of the calls that a fix puts in, as the platform's `rules.toml` has them."""

    driver: bool
    """the program calls the platform's low-level interface, as CUDA's driver"""
    platform: Platform = CUDA

    @classmethod
    def of(cls, case: Case, *operations: Operation) -> Calls:
        """Return the names for a program that issued these operations."""
        low_level = any(case.platform.is_low_level(case.api(operation)) for operation in operations)
        return cls(low_level, case.platform)

    def _name(self, call: str) -> str:
        name: str = self.platform.rule_texts["call"][call]
        return self.platform.low_level_name(name) or name if self.driver else name

    @property
    def record(self) -> str:
        """Record an event."""
        return self._name("record")

    @property
    def stream_wait(self) -> str:
        """Let a stream wait for an event."""
        return self._name("stream_wait")

    @property
    def event_wait(self) -> str:
        """Let the host wait for an event."""
        return self._name("event_wait")

    @property
    def stream_sync(self) -> str:
        """Let the host wait for a stream."""
        return self._name("stream_sync")

    @property
    def device_sync(self) -> str:
        """Let the host wait for all work."""
        return self._name("device_sync")

    @property
    def add_edge(self) -> str:
        """Let one node of a graph depend on another."""
        return self._name("add_edge")

    @property
    def free_async(self) -> str:
        """Free in the order of a stream."""
        return self._name("free_async")


def pairs(trace: EditableTrace, earlier: Operation, later: Operation) -> list[tuple[int, int]]:
    """Return the rows of all operations at the later one's place, each with those at the earlier one's that it needs.

    These are the latest before it in each stream of its process, as far back as the last operation at the later one's
    place, or those that this one had. Where there are none, nothing is known that it should wait for, and it is left
    out.
    """
    sources, targets = trace.instances(earlier), trace.instances(later)
    own = trace.row(earlier), trace.row(later)
    result = []
    for process in sorted({trace.process(row) for row in targets}):
        these = [row for row in sources if trace.process(row) == process]
        result += _pairs(trace.slots, these, [row for row in targets if trace.process(row) == process], own)
    return sorted(result, key=lambda pair: pair[1])


def _pairs(
    slots: Slots, sources: list[int], targets: list[int], own: tuple[int | None, int | None]
) -> list[tuple[int, int]]:
    """Return the pairs of one process."""
    result = []
    begin = 0
    latest: dict[int, int] = {}
    for target in targets:
        end = bisect_left(sources, target)
        latest = {int(slots["stream"][row]): row for row in sources[begin:end]} or latest
        if target == own[1] and own[0] is not None and own[0] < target:
            latest.setdefault(int(slots["stream"][own[0]]), own[0])
        result += [(row, target) for row in sorted(latest.values())]
        begin = end
    return result


def touches(slots: Slots, row: int, address: int, extent: int) -> bool:
    """Tell whether an operation refers to [address, address + extent)."""
    if _overlaps(int(slots["address"][row]), int(slots["size"][row]), address, extent):
        return True
    for offset in range(1, int(slots["more"][row]) + 1):
        words = slots[row + offset : row + offset + 1].view(np.uint64).tolist()
        if _overlaps(words[0], words[1], address, extent) or _overlaps(words[2], words[3], address, extent):
            return True
    return False


def _overlaps(begin: int, size: int, address: int, extent: int) -> bool:
    size = 0 if size & BOUNDED else size
    return begin != 0 and begin < address + max(1, extent) and address < begin + max(1, size)
