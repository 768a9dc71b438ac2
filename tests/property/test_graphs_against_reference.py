"""The engine against launches that are expanded into nodes, on random programs with graphs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamsan.order.engine import analyse
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, NodeKind, SlotFlag, StreamKind
from streamsan.vocabulary import OperationKind as Kind

EXAMPLES = int(os.environ.get("STREAMSAN_PROPERTY_EXAMPLES", "300"))
STREAMS, EVENTS, EXECS = (10, 11, 12), (30, 31), (70, 71)
ADDRESSES = tuple(0x1000 * i for i in range(1, 5))
MODES = {True: AccessMode.READ_WRITE, False: AccessMode.READ}

Step = tuple[str, int, int, int]
NAMES = ("launch", "launch", "graph", "graph", "graph", "make", "update", "record", "wait", "free", "destroy")
STEPS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=40
)


@dataclass
class Expanded:
    """Every node of every launch, each with all that is before it."""

    before: list[frozenset[int]] = field(default_factory=list)
    streams: dict[int, frozenset[int]] = field(default_factory=dict)
    events: dict[int, frozenset[int]] = field(default_factory=dict)
    launches: dict[int, frozenset[int]] = field(default_factory=dict)
    bodies: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    stale: dict[int, set[int]] = field(default_factory=dict)
    uses: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)
    expected: set[tuple[int, int]] = field(default_factory=set)
    again: set[tuple[int, int]] = field(default_factory=set)
    """what may stay silent: later launches of a graph in the same conflict with the same earlier use"""
    said: set[tuple[int, int]] = field(default_factory=set)
    """executable graphs, and uses with which they are known to conflict"""

    def use(self, stream: int, address: int, writes: bool, line: int, graph: int = 0) -> None:
        """Add a use, and what it conflicts with."""
        past = self.streams.get(stream, frozenset())
        number = len(self.before)
        self.before.append(past)
        for other, other_writes in self.uses.get(address, []):
            if (writes or other_writes) and other not in past:
                repeated = graph != 0 and (graph, other) in self.said
                self.said.add((graph, other))
                (self.again if repeated else self.expected).add((109, line))
        self.uses.setdefault(address, []).append((number, writes))
        self.streams[stream] = past | {number}


class Builder:
    """The trace and the expansion, step by step."""

    def __init__(self) -> None:
        self.builder = TraceBuilder("program")
        self.builder.thread(0, "main")
        self.line = 0
        self.reference = Expanded()
        for stream in STREAMS:
            self.op(Kind.STREAM_CREATE, object=stream, detail=StreamKind.NON_BLOCKING)
        for event in EVENTS:
            self.op(Kind.EVENT_CREATE, object=event)
        for address in ADDRESSES:
            self.op(Kind.ALLOC, detail=MemoryKind.PLAIN, references=[Reference(address, 256)])

    def op(self, kind: Kind, **fields: object) -> int:
        self.line += 1
        site = self.builder.site(Site("program", self.line))
        self.builder.append(kind, thread=0, api="call", site=site, **fields)  # type: ignore[arg-type]
        return self.line

    def take(self, step: Step) -> None:
        """Do one step, if it is legal now."""
        name, a, b, c = step
        now = self.reference
        stream, address, handle = STREAMS[a % 3], ADDRESSES[b % 4], EXECS[b % 2]
        if name == "launch" and address not in now.freed:
            writes = c % 2 == 0
            line = self.op(Kind.LAUNCH, stream=stream, references=[self._reference(address, writes)])
            now.use(stream, address, writes, line)
        elif name in ("make", "update") and (name == "update") == (handle in now.bodies):
            self._body(handle, a, c, Kind.GRAPH_INSTANTIATE if name == "make" else Kind.GRAPH_UPDATE)
        elif name == "destroy" and handle in now.bodies:
            self.op(Kind.HANDLE_DESTROY, object=handle, detail=6)
            del now.bodies[handle]
            now.launches.pop(handle, None)
        elif name == "graph" and handle in now.bodies:
            self._launch(handle, stream)
        elif name == "record":
            self.op(Kind.EVENT_RECORD, object=EVENTS[b % 2], stream=stream)
            now.events[EVENTS[b % 2]] = now.streams.get(stream, frozenset())
        elif name == "wait":
            self.op(Kind.STREAM_WAIT_EVENT, object=EVENTS[b % 2], stream=stream)
            now.streams[stream] = now.streams.get(stream, frozenset()) | now.events.get(EVENTS[b % 2], frozenset())
        elif name == "free" and address not in now.freed and c % 3 == 0:
            self._free(address, stream)

    @staticmethod
    def _reference(address: int, writes: bool) -> Reference:
        return Reference(address, 0, 0, MODES[writes], SlotFlag.TOUCHES)

    def _body(self, handle: int, first: int, count: int, kind: Kind) -> None:
        live = [address for address in ADDRESSES if address not in self.reference.freed]
        if not live:
            return
        body = [(live[(first + i) % len(live)], (first + i * count) % 2 == 0) for i in range(1 + count % 3)]
        self.op(kind, object=handle, size=2 * len(body) - 1)
        for number, (address, writes) in enumerate(body, 1):
            reference = self._reference(address, writes)
            self.op(Kind.GRAPH_NODE, stream=handle, object=number, detail=NodeKind.KERNEL, references=[reference])
        for number in range(1, len(body)):
            self.op(Kind.GRAPH_EDGE, stream=handle, object=number, address=number + 1)
        self.reference.bodies[handle] = body
        self.reference.stale[handle] = set()

    def _launch(self, handle: int, stream: int) -> None:
        now = self.reference
        line = self.op(Kind.GRAPH_LAUNCH, object=handle, stream=stream)
        done = now.launches.get(handle, frozenset())
        # The launch itself is ordered, whatever its nodes do.
        now.streams[stream] = now.streams.get(stream, frozenset()) | done
        for address, writes in now.bodies[handle]:
            if address not in now.freed:
                now.use(stream, address, writes, line, handle)
            elif address not in now.stale[handle]:
                now.stale[handle].add(address)
                now.expected.add((303, line))
        now.launches[handle] = now.streams[stream]

    def _free(self, address: int, stream: int) -> None:
        now = self.reference
        line = self.op(Kind.FREE, detail=FreeClass.ASYNC, stream=stream, references=[Reference(address)])
        past = now.streams.get(stream, frozenset())
        if any(use not in past for use, _ in now.uses.get(address, [])):
            now.expected.add((102, line))
        now.freed.add(address)

    def trace(self) -> Trace:
        return self.builder.finish()


@settings(max_examples=EXAMPLES, deadline=None, derandomize="STREAMSAN_PROPERTY_EXAMPLES" not in os.environ,
          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
@given(STEPS)
def test_launches_are_as_good_as_their_nodes(steps: list[Step]) -> None:
    built = Builder()
    for step in steps:
        built.take(step)
    analysis = analyse(built.trace())
    facts = [fact for fact in analysis.facts if fact.code in (102, 109, 303)]
    found = {(fact.code, fact.operation.site) for fact in facts}
    expected = built.reference.expected
    assert expected <= found <= expected | built.reference.again
    assert not any(fact.assumed for fact in facts)
    assert analysis.problems == 0
