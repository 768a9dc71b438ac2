"""Addresses that a graph got before their memory was freed, and nodes that a launch may leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from order_program import READ, READ_WRITE, WRITE, Node, Program, kernel, line_of

from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, NodeKind, RelatedRole, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P, Q, R = 0x10000, 0x20000, 0x30000
G, H = 70, 71


def recorded(*streams: int) -> Program:
    return Program(*streams, origin="recording")


def set_node(p: Program, number: int, address: int, mode: AccessMode = READ_WRITE) -> None:
    p.builder.append(
        Kind.GRAPH_NODE_UPDATE,
        thread=0,
        object=G,
        address=number,
        detail=NodeKind.KERNEL,
        references=[Reference(address, 0, 0, mode)],
    )


def test_a_node_that_was_not_updated_keeps_the_old_address_though_it_came_back() -> None:
    p = recorded(S)
    p.alloc(P)
    p.alloc(Q)
    made = p.graph(G, [kernel(P, READ_WRITE), kernel(P, READ_WRITE)], [(1, 2)])
    p.graph_launch(G, S)
    p.sync(S)
    freed = p.free(P)
    owner = p.alloc(P)  # a recording knows no generations: the address is the same
    set_node(p, 1, Q)
    launched = p.graph_launch(G, S)
    (fact,) = p.facts(303)
    assert (fact.variant.name, line_of(fact)) == ("STALE_RECYCLED", launched)
    places = {role: operation.site for role, operation in fact.related}
    assert places[RelatedRole.FREE] == freed
    assert places[RelatedRole.USE] == made + 2
    assert places[RelatedRole.OWNER] == owner
    assert not fact.assumed


def test_a_node_keeps_the_address_of_memory_that_another_node_was_given() -> None:
    """The program may have compared the addresses: what the graph does is right in this run."""
    p = recorded(S)
    p.alloc(P)
    p.graph(G, [kernel(P, READ_WRITE), kernel(P, READ)], [(1, 2)])
    p.graph_launch(G, S)
    p.sync(S)
    p.free(P)
    p.alloc(P)
    set_node(p, 1, P)
    p.graph_launch(G, S)
    (fact,) = p.facts(303)
    assert (fact.variant.name, fact.assumed) == ("STALE_GIVEN_AGAIN", True)


def test_other_memory_that_came_to_the_address_is_not_what_another_node_was_given() -> None:
    p = recorded(S)
    p.alloc(P)
    p.graph(G, [kernel(P, READ_WRITE), kernel(P, READ)], [(1, 2)])
    p.graph_launch(G, S)
    p.sync(S)
    p.free(P)
    p.alloc(P)
    p.alloc(Q)
    set_node(p, 1, Q)
    launched = p.graph_launch(G, S)
    (fact,) = p.facts(303)
    assert (fact.variant.name, line_of(fact), fact.assumed) == ("STALE_RECYCLED", launched, False)


def test_a_graph_that_was_captured_before_the_address_came_back() -> None:
    p = recorded(S)
    p.alloc(P)
    p.op(Kind.CAPTURE_BEGIN, object=1, stream=S)
    captured = p.builder.operations
    p.op(Kind.CAPTURE_END, object=1, stream=S)
    p.free(P)
    p.alloc(P)
    p.graph(G, [replace(kernel(P, READ_WRITE), since=captured)])
    launched = p.graph_launch(G, S)
    (fact,) = p.facts(303)
    assert (fact.variant.name, line_of(fact)) == ("STALE_RECYCLED", launched)


def test_a_graph_that_was_captured_after_the_address_came_back_is_fine() -> None:
    p = recorded(S)
    p.alloc(P)
    p.free(P)
    p.alloc(P)
    p.graph(G, [replace(kernel(P, READ_WRITE), since=p.builder.operations)])
    p.graph_launch(G, S)
    p.sync(S)
    p.free(P)
    assert p.found() == []


def test_blocks_of_a_pool_come_back_in_one_capture() -> None:
    """A framework's pool gives the same block to one tensor after the other while it captures."""
    p = recorded(S)
    p.alloc(P, MemoryKind.POOL_BLOCK)
    captured = p.builder.operations
    p.free(P)
    p.alloc(P, MemoryKind.POOL_BLOCK)
    p.graph(G, [replace(kernel(P, READ_WRITE), since=captured)])
    p.graph_launch(G, S)
    assert p.facts(303) == []


@pytest.mark.parametrize("again", [False, True])
def test_a_re_capture_into_the_executable_graph_takes_the_new_address(again: bool) -> None:
    """An update with the graph of the old capture brings the old address back."""
    p = recorded(S)
    p.alloc(P)
    old = p.builder.operations
    p.graph(G, [replace(kernel(P, READ_WRITE), since=old)])
    p.graph_launch(G, S)
    p.sync(S)
    p.free(P)
    p.alloc(P)
    new = p.builder.operations
    p.graph(G, [replace(kernel(P, READ_WRITE), since=old if again else new)], kind=Kind.GRAPH_UPDATE)
    launched = p.graph_launch(G, S)
    assert [line_of(fact) for fact in p.facts(303)] == ([launched] if again else [])


def test_an_update_that_was_refused_leaves_the_old_body() -> None:
    p = Program(S)
    p.alloc(P, generation=1)
    p.graph(G, [kernel(P, generation=1)])
    p.free(P, generation=1)
    p.op(Kind.GRAPH_UPDATE, object=G, status=910)
    launched = p.graph_launch(G, S)
    assert [line_of(fact) for fact in p.facts(303)] == [launched]


@pytest.mark.parametrize("freed_first", [False, True])
def test_a_node_that_may_not_run_is_no_doubt_of_the_caller(freed_first: bool) -> None:
    p = Program(S)
    p.alloc(P, generation=1)
    if freed_first:
        p.free(P, generation=1)
    p.graph(G, [replace(kernel(P, generation=1), flags=SlotFlag.CONDITIONAL)])
    if not freed_first:
        p.free(P, generation=1)
    p.graph_launch(G, S)
    (fact,) = p.facts(303)
    assert not fact.assumed
    ((_, node),) = [each for each in fact.related if each[0] is RelatedRole.USE]
    assert node.flags & SlotFlag.CONDITIONAL


def test_a_free_beside_a_node_that_may_not_run_is_a_doubt() -> None:
    for conditional in (False, True):
        p = Program(S, T)
        p.alloc(P, MemoryKind.STREAM_ORDERED, S)
        node = kernel(P, READ_WRITE)
        p.graph(G, [replace(node, flags=SlotFlag.CONDITIONAL) if conditional else node])
        p.graph_launch(G, S)
        freed = p.free(P, FreeClass.ASYNC, T)
        (fact,) = p.facts(102)
        assert (line_of(fact), fact.assumed) == (freed, conditional)


def test_a_node_that_runs_speaks_before_one_that_may_not() -> None:
    p = Program(S)
    p.alloc(P, generation=1)
    made = p.graph(G, [replace(kernel(P, generation=1), flags=SlotFlag.CONDITIONAL), kernel(P, generation=1)], [(1, 2)])
    p.free(P, generation=1)
    p.graph_launch(G, S)
    (fact,) = p.facts(303)
    assert [node.site for role, node in fact.related if role is RelatedRole.USE] == [made + 2]


@pytest.mark.parametrize("waits", ["nothing", "stream", "event", "query"])
def test_a_host_function_of_a_graph_uses_its_data(waits: str) -> None:
    p = Program(S)
    p.alloc(P, MemoryKind.PINNED)
    p.graph(G, [Node(NodeKind.HOST, (Reference(P, 256),))])
    p.graph_launch(G, S)
    if waits == "stream":
        p.sync(S)
    elif waits == "event":
        p.record(30, S)
        p.op(Kind.EVENT_SYNCHRONIZE, object=30)
    elif waits == "query":
        p.op(Kind.STREAM_QUERY, stream=S)
    write = p.op(Kind.HOST_ACCESS, memory=P, mode=WRITE, bytes=8)
    assert p.found() == ([(108, "HOST_WRITE", write)] if waits == "nothing" else [])


@pytest.mark.parametrize(("one", "other"), [(READ, AccessMode.OPAQUE), (AccessMode.OPAQUE, READ)])
def test_two_recorded_graphs_with_one_pointer_are_a_doubt(one: AccessMode, other: AccessMode) -> None:
    for ordered in (False, True):
        p = recorded(S, T)
        p.alloc(P)
        p.graph(G, [kernel(P, one)])
        p.graph(H, [kernel(P, other)])
        p.graph_launch(G, S)
        if ordered:
            p.record(30, S)
            p.wait(T, 30)
        second = p.graph_launch(H, T)
        facts = p.facts(109)
        assert [(line_of(fact), fact.assumed) for fact in facts] == ([] if ordered else [(second, True)])


def test_two_recorded_graphs_that_share_a_table_are_no_doubt() -> None:
    p = recorded(S, T)
    p.alloc(P)
    p.graph(G, [kernel(P)])
    p.graph(H, [kernel(P)])
    p.graph_launch(G, S)
    p.graph_launch(H, T)
    assert p.facts(109) == []


@pytest.mark.parametrize("older", [True, False])
def test_a_node_that_is_given_what_is_older_than_the_memory(older: bool) -> None:
    p = Program(S, origin="recording")
    p.alloc(P)
    p.alloc(Q)
    p.graph(G, [kernel(Q, WRITE)])
    p.graph_launch(G, S)
    p.sync(S)
    since = p.builder.operations  # a child graph is captured
    p.free(P)
    p.alloc(P)
    given = Reference(P, 0, 0, WRITE)
    p.builder.append(
        Kind.GRAPH_NODE_UPDATE,
        thread=0,
        api="cudaGraphExecChildGraphNodeSetParams",
        stream=since if older else 0,
        object=G,
        address=1,
        detail=NodeKind.KERNEL,
        references=[given],
    )
    p.graph_launch(G, S)
    assert [int(fact.code) for fact in p.facts(303)] == ([303] if older else [])
