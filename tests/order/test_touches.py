"""Facts about races say which bytes each side touches."""

from __future__ import annotations

from order_program import OPAQUE, READ, WRITE, Node, Program, kernel

from streamsan.order.facts import Touch
from streamsan.trace import Reference
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P = 0x10000


def program(kind: MemoryKind = MemoryKind.PLAIN) -> Program:
    p = Program(S, T)
    p.alloc(P, kind, bytes=4096)
    return p


def touches(p: Program) -> tuple[Touch | None, Touch | None]:
    (fact,) = (each for each in p.facts() if each.code in (108, 109))
    return fact.touches


def test_ranges_of_copies() -> None:
    p = program()
    p.copy(S, P, WRITE, bytes=512)
    p.copy(T, P + 256, READ, bytes=1024)
    assert touches(p) == (Touch(P + 256, P + 1280, surely=True), Touch(P, P + 512, surely=True))


def test_kernels_of_unknown_extent_and_atomic_ones() -> None:
    p = program()
    p.launch(S, P, mode=AccessMode.READ_WRITE, reference_flags=SlotFlag.ATOMIC)
    p.launch(T, P, mode=READ, reference_flags=SlotFlag.TOUCHES)
    assert touches(p) == (Touch(P, 0, surely=True), Touch(P, 0, atomic=True))


def test_of_a_graph_s_launch_the_node() -> None:
    p = program()
    fill = Node(NodeKind.MEMSET, (Reference(P, 512, 0, WRITE),))
    p.graph(1, [fill])
    p.graph_launch(1, S)
    p.copy(T, P, READ, bytes=64)
    later, earlier = touches(p)
    assert later == Touch(P, P + 64, surely=True)
    assert earlier is not None
    assert (earlier.begin, earlier.end, earlier.surely) == (P, P + 512, True)
    assert earlier.node is not None
    assert earlier.node.kind.name == "GRAPH_NODE"


def test_of_nodes_of_one_graph_both() -> None:
    p = program()
    p.graph(1, [kernel(P, WRITE, touches=True), kernel(P, READ, touches=True)])
    assert touches(p) == (Touch(P, 0, surely=True), Touch(P, 0, surely=True))


def test_of_the_host_and_a_copy() -> None:
    p = program(MemoryKind.PINNED)
    p.copy(S, P, WRITE, bytes=512)
    p.op(Kind.HOST_ACCESS, memory=P, bytes=8, mode=READ)
    later, earlier = touches(p)
    assert later is not None
    assert (later.begin, later.end) == (P, P + 8)
    assert earlier == Touch(P, P + 512, surely=True)


def test_rows() -> None:
    p = program()
    p.copy(S, P, WRITE, bytes=3 * 512 + 64, rows=Rows(64, 512, 4))
    p.launch(T, P, mode=OPAQUE)
    p.launch(T, P, mode=READ, reference_flags=SlotFlag.TOUCHES)
    found = [fact.touches[1] for fact in p.facts() if fact.code == 109]
    assert found
    assert all(each == Touch(P, P + 1600, Rows(64, 512, 4), surely=True) for each in found)
