"""Memory that graphs allocate themselves."""

from __future__ import annotations

import pytest
from order_program import READ, WRITE, Node, Program, kernel, line_of, memory_node

from streamsan.trace import Reference
from streamsan.vocabulary import FreeClass, GraphExecFlag, HandleKind, MemoryKind, NodeKind, RelatedRole
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P, Q = 0x10000, 0x20000
G, H, GRAPH = 70, 71, 60
ASYNC = FreeClass.ASYNC
ALLOC_NODE = memory_node(NodeKind.ALLOC, P)
FREE_NODE = memory_node(NodeKind.FREE, P)


def allocating(*, frees: bool = False, flags: int = 0, launches: int = 1) -> Program:
    """A graph that allocates P and uses it, perhaps frees it, launched on S."""
    p = Program(S, T)
    p.alloc(P, MemoryKind.GRAPH)
    if frees:
        p.free(P, FreeClass.GRAPH_NODE)
    p.op(Kind.HANDLE_CREATE, object=GRAPH, detail=HandleKind.GRAPH)
    nodes = [ALLOC_NODE, kernel(P), *([FREE_NODE] if frees else [])]
    p.graph(G, nodes, [(n, n + 1) for n in range(1, len(nodes))], graph=GRAPH, detail=flags)
    for _ in range(launches):
        p.graph_launch(G, S)
    return p


@pytest.mark.parametrize("stream", [S, T])
def test_use_outside_in_another_stream_needs_order(stream: int) -> None:
    p = allocating()
    launched = p.line
    used = p.launch(stream, P)
    p.free(P, ASYNC, stream)
    if stream == S:
        assert p.found() == []
        return
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (304, "GRAPH_USE", used)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.USE]
    assert fact.related[1][1].site == launched


def test_an_event_after_the_launch_orders_outside_use_and_free() -> None:
    p = allocating()
    p.record(30, S)
    p.wait(T, 30)
    p.launch(T, P)
    p.free(P, ASYNC, T)
    p.record(31, T)
    p.wait(S, 31)
    p.graph_launch(G, S)  # G-10
    p.sync(S)
    p.free(P)
    assert p.found() == []


@pytest.mark.parametrize("family", [ASYNC, FreeClass.DEVICE])
def test_a_free_outside_without_order(family: FreeClass) -> None:
    p = allocating()
    freed = p.free(P, family, T if family is ASYNC else 0)
    assert p.found() == [(304, "GRAPH_FREE", freed)]


def test_use_before_any_launch() -> None:
    p = allocating(launches=0)
    used = p.launch(S, P)
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (304, "GRAPH_NOT_ALIVE", used)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC]


@pytest.mark.parametrize("free", [False, True])
def test_code_that_nobody_can_see_may_have_launched_the_graph(free: bool) -> None:
    p = allocating(launches=0)
    p.op(Kind.OPAQUE_CALL)
    if free:
        p.free(P, ASYNC, S)
    p.launch(S, P)
    assert p.facts(101, 304) == []


def test_code_that_ran_before_there_was_a_graph_did_not_launch_it() -> None:
    p = Program(S, T)
    p.op(Kind.OPAQUE_CALL)
    p.alloc(P, MemoryKind.GRAPH)
    p.graph(G, [ALLOC_NODE, kernel(P)], [(1, 2)])
    used = p.launch(S, P)
    (fact,) = p.facts(304)
    assert (fact.variant.name, line_of(fact), fact.assumed) == ("GRAPH_NOT_ALIVE", used, True)


@pytest.mark.parametrize("kind", ["launch", "free", "refused free", "read"])
def test_use_after_the_free_in_the_graph(kind: str) -> None:
    p = allocating(frees=True)
    p.sync(S)
    if kind == "launch":
        line = p.launch(S, P)
    elif kind == "read":
        line = p.op(Kind.HOST_ACCESS, memory=P, mode=READ)
    else:
        line = p.free(P, ASYNC, S, status=0 if kind == "free" else 1)
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (304, "GRAPH_NOT_ALIVE", line)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.FREE]


def test_a_use_after_the_free_outside_until_the_next_launch() -> None:
    p = allocating()
    p.free(P, ASYNC, S)
    used = p.launch(S, P)
    p.graph_launch(G, S)
    p.launch(S, P)
    p.free(P, ASYNC, S)
    assert p.found() == [(101, "AFTER_ASYNC_FREE", used)]


@pytest.mark.parametrize("status", [0, 1])
def test_a_relaunch_with_memory_that_lives(status: int) -> None:
    p = allocating()
    first = p.line
    again = p.graph_launch(G, S, status=status)
    p.graph_launch(G, S, status=status)
    p.exit()
    (fact,) = p.facts(301, 305, 402)
    assert (fact.code, line_of(fact)) == (301, again)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.USE, RelatedRole.CREATE]
    assert fact.related[1][1].site == first


def test_relaunches_that_are_fine() -> None:
    for p in (allocating(frees=True, launches=3), allocating(flags=GraphExecFlag.AUTO_FREE, launches=3)):
        p.sync(S)
        p.exit()
        assert p.found() == []


def test_an_automatic_free_races_a_use_outside() -> None:
    p = allocating(flags=GraphExecFlag.AUTO_FREE)
    p.record(30, S)
    p.wait(T, 30)
    used = p.launch(T, P)
    again = p.graph_launch(G, S)
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (304, "GRAPH_FREE", again)
    assert fact.related[1][1].site == used


def test_nothing_anywhere_frees_it() -> None:
    p = allocating()
    p.sync(S)
    p.exit()
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (305, "NO_FREE", 6)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.USE, RelatedRole.CREATE]


def test_a_graph_that_is_never_launched_allocates_nothing() -> None:
    p = allocating(launches=0)
    p.exit()
    assert p.found() == []


@pytest.mark.parametrize("freed", [False, True])
def test_memory_survives_its_graph(freed: bool) -> None:
    p = allocating()
    p.sync(S)
    destroyed = p.graph_destroy(G)
    p.op(Kind.HANDLE_DESTROY, object=GRAPH, detail=HandleKind.GRAPH)
    p.op(Kind.GRAPH_TRIM)
    if freed:
        p.free(P)  # G-11
    p.exit()
    if freed:
        assert p.found() == []
        return
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (402, "SURVIVES_GRAPH", 6)
    expected = [RelatedRole.ALLOC, RelatedRole.USE, RelatedRole.DESTROY, RelatedRole.SYNC, RelatedRole.RESET]
    assert [role for role, _ in fact.related] == expected
    assert fact.related[2][1].site == destroyed


@pytest.mark.parametrize(
    ("edges", "free"),
    [(((1, 2), (2, 3)), None), (((1, 2), (1, 3)), True), (((1, 3),), False), (((1, 3), (3, 2)), True)],
)
def test_inside_the_graph(edges: tuple[tuple[int, int], ...], free: bool | None) -> None:
    p = Program(S, T)
    p.alloc(P, MemoryKind.GRAPH)
    # Numbers are in a topological order: the free comes last, or before the use.
    nodes = [ALLOC_NODE, kernel(P, WRITE), FREE_NODE]
    if (3, 2) in edges:
        nodes, edges = [ALLOC_NODE, FREE_NODE, kernel(P, WRITE)], ((1, 2), (2, 3))
    line = p.graph(G, nodes, edges)
    facts = p.facts()
    if free is None:
        assert facts == []
        return
    (fact,) = facts
    use = line + 1 + nodes.index(kernel(P, WRITE))
    assert (fact.code, fact.variant.name, line_of(fact)) == (304, "GRAPH_INSIDE", use)
    assert (RelatedRole.FREE in [role for role, _ in fact.related]) is free


def recycled(nodes: list[Node], edges: list[tuple[int, int]] | None = None) -> Program:
    """A graph that allocates P twice: the second allocation node got the address that the first free gave back."""
    p = Program(S, T)
    for node in nodes:
        if node == ALLOC_NODE:
            p.alloc(P, MemoryKind.GRAPH)
        elif node == FREE_NODE:
            p.free(P, FreeClass.GRAPH_NODE)
    p.op(Kind.HANDLE_CREATE, object=GRAPH, detail=HandleKind.GRAPH)
    p.graph(G, nodes, edges or [(n, n + 1) for n in range(1, len(nodes))], graph=GRAPH)
    p.graph_launch(G, S)
    return p


USE = kernel(P, WRITE)


@pytest.mark.parametrize("ends_free", [True, False])
def test_an_address_that_a_graph_allocates_twice_has_two_lives(ends_free: bool) -> None:
    p = recycled([ALLOC_NODE, USE, FREE_NODE, ALLOC_NODE, USE, *([FREE_NODE] if ends_free else [])])
    if not ends_free:
        p.launch(S, P)
        p.free(P, ASYNC, S)
    assert p.found() == []


def test_a_use_between_two_lives_is_of_neither() -> None:
    (fact,) = recycled([ALLOC_NODE, USE, FREE_NODE, USE, ALLOC_NODE, USE, FREE_NODE]).facts()
    assert (fact.code, fact.variant.name) == (304, "GRAPH_INSIDE")
    assert RelatedRole.FREE in [role for role, _ in fact.related]


def test_a_use_that_no_life_is_before_is_unordered() -> None:
    nodes = [ALLOC_NODE, USE, FREE_NODE, ALLOC_NODE, FREE_NODE, USE]
    facts = recycled(nodes, [(n, n + 1) for n in range(1, 5)]).facts()
    assert "GRAPH_INSIDE" in [fact.variant.name for fact in facts]


def test_memory_after_the_last_life_of_a_graph_is_free() -> None:
    p = recycled([ALLOC_NODE, USE, FREE_NODE, ALLOC_NODE, USE, FREE_NODE])
    p.launch(S, P)
    assert p.found() != []


def test_another_graph_uses_and_frees_the_memory() -> None:
    for ordered in (True, False):
        p = allocating()
        p.free(P, FreeClass.GRAPH_NODE)
        p.graph(H, [kernel(P), FREE_NODE], [(1, 2)])
        launched = p.graph_launch(H, S if ordered else T)
        p.sync(S)
        p.sync(T)
        p.graph_launch(G, S)
        p.graph_launch(H, S)
        p.exit()
        found = [each for each in p.found() if each[0] in (301, 304, 305, 402)]
        assert found == ([] if ordered else [(304, "GRAPH_USE", launched)])


def test_frees_that_a_graph_refuses() -> None:
    p = Program(S, T)
    p.alloc(Q, MemoryKind.STREAM_ORDERED, S)
    outside = p.free(Q, FreeClass.GRAPH_NODE, status=1)  # G-09
    p.alloc(P, MemoryKind.GRAPH)
    first = p.free(P, FreeClass.GRAPH_NODE)
    twice = p.free(P, FreeClass.GRAPH_NODE, status=1)
    assert p.found() == [(306, "OUTSIDE_FREE", outside), (306, "AS_CHILD", twice)]
    assert p.facts()[1].related[1] == (RelatedRole.FREE, p.facts()[1].related[1][1])
    assert p.facts()[1].related[1][1].site == first


def test_a_free_in_a_conditional_body_may_run() -> None:
    p = Program(S, T)
    p.alloc(P, MemoryKind.GRAPH)
    maybe = Node(NodeKind.FREE, (Reference(P, 256),), flags=16)
    p.graph(G, [ALLOC_NODE, maybe], [(1, 2)])
    p.graph_launch(G, S)
    p.graph_launch(G, S)
    p.sync(S)
    p.exit()
    assert p.found() == []
