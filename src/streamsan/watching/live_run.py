"""What a run has done so far, in tables that grow with its streams, sites and live memory, not with its length."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from streamsan.timeline.shown_operations import TOLD_LATER, on_stream
from streamsan.timeline.wait_sites import WAITS
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.trace.store import Slots
from streamsan.vocabulary import MemoryKind, OperationKind

Place = tuple[int, int, int]
"""number of the file, site id, API index: a call in the program"""
STOPS_ALL = (OperationKind.CONTEXT_SYNCHRONIZE, OperationKind.DEVICE_RESET)
"""kinds after which nothing is pending, as far as this process's device goes"""


class StreamRow(Struct):
    """One stream (queue) of a process."""

    file: int
    handle: int
    operations: int = 0
    pending: int = 0
    """operations since the host last waited for all of the stream: what events waited for is among them"""
    last: Place = (0, 0, 0)


class MemoryRow(Struct):
    """Live memory of one kind, or of one call site."""

    count: int = 0
    bytes: int = 0
    peak: int = 0
    """most bytes at a time"""

    def add(self, size: int) -> None:
        """Count an allocation."""
        self.count += 1
        self.bytes += size
        self.peak = max(self.peak, self.bytes)

    def remove(self, size: int) -> None:
        """Count its end."""
        self.count -= 1
        self.bytes -= size


class WaitRow(Struct):
    """Waits at one call site."""

    count: int = 0
    nanoseconds: int = 0
    """how long the host waited there in all"""


class LiveRun(Struct):
    """The tables."""

    operations: int = 0
    streams: dict[tuple[int, int], StreamRow] = field(default_factory=dict)
    """by file and handle"""
    kinds: dict[str, MemoryRow] = field(default_factory=dict)
    sites: dict[Place, MemoryRow] = field(default_factory=dict)
    waits: dict[Place, WaitRow] = field(default_factory=dict)
    _live: dict[tuple[int, int], tuple[int, str, Place]] = field(default_factory=dict)
    """file and address -> size, kind, place"""
    _freed: dict[tuple[int, int], int] = field(default_factory=dict)
    """frees of the last look of what is not known: another thread's allocation may be read a moment later"""

    def take(self, file: int, slots: Slots) -> None:
        """Add the new operations of one file, in their order."""
        told = slots[~np.isin(slots["kind"], TOLD_LATER)]
        self.operations += len(told)
        self._take_streams(file, told)
        self._take_memory(file, told)
        self._take_waits(file, told)

    def _take_streams(self, file: int, slots: Slots) -> None:
        stands = on_stream(slots)
        handles = slots["stream"]
        everything = _last(np.isin(slots["kind"], STOPS_ALL))
        if everything >= 0:
            for row in self.streams.values():
                row.pending = 0 if row.file == file else row.pending
        awaited = slots["kind"] == OperationKind.STREAM_SYNCHRONIZE
        rows = np.flatnonzero(stands | awaited)
        handles, which = np.unique(slots["stream"][rows], return_inverse=True)
        issued, waits = stands[rows], awaited[rows]
        since = np.full(len(handles), everything)
        np.maximum.at(since, which[waits], rows[waits])
        last = np.full(len(handles), -1)
        np.maximum.at(last, which[issued], rows[issued])
        counts = np.bincount(which[issued], minlength=len(handles))
        pending = np.bincount(which[issued & (rows > since[which])], minlength=len(handles))
        for at, handle in enumerate(handles.tolist()):
            row = self.streams.setdefault((file, handle), StreamRow(file, handle))
            row.pending = int(pending[at]) + (row.pending if since[at] < 0 else 0)
            row.operations += int(counts[at])
            if last[at] >= 0:
                slot = slots[int(last[at])]
                row.last = file, int(slot["site"]), int(slot["api"])

    def _take_memory(self, file: int, slots: Slots) -> None:
        early, self._freed = self._freed, {}
        kinds = (OperationKind.ALLOC, OperationKind.FREE, OperationKind.DEVICE_RESET)
        done = np.isin(slots["status"], (0, STATUS_UNKNOWN))
        memory = slots[np.isin(slots["kind"], kinds) & done]
        fields = ("kind", "address", "size", "detail", "sequence", "site", "api")
        columns = (memory[name].tolist() for name in fields)
        for kind, address, size, detail, sequence, site, api in zip(*columns, strict=True):
            key = file, address
            if kind == OperationKind.ALLOC:
                # An allocation in a graph's body happens when the graph is launched.
                if detail != MemoryKind.GRAPH and early.get(key, 0) <= sequence:
                    self._begin(key, size, _kind_name(detail), (file, site, api))
            elif kind == OperationKind.FREE:
                if key in self._live:
                    self._end(key)
                else:
                    self._freed[key] = sequence
            else:
                for other in [other for other in self._live if other[0] == file]:
                    self._end(other)

    def _begin(self, key: tuple[int, int], size: int, kind: str, place: Place) -> None:
        if key in self._live:
            self._end(key)
        self._live[key] = size, kind, place
        self.kinds.setdefault(kind, MemoryRow()).add(size)
        self.sites.setdefault(place, MemoryRow()).add(size)

    def _end(self, key: tuple[int, int]) -> None:
        size, kind, place = self._live.pop(key)
        self.kinds[kind].remove(size)
        self.sites[place].remove(size)

    def _take_waits(self, file: int, slots: Slots) -> None:
        waits = slots[np.isin(slots["kind"], WAITS)]
        encoded = waits["duration"].astype(np.uint64)
        times = (encoded & np.uint64(2047)) << (encoded >> np.uint64(11))
        keys = waits["site"].astype(np.uint64) << np.uint64(16) | waits["api"]
        numbers, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        spent = np.bincount(inverse, times.astype(np.float64), minlength=len(numbers)).astype(np.int64)
        for number, count, time in zip(numbers.tolist(), counts.tolist(), spent.tolist(), strict=True):
            row = self.waits.setdefault((file, number >> 16, number & 0xFFFF), WaitRow())
            row.count += count
            row.nanoseconds += time


def _kind_name(number: int) -> str:
    known = MemoryKind(number).name if number in MemoryKind.__members__.values() else MemoryKind.UNKNOWN.name
    return known.lower().replace("_", "-")


def _last(where: NDArray[np.bool_]) -> int:
    """Return the last row, -1 where there is none."""
    rows = np.flatnonzero(where)
    return int(rows[-1]) if len(rows) else -1
