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
OWN = {70: 0x9000, 71: 0xA000}
"""memory that the graphs allocate themselves"""
MODES = {True: AccessMode.READ_WRITE, False: AccessMode.READ}

Step = tuple[str, int, int, int]
NAMES = ("launch", "launch", "graph", "graph", "graph", "make", "update", "node", "record", "wait", "free", "destroy")
STEPS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=40
)


@dataclass
class Node:
    """A node of a body."""

    kind: NodeKind
    address: int
    writes: bool
    before: frozenset[int]
    """numbers of all nodes that edges order before it"""
    line: int = 0
    changed: bool = False

    def conflicts(self, other: Node) -> bool:
        """Whether both are kernels on the same memory, and one of them writes."""
        kernels = self.kind is other.kind is NodeKind.KERNEL
        return kernels and self.address == other.address and (self.writes or other.writes)


@dataclass
class Expanded:
    """Every node of every launch, each with all that is before it."""

    before: list[frozenset[int]] = field(default_factory=list)
    streams: dict[int, frozenset[int]] = field(default_factory=dict)
    events: dict[int, frozenset[int]] = field(default_factory=dict)
    launches: dict[int, frozenset[int]] = field(default_factory=dict)
    bodies: dict[int, list[Node]] = field(default_factory=dict)
    """executable graph to its nodes, numbered from 0"""
    stale: dict[int, set[int]] = field(default_factory=dict)
    uses: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)
    expected: set[tuple[int, int]] = field(default_factory=set)
    again: set[tuple[int, int]] = field(default_factory=set)
    """what may stay silent: later launches of a graph in the same conflict with the same earlier use"""
    said: set[tuple[int, int]] = field(default_factory=set)
    """executable graphs, and uses with which they are known to conflict"""

    def use(self, past: frozenset[int], address: int, writes: bool, line: int, graph: int = 0) -> int:
        """Add a use, and what it conflicts with; return its number."""
        number = len(self.before)
        self.before.append(past)
        for other, other_writes in self.uses.get(address, []):
            if (writes or other_writes) and other not in past:
                repeated = graph != 0 and (graph, other) in self.said
                self.said.add((graph, other))
                (self.again if repeated else self.expected).add((109, line))
        self.uses.setdefault(address, []).append((number, writes))
        return number

    def check(self, body: list[Node], changed_only: bool = False) -> None:
        """Expect what the edges of a body leave unordered; of changed nodes only those pairs that are new."""
        for number, node in enumerate(body):
            for earlier_number, earlier in enumerate(body[:number]):
                ordered = earlier_number in node.before
                if node.address in self.freed or (changed_only and not (node.changed or earlier.changed)):
                    continue
                if node.conflicts(earlier) and not ordered:
                    self.expected.add((109, node.line))
                if node.address == earlier.address and not ordered and not changed_only:
                    if earlier.kind is NodeKind.ALLOC:
                        self.expected.add((304, node.line))
                    elif node.kind is NodeKind.FREE:
                        self.expected.add((304, earlier.line))
        for node in body:
            node.changed = False


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
            past = now.streams.get(stream, frozenset())
            now.streams[stream] = past | {now.use(past, address, writes, line)}
        elif name in ("make", "update") and (name == "update") == (handle in now.bodies):
            self._body(handle, (a, b, c), Kind.GRAPH_INSTANTIATE if name == "make" else Kind.GRAPH_UPDATE)
        elif name == "node" and handle in now.bodies and address not in now.freed:
            self._change_node(handle, a, address, c % 2 == 0)
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

    def _body(self, handle: int, seed: tuple[int, int, int], kind: Kind) -> None:
        now, (first, second, third) = self.reference, seed
        live = [address for address in ADDRESSES if address not in now.freed]
        if not live:
            return
        mixed = first * 36 + second * 6 + third
        body: list[Node] = []
        edges = []
        kinds = [NodeKind.KERNEL] * (1 + third % 4)
        if first % 3 == 0:
            kinds = [NodeKind.ALLOC, *kinds, NodeKind.KERNEL, NodeKind.FREE]
        if second % 3 == 0:
            kinds.insert(mixed % len(kinds), (NodeKind.EVENT_WAIT, NodeKind.EVENT_RECORD)[first % 2])
        for number, node_kind in enumerate(kinds):
            address = live[(mixed >> number) % len(live)]
            if node_kind in (NodeKind.ALLOC, NodeKind.FREE) or (NodeKind.ALLOC in kinds and (mixed >> number) % 3 == 0):
                address = OWN[handle]
            if node_kind in (NodeKind.EVENT_WAIT, NodeKind.EVENT_RECORD):
                address = EVENTS[third % 2]
            before: frozenset[int] = frozenset()
            for earlier in range(number):
                if (mixed * 7 + number * 5 + earlier * 3) % 4 < 2:
                    edges.append((earlier + 1, number + 1))
                    before |= body[earlier].before | {earlier}
            body.append(Node(node_kind, address, (mixed + number) % 2 == 0, before))
        if NodeKind.ALLOC in kinds:
            self.op(Kind.ALLOC, detail=MemoryKind.GRAPH, references=[Reference(OWN[handle], 256)])
        self.op(kind, object=handle, size=len(body) + len(edges))
        for number, node in enumerate(body, 1):
            fields: dict[str, object] = {"address": node.address}
            if node.kind in (NodeKind.ALLOC, NodeKind.FREE):
                fields = {"references": [Reference(node.address, 256)]}
            elif node.kind is NodeKind.KERNEL:
                fields = {"references": [self._reference(node.address, node.writes)]}
            node.line = self.op(Kind.GRAPH_NODE, stream=handle, object=number, detail=node.kind, **fields)
        for earlier, later in edges:
            self.op(Kind.GRAPH_EDGE, stream=handle, object=earlier, address=later)
        now.bodies[handle] = body
        now.stale[handle] = set()
        now.check(body)

    def _change_node(self, handle: int, which: int, address: int, writes: bool) -> None:
        body = self.reference.bodies[handle]
        number = which % len(body)
        node = body[number]
        if node.kind is not NodeKind.KERNEL or node.address == OWN[handle]:
            return
        node.changed |= (node.address, node.writes) != (address, writes)
        node.address, node.writes = address, writes
        node.line = self.op(
            Kind.GRAPH_NODE_UPDATE,
            object=handle,
            address=number + 1,
            detail=NodeKind.KERNEL,
            references=[self._reference(address, writes)],
        )
        self.reference.stale[handle] = set()

    def _launch(self, handle: int, stream: int) -> None:
        now, body = self.reference, self.reference.bodies[handle]
        now.check(body, changed_only=True)
        line = self.op(Kind.GRAPH_LAUNCH, object=handle, stream=stream)
        # The launch itself is ordered, whatever its nodes do. What a node waits for is taken to be before all of it.
        past = now.streams.get(stream, frozenset()) | now.launches.get(handle, frozenset())
        for node in body:
            if node.kind is NodeKind.EVENT_WAIT:
                past |= now.events.get(node.address, frozenset())
        done = past
        for node in body:
            if node.kind is not NodeKind.KERNEL or node.address == OWN[handle]:
                continue
            if node.address not in now.freed:
                # Nodes of one body are compared once, when it is made.
                done |= {now.use(done, node.address, node.writes, line, handle)}
            elif node.address not in now.stale[handle]:
                now.stale[handle].add(node.address)
                now.expected.add((303, line))
        now.streams[stream] = now.launches[handle] = done
        for node in body:
            if node.kind is NodeKind.EVENT_RECORD:
                now.events[node.address] = done

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
    facts = [fact for fact in analysis.facts if fact.code in (102, 109, 303, 304)]
    found = {(fact.code, fact.operation.site) for fact in facts}
    expected = built.reference.expected
    assert expected <= found <= expected | built.reference.again
    assert not any(fact.assumed for fact in facts)
    assert analysis.problems == 0
