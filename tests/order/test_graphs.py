"""Executable graphs: what they bake in, launches as uses, bodies."""

from __future__ import annotations

import pytest
from order_program import PRIMARY, READ, READ_WRITE, WRITE, Node, Program, kernel, line_of

from streamsan.trace import Reference, Site
from streamsan.vocabulary import AccessMode, FreeClass, HandleKind, MemoryKind, NodeKind, RelatedRole, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P, Q = 0x10000, 0x20000
G, H = 70, 71
ORDERED = MemoryKind.STREAM_ORDERED


def roles(fact: object) -> list[RelatedRole]:
    return [role for role, _ in fact.related]  # type: ignore[attr-defined]


def copy_node(address: int, size: int, mode: object = WRITE) -> Node:
    return Node(NodeKind.COPY, (Reference(address, size, 0, mode),))  # type: ignore[arg-type]


def test_a_launch_is_one_operation_and_launches_are_ordered_among_themselves() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.graph(G, [kernel(P, READ_WRITE), kernel(P, READ)], [(1, 2)])
    for _ in range(3):
        p.graph_launch(G, S)
        p.graph_launch(G, T)
    p.sync(T)
    p.sync(S)
    p.free(P)
    facts = p.facts()
    assert [(fact.code, fact.variant.name) for fact in facts] == [(504, "DOMINATED")]  # the last launch is on T
    assert p.analysis().problems == 0


def test_a_free_races_the_launch_that_uses_the_memory() -> None:
    p = Program(S, T)
    p.alloc(P, ORDERED, S)
    p.graph(G, [kernel(P)])
    p.record(30, S)
    p.wait(T, 30)
    launched = p.graph_launch(G, T)
    freed = p.free(P, FreeClass.ASYNC, S)
    (fact,) = p.facts()
    assert (fact.code, line_of(fact), fact.related[1][1].site) == (102, freed, launched)
    assert fact.related[1][1].kind is Kind.GRAPH_LAUNCH


def test_a_free_after_the_launch_in_its_stream_is_fine() -> None:
    p = Program(S, T)
    p.alloc(P, ORDERED, S)
    p.graph(G, [kernel(P)])
    p.graph_launch(G, S)
    p.free(P, FreeClass.ASYNC, S)
    assert p.found() == []


def test_a_launch_before_the_allocation_is_reached_is_said_once() -> None:
    p = Program(S, T)
    p.alloc(P, ORDERED, S)
    p.graph(G, [kernel(P)])
    launched = p.graph_launch(G, T)
    p.graph_launch(G, T)
    assert p.found() == [(103, "NONE", launched)]


@pytest.mark.parametrize(("again", "variant"), [(0, "STALE_FREED"), (P, "STALE_RECYCLED"), (P - 128, "STALE_RECYCLED")])
def test_a_launch_with_freed_memory(again: int, variant: str) -> None:
    p = Program(S, T)
    p.alloc(P, generation=1)
    made = p.graph(G, [kernel(Q), kernel(P, generation=1)])
    p.graph_launch(G, S)
    p.sync(S)
    freed = p.free(P, generation=1)
    owner = p.alloc(again, generation=2) if again else 0
    launched = p.graph_launch(G, S)
    p.graph_launch(G, S)  # said once
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (303, variant, launched)
    expected = [RelatedRole.ALLOC, RelatedRole.FREE, RelatedRole.USE, RelatedRole.CREATE]
    assert roles(fact) == expected + ([RelatedRole.OWNER] if again else [])
    assert [op.site for _, op in fact.related][1:] == [freed, made + 2, made] + ([owner] if again else [])
    assert not fact.assumed
    assert fact.allocation is not None
    assert fact.allocation.address == P


def test_an_update_gives_the_graph_new_memory() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.graph(G, [kernel(P)])
    p.graph_launch(G, S)
    p.sync(S)
    p.free(P)
    p.alloc(Q)
    p.graph(G, [kernel(Q)], kind=Kind.GRAPH_UPDATE)
    p.graph_launch(G, S)
    assert p.found() == []


def test_a_node_that_is_updated_uses_other_memory() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.alloc(Q, ORDERED, S)
    p.graph(G, [kernel(P), kernel(P)], [(1, 2)])
    p.graph_launch(G, S)
    for number in (1, 2):
        p.builder.append(
            Kind.GRAPH_NODE_UPDATE,
            thread=0,
            object=G,
            address=number,
            detail=NodeKind.KERNEL,
            references=[Reference(Q)],
        )
    p.record(30, S)
    p.sync(S)
    p.free(P)
    p.graph_launch(G, S)
    freed = p.free(Q, FreeClass.ASYNC, T)
    assert p.found() == [(102, "FREE_ASYNC", freed)]


def test_what_a_graph_used_before_its_update_or_destruction_is_pending_still() -> None:
    for end in ("update", "destroy"):
        p = Program(S, T)
        p.alloc(P, ORDERED, S)
        p.graph(G, [kernel(P)])
        p.graph_launch(G, S)
        if end == "update":
            p.graph(G, [kernel(Q)], kind=Kind.GRAPH_UPDATE)
        else:
            p.graph_destroy(G)
        freed = p.free(P, FreeClass.ASYNC, T)
        assert p.found() == [(102, "FREE_ASYNC", freed)]


def test_a_reset_makes_what_graphs_use_stale() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.graph(G, [kernel(P)])
    p.graph_launch(G, S)
    p.sync(S)
    reset = p.op(Kind.DEVICE_RESET, object=PRIMARY)
    p.stream(12)
    launched = p.graph_launch(G, 12)
    facts = p.facts(303)
    assert [(fact.variant.name, line_of(fact)) for fact in facts] == [("STALE_RESET", launched)]
    assert facts[0].related[1] == (RelatedRole.RESET, facts[0].related[1][1])
    assert facts[0].related[1][1].site == reset


def test_memory_of_unknown_callers_is_no_loud_guess() -> None:
    p = Program(S, T)
    p.alloc(P, MemoryKind.UNKNOWN, flags=8)
    p.graph(G, [kernel(P)])
    p.graph_launch(G, S)
    p.sync(S)
    p.free(P)
    p.graph_launch(G, S)
    assert all(fact.assumed for fact in p.facts(303))


def test_a_launch_of_a_destroyed_graph_is_a_stale_handle() -> None:
    p = Program(S, T)
    p.graph(G, [])
    p.graph_launch(G, S)
    destroyed = p.graph_destroy(G)
    launched = p.graph_launch(G, S)
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (205, "STALE_OTHER", launched)
    assert fact.related[1][1].site == destroyed
    p.graph(G, [])
    p.graph_launch(G, S)
    assert len(p.facts()) == 1


def test_event_nodes_order_streams() -> None:
    p = Program(S, T)
    p.op(Kind.EVENT_CREATE, object=30)
    p.op(Kind.EVENT_CREATE, object=31)
    p.alloc(P, ORDERED, S)
    p.graph(
        G, [Node(NodeKind.EVENT_WAIT, object=30), kernel(P), Node(NodeKind.EVENT_RECORD, object=31)], [(1, 2), (2, 3)]
    )
    p.record(30, S)
    p.graph_launch(G, T)
    p.wait(S, 31)
    p.free(P, FreeClass.ASYNC, S)
    assert p.found() == []


def test_host_reads_what_a_graph_copied() -> None:
    for waits in (False, True):
        p = Program(S, T)
        p.alloc(P, MemoryKind.PINNED)
        p.graph(G, [copy_node(P, 256)])
        p.graph_launch(G, S)
        if waits:
            p.sync(S)
        read = p.op(Kind.HOST_ACCESS, memory=P, mode=READ, bytes=256)
        assert p.found() == ([] if waits else [(108, "HOST_READ", read)])


def test_nodes_without_a_path_conflict_only_where_they_surely_touch() -> None:
    p = Program(S, T)
    p.alloc(P)
    line = p.graph(
        G,
        [
            copy_node(P, 128),
            copy_node(P + 128, 128),
            kernel(P, READ, touches=True),
            kernel(P + 128, READ),
            kernel(P, READ, touches=True),
        ],
        [(1, 5)],
    )
    fact, doubt = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (109, "CONFLICT_READ_WRITE", line + 3)
    assert roles(fact) == [RelatedRole.ALLOC, RelatedRole.USE]
    assert fact.related[1][1].site == line + 1
    assert not fact.assumed
    assert (doubt.code, line_of(doubt), doubt.related[1][1].site, doubt.assumed) == (109, line + 4, line + 2, True)
    assert not doubt.operation.flags & SlotFlag.TOUCHES


def test_a_path_of_edges_orders_nodes() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.graph(G, [copy_node(P, 256), Node(NodeKind.EMPTY), copy_node(P, 256)], [(1, 2), (2, 3), (2, 3)])
    analysis = p.analysis()
    assert analysis.facts == []
    assert analysis.problems == 1  # the edge that is there twice


def test_graphs_that_share_memory_conflict_unless_ordered() -> None:
    for ordered in (False, True):
        p = Program(S, T)
        p.alloc(P)
        p.graph(G, [kernel(P, WRITE, touches=True)])
        p.graph(H, [kernel(P, READ, touches=True)])
        first = p.graph_launch(G, S)
        if ordered:
            p.record(30, S)
            p.wait(T, 30)
        second = p.graph_launch(H, T)
        if ordered:
            assert p.found() == []
            continue
        (fact,) = p.facts()
        assert (fact.code, line_of(fact), fact.related[1][1].site) == (109, second, first)
        assert not fact.assumed


def test_each_of_many_tiles_counts() -> None:
    for ordered in (False, True):
        p = Program(S, T)
        p.alloc(P, bytes=32 * 64)
        p.graph(G, [copy_node(P + 64 * tile, 64) for tile in range(32)])
        p.graph(H, [copy_node(P + 64 * 31, 64, READ)])
        p.graph_launch(G, S)
        if ordered:
            p.record(30, S)
            p.wait(T, 30)
        launched = p.graph_launch(H, T)
        copied = p.copy(T, P + 64 * 20, READ, bytes=64)
        assert [line_of(fact) for fact in p.facts(109)] == ([] if ordered else [launched, copied])


def test_a_launch_and_a_plain_use_conflict_either_way_around() -> None:
    for graph_first in (False, True):
        p = Program(S, T)
        p.alloc(P)
        p.graph(G, [kernel(P, READ_WRITE, touches=True)])
        if graph_first:
            p.graph_launch(G, S)
            later = p.copy(T, P, WRITE, bytes=16)
        else:
            p.copy(T, P, WRITE, bytes=16)
            later = p.graph_launch(G, S)
        assert p.found() == [(109, "CONFLICT_WRITE_WRITE", later)]


def test_a_wait_between_launches_that_the_graph_orders_anyway_is_dominated() -> None:
    p = Program(S, T)
    p.op(Kind.EVENT_CREATE, object=30)
    p.graph(G, [kernel(P)])
    p.graph_launch(G, S)
    p.record(30, S)
    p.graph_launch(G, T)
    waited = p.wait(T, 30)
    assert p.found() == [(504, "DOMINATED", waited)]


def test_bad_bodies_are_counted_and_left_out() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.op(Kind.GRAPH_INSTANTIATE, object=G, size=1000)
    p.builder.append(Kind.GRAPH_NODE, thread=0, stream=G, object=2, detail=NodeKind.KERNEL)
    p.builder.append(Kind.GRAPH_NODE, thread=0, stream=G, object=1, detail=NodeKind.KERNEL, references=[Reference(P)])
    p.builder.append(Kind.GRAPH_NODE, thread=0, stream=G, object=1, detail=NodeKind.KERNEL)
    p.builder.append(Kind.GRAPH_NODE, thread=0, stream=H, object=2, detail=NodeKind.KERNEL)
    p.builder.append(Kind.GRAPH_EDGE, thread=0, stream=G, object=1, address=9)
    p.builder.append(Kind.GRAPH_EDGE, thread=0, stream=G, object=1, address=1)
    p.graph_launch(G, S)
    p.builder.append(Kind.GRAPH_EDGE, thread=0, stream=G, object=1, address=2)
    analysis = p.analysis()
    assert analysis.facts == []
    assert analysis.problems == 7


def test_refused_graphs() -> None:
    p = Program(S, T)
    p.op(Kind.HANDLE_CREATE, object=60, detail=HandleKind.GRAPH)
    made = p.graph(G, [], graph=60)
    second = p.op(Kind.GRAPH_INSTANTIATE, object=0, address=60, status=801)
    clone = p.op(Kind.GRAPH_CLONE, object=0, address=60, status=801)
    child = p.op(Kind.HANDLE_USE, object=60, detail=HandleKind.GRAPH, status=801)
    assert p.found() == [(306, "SECOND_EXEC", second), (306, "CLONED", clone), (306, "AS_CHILD", child)]
    assert [fact.related[0][1].site for fact in p.facts()] == [made] * 3


def update_node(p: Program, number: int, address: int, mode: AccessMode) -> int:
    p.line += 1
    p.builder.append(
        Kind.GRAPH_NODE_UPDATE,
        thread=0,
        api="update",
        site=p.builder.site(Site("program", p.line)),
        object=G,
        address=number,
        detail=NodeKind.KERNEL,
        references=[Reference(address, 0, 0, mode, SlotFlag.TOUCHES)],
    )
    return p.line


def test_a_changed_node_is_checked_against_the_others() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.alloc(Q)
    p.graph(
        G, [kernel(P, WRITE, touches=True), kernel(Q, WRITE, touches=True), kernel(P, READ, touches=True)], [(1, 3)]
    )
    p.graph_launch(G, S)
    assert p.facts(109) == []
    changed = update_node(p, 2, P, WRITE)
    assert p.facts(109) == []  # at the next launch, not before
    p.graph_launch(G, S)
    facts = p.facts(109)
    assert [fact.operation.site == changed or fact.related[1][1].site == changed for fact in facts] == [True, True]
    update_node(p, 2, P, WRITE)  # the same again
    p.graph_launch(G, S)
    assert sum(fact.count for fact in p.facts(109)) == 2


def test_a_changed_node_behind_an_edge_is_no_conflict() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.alloc(Q)
    p.graph(G, [kernel(P, WRITE, touches=True), kernel(Q, WRITE, touches=True)], [(1, 2)])
    p.graph_launch(G, S)
    update_node(p, 2, P, WRITE)
    p.graph_launch(G, S)
    assert p.facts(109) == []


def test_a_node_that_is_given_the_address_again_has_the_memory_that_is_there_now() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.graph(G, [kernel(P, WRITE)])
    p.graph_launch(G, S)
    p.sync(S)
    p.free(P)
    p.alloc(P)
    update_node(p, 1, P, WRITE)
    p.graph_launch(G, S)
    assert p.facts(303) == []


def test_a_graph_that_reads_after_its_update_is_no_conflict_of_other_readers() -> None:
    p = Program(S, T)
    p.alloc(P)
    p.graph(G, [kernel(P, WRITE, touches=True)])
    p.graph(H, [kernel(P, READ, touches=True)])
    p.graph_launch(G, S)
    p.graph(G, [kernel(P, READ, touches=True)], kind=Kind.GRAPH_UPDATE)
    p.graph_launch(G, T)
    p.graph_launch(H, S)
    assert p.facts(109) == []
