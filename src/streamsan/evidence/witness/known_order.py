"""What the order engine knows to happen before chosen operations of a trace: a second pass over its beginning."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from streamsan.order._engine import Engine
from streamsan.order.engine import RECORDING, asking_apis, begins_at
from streamsan.order.facts import operation_kind
from streamsan.order.rearrangement import operation_starts
from streamsan.trace import Trace
from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind

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


@dataclass(frozen=True, slots=True)
class Sync:
    """A record of an event, a stream's or the host's wait for one, or the creation of a stream."""

    sequence: int
    kind: OperationKind
    stream: int
    """for a STREAM_CREATE: the stream that it makes; 0 for a wait of the host"""
    event: int
    site: int
    thread: int


@dataclass(frozen=True)
class Order:
    """The engine's answer."""

    before: Mapping[int, Before] = field(default_factory=dict)
    """for each operation that was asked for and met"""
    syncs: Slots | None = None
    """slots of the latest records and waits"""

    def syncs_of(self, stream: int) -> list[Sync]:
        """Return the latest records and waits of a stream, and its creations, in the order of the trace."""
        if self.syncs is None:
            return []
        made = self.syncs["kind"] == OperationKind.STREAM_CREATE
        own = np.where(made, self.syncs["object"], self.syncs["stream"]) == np.uint64(stream)
        return [_sync(slot) for slot in self.syncs[own][-MOST_LOOKED_AT:]]

    def host_waits(self, thread: int) -> list[Sync]:
        """Return the latest waits for events of a host thread, in the order of the trace."""
        if self.syncs is None:
            return []
        own = (self.syncs["kind"] == OperationKind.EVENT_SYNCHRONIZE) & (self.syncs["thread"] == thread)
        return [_sync(slot) for slot in self.syncs[own][-MOST_LOOKED_AT:]]

    def is_recorded_before(self, event: int, sequence: int) -> bool:
        """Tell whether any stream recorded an event before an operation, as far as is remembered."""
        if self.syncs is None:
            return False
        records = self.syncs["kind"] == OperationKind.EVENT_RECORD
        same = self.syncs["object"] == np.uint64(event)
        return bool((records & same & (self.syncs["sequence"] < np.uint64(sequence))).any())


def order_before(trace: Trace, sequences: Collection[int], early: Collection[int] = ()) -> Order:
    """Ask the engine what is before these operations. Reads the trace up to the last of them. Raises TraceError.

    Of those in `early`, kernels that begin at once, it is asked what is before their first accesses.
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
    syncs: list[Slots] = []
    kept = 0
    for slots in prefix(trace, max(sequences)):
        engine.feed(np.ascontiguousarray(slots).view(np.uint8))
        syncs.append(slots[np.isin(slots["kind"], SYNCHRONISES)])
        kept += len(syncs[-1])
        while kept - len(syncs[0]) > MOST_KEPT:
            kept -= len(syncs.pop(0))
    engine.finish()
    found = {sequence: EngineBefore(engine, sequence) for sequence in sequences if engine.has_met(sequence)}
    return Order(found, np.concatenate(syncs) if syncs else None)


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
