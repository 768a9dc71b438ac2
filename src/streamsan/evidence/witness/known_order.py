"""What the order engine knows to happen before chosen operations of a trace: a second pass over its beginning."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from streamsan.order._engine import Engine
from streamsan.order.engine import asking_apis, begins_at
from streamsan.order.facts import Operation, operation_kind
from streamsan.order.rearrangement import operation_starts
from streamsan.trace import Trace
from streamsan.trace.store import Slots
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import EventKind, OperationKind

SYNCHRONISES = (
    OperationKind.STREAM_CREATE,
    OperationKind.EVENT_RECORD,
    OperationKind.STREAM_WAIT_EVENT,
    OperationKind.EVENT_SYNCHRONIZE,
)
"""Kinds that a witness names where they do not help."""
MOST_KEPT = 65_536
"""records and waits that are remembered, the latest ones"""
MOST_LOOKED_AT = 1024
"""of one stream"""
MOST_COUNTED = 1 << 20
"""operations at the asked sites that are remembered, the latest ones"""
BODY_PARTS = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_EDGE)


class Before:
    """What is before one operation, by sequence numbers. Of a node of a graph: nodes only."""

    def __init__(self, calls: Collection[int] = (), works: Collection[int] = ()) -> None:
        self._calls, self._works = frozenset(calls), frozenset(works)

    def has_work(self, sequence: int) -> bool:
        """Tell whether work is complete before the operation."""
        return sequence in self._works

    @property
    def calls(self) -> frozenset[int]:
        """Calls that have been made."""
        return self._calls

    @property
    def works(self) -> frozenset[int]:
        """Work of streams that is complete, or of a graph: nodes."""
        return self._works


class EngineBefore(Before):
    """The engine's answer for one operation; of a long trace it is long, and listed only where somebody asks for it."""

    def __init__(self, engine: Engine, sequence: int) -> None:
        super().__init__()
        self._engine = engine
        self._sequence = sequence
        self._is_listed = False

    def has_work(self, sequence: int) -> bool:
        """Tell whether work is complete before the operation, without listing all that is."""
        return self._engine.is_before(sequence, self._sequence)

    @property
    def calls(self) -> frozenset[int]:
        """Calls that have been made."""
        self._list()
        return self._calls

    @property
    def works(self) -> frozenset[int]:
        """Work of streams that is complete, or of a graph: nodes."""
        self._list()
        return self._works

    def _list(self) -> None:
        if not self._is_listed:
            self._is_listed = True
            _, calls, works = self._engine.before(self._sequence)
            self._calls, self._works = frozenset(calls), frozenset(works)


class Sync(Struct, frozen=True):
    """A record of an event, a stream's or the host's wait for one, or the creation of a stream."""

    sequence: int
    kind: OperationKind
    stream: int
    """for a STREAM_CREATE: the stream that it makes; 0 for a wait of the host"""
    event: int
    site: int
    thread: int


class Order(Struct, frozen=True, dict=True):
    """The engine's answer."""

    before: Mapping[int, Before] = field(default_factory=dict)
    """for each operation that was asked for and met"""
    syncs: Slots | None = None
    """slots of the latest records and waits"""
    counted: Slots | None = None
    """slots of the latest operations at the sites that were asked for"""

    def syncs_of(self, stream: int) -> Sequence[Sync]:
        """Return the latest records and waits of a stream, and its creations, in the order of the trace."""
        return self._syncs_by_stream.get(stream, ())

    @cached_property
    def _syncs_by_stream(self) -> dict[int, list[Sync]]:
        if self.syncs is None:
            return {}
        made = self.syncs["kind"] == OperationKind.STREAM_CREATE
        return _latest(self.syncs, np.where(made, self.syncs["object"], self.syncs["stream"]))

    def host_waits(self, thread: int) -> Sequence[Sync]:
        """Return the latest waits for events of a host thread, in the order of the trace."""
        return self._waits_by_thread.get(thread, ())

    @cached_property
    def _waits_by_thread(self) -> dict[int, list[Sync]]:
        if self.syncs is None:
            return {}
        waits = self.syncs[self.syncs["kind"] == OperationKind.EVENT_SYNCHRONIZE]
        return _latest(waits, waits["thread"])

    def count_between(self, operation: Operation, first: int, last: int) -> int | None:
        """Return how often an operation's call is made between two others; None where they are no longer known."""
        numbers = self._numbers.get((operation.site, operation.kind))
        if self.counted is None or numbers is None or first < int(self.counted["sequence"][0]):
            return None
        begin, end = np.searchsorted(numbers, np.array([first, last], np.uint64), side="left").tolist()
        return int(end - begin - (begin < end and int(numbers[begin]) == first))

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], NDArray[np.uint64]]:
        """The sequence numbers of the operations at a site, of one kind."""
        if self.counted is None:
            return {}
        slots = self.counted[np.lexsort((self.counted["kind"], self.counted["site"]))]
        changes = (np.diff(slots["site"]) != 0) | (np.diff(slots["kind"]) != 0)
        parts = np.split(slots, np.flatnonzero(changes) + 1)
        return {(int(part["site"][0]), int(part["kind"][0])): part["sequence"] for part in parts if len(part)}

    def is_recorded_before(self, event: int, sequence: int) -> bool:
        """Tell whether any stream recorded an event before an operation, as far as is remembered."""
        if self.syncs is None:
            return False
        records = self.syncs["kind"] == OperationKind.EVENT_RECORD
        same = self.syncs["object"] == np.uint64(event)
        return bool((records & same & (self.syncs["sequence"] < np.uint64(sequence))).any())


def order_before(
    trace: Trace, sequences: Collection[int], early: Collection[int] = (), sites: Collection[int] = ()
) -> Order:
    """Ask the engine what is before these operations. Reads the trace up to the last of them. Raises TraceError.

    Of those in `early`, kernels that begin at once, it is asked what is before their first accesses. Operations at
    `sites` can be counted in the answer.
    """
    if not sequences:
        return Order()
    recording = trace.origin == RECORDING
    engine = Engine(
        [thread.process for thread in trace.threads],
        False,
        asking_apis(trace.apis),
        [],
        recording,
        begins_at(trace),
    )
    engine.watch(sorted(sequences), sorted(early))
    syncs, counted = _Latest(MOST_KEPT), _Latest(MOST_COUNTED)
    asked = np.fromiter(sites, np.uint32, len(sites))
    has_user_events = False
    for slots in prefix(trace, max(sequences)):
        engine.feed(np.ascontiguousarray(slots).view(np.uint8))
        syncs.add(slots[np.isin(slots["kind"], SYNCHRONISES)])
        has_user_events = has_user_events or bool(_makes_user_event(slots).any())
        if len(asked):
            counted.add(slots[operation_starts(slots) & np.isin(slots["site"], asked)])
    if has_user_events:
        _feed_until_met(engine, trace, sequences)
    engine.finish()
    found = {sequence: EngineBefore(engine, sequence) for sequence in sequences if engine.has_met(sequence)}
    return Order(found, syncs.slots, counted.slots)


def _makes_user_event(slots: Slots) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = (slots["kind"] == OperationKind.EVENT_CREATE) & (slots["detail"] == EventKind.USER)
    return result


def _feed_until_met(engine: Engine, trace: Trace, sequences: Collection[int]) -> None:
    """Feed what comes behind the last of these operations: one that waits for a user event comes when that is set."""
    last = max(sequences)
    for slots in trace.chunks():
        starts = operation_starts(slots)
        owner = np.maximum.accumulate(np.where(starts, np.arange(len(slots)), 0))
        sets = np.flatnonzero(starts & (slots["kind"] == OperationKind.EVENT_RECORD) & (slots["stream"] == 0))
        beyond = slots["sequence"][owner] > last
        begins = np.append(np.flatnonzero(starts), len(slots))
        behind = begins[np.searchsorted(begins, sets, side="right")] if len(sets) else sets
        begin = 0
        for end in (*behind.tolist(), len(slots)):
            part = slots[begin:end][beyond[begin:end]]
            begin = end
            if all(map(engine.has_met, sequences)):
                return
            if len(part):
                engine.feed(np.ascontiguousarray(part).view(np.uint8))


class _Latest:
    """The latest slots of some sort, this many and up to one chunk more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: deque[Slots] = deque()
        self._kept = 0

    def add(self, slots: Slots) -> None:
        """Add slots, and forget the oldest where there are too many."""
        if len(slots):
            self._parts.append(slots)
            self._kept += len(slots)
            while self._kept - len(self._parts[0]) > self._most:
                self._kept -= len(self._parts.popleft())

    @property
    def slots(self) -> Slots | None:
        """What is kept, None for nothing."""
        return np.concatenate(self._parts) if self._parts else None


def prefix(trace: Trace, last: int) -> Iterator[Slots]:
    """Yield a trace's slots up to an operation, and to the end of the graph's body that it is in."""
    for slots in trace.chunks():
        starts = np.flatnonzero(operation_starts(slots))
        beyond = starts[(slots["sequence"][starts] > last) & ~np.isin(slots["kind"][starts], BODY_PARTS)]
        if len(beyond):
            if beyond[0]:
                yield slots[: int(beyond[0])]
            return
        yield slots


def _latest(syncs: Slots, keys: NDArray[np.uint64]) -> dict[int, list[Sync]]:
    """Return records and waits by a key of theirs, the latest of each, in the order of the trace."""
    found: dict[int, list[Sync]] = {}
    order = np.argsort(keys, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(rows):
            found[int(keys[rows[0]])] = [_sync(slot) for slot in syncs[rows[-MOST_LOOKED_AT:]]]
    return found


def _sync(slot: np.void) -> Sync:
    kind = operation_kind(int(slot["kind"]))
    makes = kind is OperationKind.STREAM_CREATE
    return Sync(
        sequence=int(slot["sequence"]),
        kind=kind,
        stream=int(slot["object"] if makes else slot["stream"]),
        event=0 if makes else int(slot["object"]),
        site=int(slot["site"]),
        thread=int(slot["thread"]),
    )
