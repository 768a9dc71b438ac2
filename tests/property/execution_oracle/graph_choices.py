"""The part of `choices` that is about graphs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from execution_oracle.memory import PAGEABLE, Allocation
from execution_oracle.program import Body, Node, Op
from streamsan.trace import Reference
from streamsan.vocabulary import (
    AccessMode,
    CaptureMode,
    FreeClass,
    GraphExecFlag,
    HandleKind,
    MemoryKind,
    NodeKind,
    SlotFlag,
)
from streamsan.vocabulary import OperationKind as Kind

if TYPE_CHECKING:
    from execution_oracle.choices import Choices

EXECS = (90, 91)
FIRST_GRAPH, FIRST_CAPTURE = 200, 300
OWN = {90: 0x9000, 91: 0xA000}
"""memory that the graphs allocate themselves"""
OWN_SIZE = 0x100
MODES = (AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE, AccessMode.OPAQUE)
UNUSABLE = PAGEABLE | {MemoryKind.ARRAY, MemoryKind.GRAPH, MemoryKind.UNKNOWN}


@dataclass
class Exec:
    """An executable graph."""

    body: Body
    own: Allocation | None = None
    auto_free: bool = False
    launched: bool = False
    context: int = 0

    @property
    def frees_itself(self) -> bool:
        return any(node.kind is NodeKind.FREE for node in self.body.nodes)


@dataclass
class GraphChoices:
    """The graphs of a program that is being made."""

    choices: Choices
    execs: dict[int, Exec] = field(default_factory=dict)
    owners: dict[Allocation, Exec] = field(default_factory=dict)
    made: int = 0
    lost: set[int] = field(default_factory=set)
    """those that went with their context: nobody is told that"""

    def make(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        handle = EXECS[a % 2]
        if handle in self.execs or handle in self.lost:
            return
        choices = self.choices
        own = self._own(thread, handle) if c % 3 == 0 and choices.memory.at(OWN[handle]) is None else None
        body = self._body(a // 2, b, c, d, own, frees=c // 3 % 2 == 0)
        if body is None:
            return
        self.made += 1
        captured = [stream for stream in choices.streams if d % 2]
        for stream in captured[:1]:
            choices.put(
                Kind.CAPTURE_BEGIN, thread, stream=stream, object=FIRST_CAPTURE + self.made, detail=CaptureMode.RELAXED
            )
        made = Exec(body, own, auto_free=own is not None and c // 6 % 2 == 0, context=choices.current[thread])
        if own is not None:
            self.owners[own] = made
            if made.frees_itself:
                choices.put(Kind.FREE, thread, detail=FreeClass.GRAPH_NODE, references=(Reference(own.base),))
        for stream in captured[:1]:
            choices.put(
                Kind.CAPTURE_END,
                thread,
                stream=stream,
                object=FIRST_CAPTURE + self.made,
                address=FIRST_GRAPH + self.made,
            )
        detail = GraphExecFlag.AUTO_FREE if made.auto_free else 0
        choices.put(
            Kind.GRAPH_INSTANTIATE, thread, object=handle, address=FIRST_GRAPH + self.made, detail=detail, body=body
        )
        self.execs[handle] = made

    def _own(self, thread: int, handle: int) -> Allocation:
        choices = self.choices
        choices.generation += 1
        made = Reference(OWN[handle], OWN_SIZE, choices.generation)
        choices.put(Kind.ALLOC, thread, detail=MemoryKind.GRAPH, references=(made,))
        return choices.memory.allocate(len(choices.ops) - 1, choices.ops[-1], choices.current[thread])

    def _body(self, a: int, b: int, c: int, d: int, own: Allocation | None, frees: bool) -> Body | None:
        """A body by explicit edges, or as captures of two streams give it."""
        choices = self.choices
        memory = [each for each in choices.live() if each.kind not in UNUSABLE]
        mixed = a + 7 * b + 31 * c + 101 * d
        nodes: list[Node] = []
        if own is not None:
            nodes.append(Node(NodeKind.ALLOC, (Reference(own.base, OWN_SIZE, own.generation),)))
        others = [each.own for each in self.execs.values() if each.own is not None]
        if others and mixed % 4 == 1:
            nodes.append(
                Node(NodeKind.KERNEL, (Reference(others[0].base, 0, 0, MODES[mixed // 4 % 4], SlotFlag.TOUCHES),))
            )
        for number in range(1 + b % 3):
            mine = own is not None and (mixed >> number) % 3 != 0
            if not mine and not memory:
                continue
            at = own if mine and own is not None else memory[(mixed >> number + 1) % len(memory)]
            nodes.append(self._work(at, memory, mixed // (number + 2)))
        if not nodes:
            return None
        if choices.events and mixed % 3 == 0:
            event = sorted(choices.events)[mixed // 3 % len(choices.events)]
            kind = (NodeKind.EVENT_WAIT, NodeKind.EVENT_RECORD)[mixed // 6 % 2]
            # Often where it makes sense: a wait first, a record last.
            place = mixed // 12 % (len(nodes) + 1) if mixed % 2 else (0 if kind is NodeKind.EVENT_WAIT else len(nodes))
            nodes.insert(place, Node(kind, (), event))
        if own is not None and frees:
            nodes.append(Node(NodeKind.FREE, (Reference(own.base, 0, own.generation),)))
        edges = _captured(len(nodes), mixed) if d // 2 % 2 else _explicit(len(nodes), mixed)
        return Body(tuple(nodes), edges)

    def _work(self, at: Allocation, memory: list[Allocation], mixed: int) -> Node:
        mode = MODES[mixed % 4]
        sort = mixed // 4 % 8
        if sort == 0:
            return Node(NodeKind.MEMSET, (Reference(at.base, min(0x80, at.size), 0, AccessMode.WRITE),))
        if sort == 1 and memory:
            source = memory[mixed // 32 % len(memory)]
            pair = (Reference(at.base, 0x20, 0, AccessMode.WRITE), Reference(source.base, 0x20, 0, AccessMode.READ))
            return Node(NodeKind.COPY, pair)
        if sort == 2:
            return Node(NodeKind.EMPTY)
        generation = at.generation if mixed // 32 % 2 else 0
        flags = 0 if sort == 3 else SlotFlag.TOUCHES
        return Node(NodeKind.KERNEL, (Reference(at.base, 0, generation, mode, flags),))

    def update(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        handle = EXECS[a % 2]
        old = self.execs.get(handle)
        body = None if old is None or old.own is not None else self._body(a // 2, b, c, d, None, frees=False)
        if old is None or body is None:
            return
        self.made += 1
        self.choices.put(Kind.GRAPH_UPDATE, thread, object=handle, address=FIRST_GRAPH + self.made, body=body)
        old.body = body

    def change_node(self, thread: int, a: int, b: int, c: int, d: int) -> None:
        handle = EXECS[a % 2]
        memory = [each for each in self.choices.live() if each.kind not in UNUSABLE]
        exec_ = self.execs.get(handle)
        if exec_ is None or not memory:
            return
        number = b % len(exec_.body.nodes)
        node = exec_.body.nodes[number]
        own = exec_.own
        address = node.references[0].address if node.references else 0
        if node.kind is not NodeKind.KERNEL or (own is not None and own.contains(address)):
            return
        at = memory[c % len(memory)]
        reference = Reference(at.base, 0, 0, MODES[d % 4], SlotFlag.TOUCHES)
        self.choices.put(Kind.GRAPH_NODE_UPDATE, thread, object=handle, address=number + 1, detail=NodeKind.KERNEL,
                         references=(reference,))  # fmt: skip
        nodes = list(exec_.body.nodes)
        nodes[number] = replace(node, references=(reference,))
        exec_.body = Body(tuple(nodes), exec_.body.edges)

    def launch(self, thread: int, a: int, b: int) -> None:
        handle = EXECS[b % 2]
        exec_ = self.execs.get(handle)
        if exec_ is None:
            return
        own = exec_.own
        if own is not None and exec_.launched and own.freed is None and not exec_.auto_free and not exec_.frees_itself:
            return  # refused: its memory is still allocated
        events = {node.object for node in exec_.body.nodes if node.kind in (NodeKind.EVENT_WAIT, NodeKind.EVENT_RECORD)}
        if events - self.choices.events:
            return
        self.choices.put(Kind.GRAPH_LAUNCH, thread, stream=self.choices.a_stream(a), object=handle)
        exec_.launched = True
        if own is not None:
            own.freed, own.free = None, None

    def end(self, thread: int, a: int) -> None:
        handle = EXECS[a % 2]
        exec_ = self.execs.get(handle)
        if exec_ is None:
            return
        self.choices.put(Kind.HANDLE_DESTROY, thread, object=handle, detail=HandleKind.GRAPH_EXEC)
        del self.execs[handle]
        own = exec_.own
        if own is not None and (own.freed is not None or exec_.frees_itself or not exec_.launched):
            self.choices.memory.allocations.remove(own)  # nobody knows of it any more

    def end_context(self, context: int) -> None:
        """What was made in a context that is destroyed is not used any more."""
        for handle in [handle for handle, made in self.execs.items() if made.context == context]:
            del self.execs[handle]
            self.lost.add(handle)

    def is_alive(self, allocation: Allocation) -> bool:
        """Whether a graph's own memory is allocated."""
        owner = self.owners[allocation]
        return owner.launched and not owner.frees_itself and allocation.freed is None

    def can_free(self, allocation: Allocation) -> bool:
        owner = self.owners[allocation]
        return owner.launched and not owner.frees_itself


def _explicit(count: int, mixed: int) -> tuple[tuple[int, int], ...]:
    return tuple(
        (earlier, later)
        for later in range(2, count + 1)
        for earlier in range(1, later)
        if (mixed * 7 + later * 5 + earlier * 3) % 4 < 2
    )


def _captured(count: int, mixed: int) -> tuple[tuple[int, int], ...]:
    """The edges of a capture: two streams, an event from one to the other now and then, joined at the end."""
    lanes: list[set[int]] = [set(), set()]
    edges = []
    for number in range(1, count + 1):
        lane = (mixed >> number) % 2 if number < count else 0
        if (mixed >> number) % 3 == 0 or not lanes[lane] or number == count:
            lanes[lane] |= lanes[1 - lane]
        edges += [(earlier, number) for earlier in sorted(lanes[lane])]
        lanes[lane] = {number}
    return tuple(edges)


def is_exec_destroyed(op: Op) -> bool:
    """Whether the operation ends an executable graph."""
    return op.kind is Kind.HANDLE_DESTROY and op.detail == HandleKind.GRAPH_EXEC
