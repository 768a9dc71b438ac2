"""Nodes of graphs against each other: as a search of all paths decides it, and in graphs of many nodes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from order_program import READ, WRITE, Node, Program, line_of

from streamsan.order.facts import Fact
from streamsan.trace import Reference
from streamsan.vocabulary import FactVariant, MemoryKind, NodeKind, RelatedRole, RuleCode, SlotFlag

S = 10
P = 0x10000
G = 70


def copy(begin: int, end: int, mode: object) -> Node:
    return Node(NodeKind.COPY, (Reference(P + begin, end - begin, 0, mode),))  # type: ignore[arg-type]


def paths(count: int, edges: Sequence[tuple[int, int]]) -> list[set[int]]:
    """For each node (from 1) the nodes before it."""
    before: list[set[int]] = [set() for _ in range(count + 1)]
    for node in range(1, count + 1):
        for near, far in edges:
            if far == node:
                before[node] |= before[near] | {near}
    return before


def pairs(facts: Sequence[Fact], made: int) -> set[tuple[int, int]]:
    """Numbers of the nodes of each conflict, the earlier one first."""
    found = set()
    for fact in facts:
        assert fact.code == RuleCode.UNORDERED_CONFLICT
        ((_, earlier),) = [each for each in fact.related if each[0] is RelatedRole.USE]
        found.add((earlier.site - made, line_of(fact) - made))
    return found


def random_graph(seed: int) -> tuple[list[Node], list[tuple[int, int]]]:
    choose = random.Random(seed)
    count = choose.randint(2, 24)
    nodes = []
    for _ in range(count):
        begin = choose.randrange(6) * 16
        nodes.append(copy(begin, begin + choose.choice((16, 32)), choose.choice((READ, READ, WRITE))))
    dense = choose.choice((0.05, 0.15, 0.4))
    edges = [
        (near, far)
        for far in range(2, count + 1)
        for near in range(max(1, far - choose.choice((3, 8, 24))), far)
        if choose.random() < dense or (choose.random() < 0.5 and near == far - 1)
    ]
    return nodes, sorted(set(edges))


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_random_graphs_are_judged_as_by_a_search_of_all_paths(start: int) -> None:
    for seed in range(start, start + 50):
        nodes, edges = random_graph(seed)
        p = Program(S)
        p.alloc(P)
        made = p.graph(G, nodes, edges)
        analysis = p.analysis()
        assert analysis.problems == 0
        before = paths(len(nodes), edges)
        references = [each.references[0] for each in nodes]
        unordered = {
            (one, two)
            for two in range(1, len(nodes) + 1)
            for one in range(1, two)
            if one not in before[two]
            and WRITE in (references[one - 1].mode, references[two - 1].mode)
            and references[one - 1].address < references[two - 1].address + references[two - 1].size
            and references[two - 1].address < references[one - 1].address + references[one - 1].size
        }
        said = pairs(analysis.facts, made)
        assert said <= unordered, seed
        # A node stands for those before it that do the same.
        for one, two in unordered:
            assert any(
                (other, two) in said
                for other in range(one, two)
                if other == one or (one in before[other] and references[other - 1] == references[one - 1])
            ), (seed, one, two)


def stages(streams: int, rounds: int, *, joined: bool) -> tuple[list[Node], list[tuple[int, int]]]:
    """As a capture makes them: in each round all streams read what one has written; the next write waits for them.

    `joined`: the last write does, too; else not for the last read.
    """
    nodes = [copy(0, 64, WRITE)]
    edges = []
    writer = 1
    for number in range(1, rounds + 1):
        readers = []
        for _ in range(streams):
            nodes.append(copy(0, 64, READ))
            edges.append((writer, len(nodes)))
            readers.append(len(nodes))
        nodes.append(copy(0, 64, WRITE))
        writer = len(nodes)
        edges += [(each, writer) for each in (readers if joined or number < rounds else readers[:-1])]
    return nodes, edges


@pytest.mark.parametrize(("streams", "rounds"), [(4, 3000), (3000, 4)])
def test_graphs_of_many_nodes_are_compared(streams: int, rounds: int) -> None:
    for joined in (True, False):
        nodes, edges = stages(streams, rounds, joined=joined)
        assert len(nodes) > 10_000
        p = Program(S)
        p.alloc(P)
        made = p.graph(G, nodes, edges)
        found = pairs(p.facts(), made)
        assert found == (set() if joined else {(len(nodes) - 1, len(nodes))})


@pytest.mark.parametrize("conditional", [(1,), (2,), (1, 2)])
def test_a_node_that_may_not_run_beside_one_that_does(conditional: tuple[int, ...]) -> None:
    """Of two that may not run perhaps only one does."""
    nodes = [
        replace(copy(0, 64, WRITE), flags=SlotFlag.CONDITIONAL if number in conditional else 0) for number in (1, 2)
    ]
    p = Program(S)
    p.alloc(P)
    made = p.graph(G, nodes)
    facts = p.facts()
    assert [(line_of(fact), fact.assumed, fact.likely) for fact in facts] == (
        [(made + 2, True, True)] if len(conditional) == 1 else []
    )


def test_what_is_not_compared_is_said() -> None:
    """All write the same bytes in no order: what is found is said, and that it is not all."""
    p = Program(S)
    p.alloc(P)
    made = p.graph(G, [copy(0, 64, WRITE)] * 200)
    facts = p.facts()
    assert [line_of(fact) for fact in facts if fact.variant is FactVariant.NOT_COMPARED] == [made]
    assert any(fact.code == RuleCode.UNORDERED_CONFLICT for fact in facts)


def test_allocations_at_one_address_in_a_long_chain() -> None:
    count = 3000
    nodes = []
    for _ in range(count):
        reference = (Reference(P, 256),)
        nodes += [Node(NodeKind.ALLOC, reference), Node(NodeKind.KERNEL, reference), Node(NodeKind.FREE, reference)]
    p = Program(S)
    p.alloc(P, MemoryKind.GRAPH)
    p.graph(G, nodes, [(each, each + 1) for each in range(1, len(nodes))])
    assert p.facts(304) == []
