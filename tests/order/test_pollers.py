"""Launches that poll a word which other work writes: what they may be behind is no sure conflict (SS109)."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, READ, WRITE, Node, Program

from streamsan.trace import Reference
from streamsan.vocabulary import FreeClass, MemoryKind, NodeKind, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T, U = 10, 11, 12
G, H, E = 70, 71, 30
DATA, FLAG = 0x100000, 0x200000
TOUCHES = SlotFlag.TOUCHES
POLLED = Reference(FLAG, 0, 0, OPAQUE, SlotFlag.ATOMIC)
SURE, DOUBT = (False, False), (True, True)


def program(origin: str = "recording") -> Program:
    p = Program(S, T, U, origin=origin)
    p.op(Kind.EVENT_CREATE, object=E)
    p.alloc(DATA)
    p.alloc(FLAG)
    return p


def kernel(p: Program, stream: int, *references: Reference) -> None:
    p.line += 1
    p.builder.append(Kind.LAUNCH, thread=0, api="call", stream=stream, references=references)


def polls(p: Program, stream: int, *references: Reference) -> None:
    kernel(p, stream, Reference(FLAG, 4, 0, READ), *references, POLLED)


def writes(p: Program, stream: int, address: int = DATA) -> None:
    kernel(p, stream, Reference(address, 4, 0, WRITE))


def reads(p: Program, stream: int) -> None:
    kernel(p, stream, Reference(DATA, 4, 0, READ))


def said(p: Program) -> list[tuple[bool, bool]]:
    return [(fact.assumed, fact.polled) for fact in p.facts(109)]


def test_who_wrote_the_word_is_before_the_kernel_that_polls_it() -> None:
    p = program()
    writes(p, S)
    writes(p, S, FLAG)
    polls(p, T, Reference(DATA, 4, 0, READ))
    reads(p, T)
    assert said(p) == []


def test_another_stream_that_wrote_no_word_may_still_be_behind_one() -> None:
    p = program()
    writes(p, S, FLAG)
    writes(p, U)
    polls(p, T, Reference(DATA, 4, 0, READ))
    assert said(p) == [DOUBT]


@pytest.mark.parametrize("origin", ["recording", "source"])
def test_what_is_behind_the_kernel_that_polls(origin: str) -> None:
    p = program(origin)
    polls(p, T)
    reads(p, T)
    writes(p, S)
    writes(p, S, FLAG)
    assert set(said(p)) == {DOUBT}


def test_what_is_behind_it_by_an_event() -> None:
    p = program()
    writes(p, S)
    polls(p, T)
    p.record(E, T)
    p.wait(U, E)
    reads(p, U)
    assert said(p) == [DOUBT]


def test_what_was_on_its_stream_before_is_behind_nothing() -> None:
    p = program()
    reads(p, T)
    polls(p, T)
    writes(p, S)
    assert said(p) == [SURE]


@pytest.mark.parametrize("wait", ["stream", "event", "context"])
def test_one_that_is_known_to_have_ended_orders_nothing(wait: str) -> None:
    p = program()
    polls(p, T)
    if wait == "stream":
        p.sync(T)
    elif wait == "event":
        p.record(E, T)
        p.op(Kind.EVENT_SYNCHRONIZE, object=E)
    else:
        p.sync_all()
    writes(p, T)
    writes(p, S)
    assert said(p) == [SURE]


def test_many_launches_that_poll() -> None:
    p = program()
    for _ in range(200):
        polls(p, T)
    reads(p, T)
    writes(p, S)
    assert said(p) == [DOUBT]


def test_the_free_of_what_the_word_guards_is_a_doubt_too() -> None:
    p = Program(S, T, origin="recording")
    p.alloc(FLAG)
    p.alloc(DATA, MemoryKind.STREAM_ORDERED, S)
    writes(p, S)
    writes(p, S, FLAG)
    polls(p, T)
    p.free(DATA, FreeClass.ASYNC, T)
    assert [fact.unseen for fact in p.facts(102)] == [True]


def nodes(*flagged: bool) -> list[Node]:
    own = Reference(FLAG, 4, 0, READ)
    return [Node(NodeKind.KERNEL, (own, POLLED) if polled else (Reference(DATA, 4, 0, WRITE),)) for polled in flagged]


@pytest.mark.parametrize("polled", [False, True])
def test_a_graph_with_a_kernel_that_polls(polled: bool) -> None:
    p = program()
    p.graph(G, nodes(polled, False), [(1, 2)])
    p.graph_launch(G, T)
    writes(p, S)
    assert said(p) == [DOUBT if polled else SURE]


@pytest.mark.parametrize("polled", [False, True])
def test_two_branches_of_one_graph(polled: bool) -> None:
    p = program()
    p.graph(G, [*nodes(polled, False), Node(NodeKind.KERNEL, (Reference(DATA, 4, 0, READ),))], [(1, 2)])
    assert {DOUBT if polled else SURE} == set(said(p))


def test_a_node_that_polls_no_more_after_an_update() -> None:
    p = program()
    p.graph(G, nodes(True, False), [(1, 2)])
    p.graph(G, nodes(False, False), [(1, 2)], kind=Kind.GRAPH_UPDATE)
    p.graph_launch(G, T)
    writes(p, S)
    assert said(p) == [SURE]
