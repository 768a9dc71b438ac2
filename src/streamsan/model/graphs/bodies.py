"""The body of an executable graph: children and conditional bodies flattened; and what the trace says of it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from streamsan.model.core import ModelCore
from streamsan.model.graphs.conditional_bodies import Choice, mark_conditional
from streamsan.model.graphs.memory_nodes import inner_graphs
from streamsan.model.process_state import HostThread
from streamsan.model.streams_and_graphs import BodyNode, Graph, GraphExec, Node
from streamsan.model.work import HostWork
from streamsan.trace.references import MOST_FURTHER_REFERENCES, Reference
from streamsan.vocabulary import NodeKind, OperationKind, SlotFlag


def in_order(graph: Graph) -> list[Node] | None:
    """Return the nodes, each after those it depends on and else as they were made; None: there is a cycle."""
    missing = {node.handle: len(node.dependencies) for node in graph.nodes}
    dependents: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for before in node.dependencies:
            dependents.setdefault(before.handle, []).append(node)
    position = {node.handle: index for index, node in enumerate(graph.nodes)}
    ready = [position[node.handle] for node in graph.nodes if not missing[node.handle]]
    ordered: list[Node] = []
    while ready:
        node = graph.nodes[heapq.heappop(ready)]
        ordered.append(node)
        for after in dependents.get(node.handle, ()):
            missing[after.handle] -= 1
            if not missing[after.handle]:
                heapq.heappush(ready, position[after.handle])
    return ordered if len(ordered) == len(graph.nodes) else None


def flatten(graph: Graph) -> list[BodyNode] | None:
    """Return the body that a graph has now; None: it has a cycle."""
    body: list[BodyNode] = []
    choices: list[Choice] = []
    if _add(graph, (), body, choices) is None:
        return None
    mark_conditional(body, choices)
    return body


def _add(graph: Graph, roots: tuple[int, ...], body: list[BodyNode], choices: list[Choice]) -> tuple[int, ...] | None:
    """Add a graph's nodes after `roots`; return the numbers of those that nothing in it comes after."""
    ordered = in_order(graph)
    if ordered is None:
        return None
    ends: dict[int, tuple[int, ...]] = {}
    previous: tuple[int, ...] = ()
    inner_nodes: set[int] = set()
    for node in ordered:
        before = {number for each in node.dependencies for number in ends[each.handle]}
        if graph.ordered:
            before.update(previous)
        inner_nodes.update(each.handle for each in node.dependencies)
        number = len(body) + 1
        body.append(_body_node(node, number, tuple(sorted(before or roots))))
        last: tuple[int, ...] = (number,)
        parts: list[range] = []
        for inner in inner_graphs(node):
            begin = len(body)
            inner_ends = _add(inner, (number,), body, choices)
            if inner_ends is None:
                return None
            parts.append(range(begin, len(body)))
            last = tuple(sorted({*last, *inner_ends} - ({number} if node.child is not None and inner_ends else set())))
        if node.bodies:
            choices.append(Choice(node, tuple(parts)))
        ends[node.handle] = previous = last
    sinks = {number for node in graph.nodes if node.handle not in inner_nodes for number in ends[node.handle]}
    return tuple(sorted(sinks))


def _body_node(node: Node, number: int, dependencies: tuple[int, ...]) -> BodyNode:
    return BodyNode(
        number,
        node,
        node.kind,
        node.references,
        node.work,
        dependencies,
        event=node.event,
        allocation=node.allocation,
        enabled=node.enabled,
        further=node.further,
    )


def reduced(body: Sequence[BodyNode]) -> list[tuple[int, int]]:
    """Return the edges of a body, less those that a chain through a direct predecessor's predecessors implies."""
    before = {node.number: set(node.dependencies) for node in body}
    edges = []
    for node in body:
        # One step of reduction keeps this linear in the edges, and removes what captures with joins repeat.
        implied = {far for near in node.dependencies for far in before[near]}
        edges += [(near, node.number) for near in node.dependencies if near not in implied]
    return edges


def size_in_trace(body: Sequence[BodyNode], edges: Sequence[tuple[int, int]]) -> int:
    """Return how many operations a body is in the trace."""
    return len(body) + len(edges)


def say_body(
    core: ModelCore, thread: HostThread, executable: GraphExec, edges: Sequence[tuple[int, int]], site: int
) -> None:
    """Emit the body of an executable graph."""
    for node in executable.body:
        node.key = node.work.key if isinstance(node.work, HostWork) else 0
        core.emit(
            OperationKind.GRAPH_NODE,
            thread,
            node.node.site,
            node.node.api,
            stream=executable.handle,
            object=node.number,
            address=node.event.handle if node.event is not None else node.key,
            references=references_in_trace(node),
            detail=kind_in_trace(node),
            flags=SlotFlag.CONDITIONAL if node.conditional else 0,
        )
    for near, far in edges:
        core.emit(OperationKind.GRAPH_EDGE, thread, site, stream=executable.handle, object=near, address=far)


def say_node(core: ModelCore, thread: HostThread, executable: GraphExec, node: BodyNode, site: int, api: str) -> None:
    """Emit that a node of an executable graph does something else from its next launch on."""
    core.emit(
        OperationKind.GRAPH_NODE_UPDATE,
        thread,
        site,
        api,
        object=executable.handle,
        address=node.number,
        references=references_in_trace(node),
        detail=kind_in_trace(node),
        flags=SlotFlag.CONDITIONAL if node.conditional else 0,
    )


def kind_in_trace(node: BodyNode) -> NodeKind:
    """Return what a node does when it is launched: a disabled one orders only."""
    return node.kind if node.enabled else NodeKind.EMPTY


def references_in_trace(node: BodyNode) -> Sequence[Reference]:
    """Return what a node uses when it is launched. One operation has room for so many."""
    return node.references[:MOST_FURTHER_REFERENCES] if node.enabled else ()
