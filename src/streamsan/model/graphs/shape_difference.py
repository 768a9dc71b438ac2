"""Whether a graph has the shape of an executable graph, so that it can take over what its nodes do."""

from __future__ import annotations

from msgspec import Struct

from streamsan.model.graphs.bodies import flatten
from streamsan.model.streams_and_graphs import Graph, GraphExec, Node
from streamsan.vocabulary import NodeKind

TOPOLOGY_CHANGED = 2
TYPE_CHANGED = 3
PARAMETERS_CHANGED = 5
"""cudaGraphExecUpdateResult"""


class Difference(Struct, frozen=True):
    """Why an update is refused."""

    result: int
    node: Node | None = None
    before: Node | None = None
    """the other end of the edge that differs"""


def difference(executable: GraphExec, graph: Graph) -> Difference | None:
    """Return in what a graph differs from an executable graph; None: nothing that an update may not change.

    Nodes correspond by the order in which they were made, as the documentation demands of an updated graph.
    """
    body = flatten(graph)
    if body is None or len(body) != len(executable.body):
        return Difference(TOPOLOGY_CHANGED)
    for old, new in zip(executable.body, body, strict=True):
        if old.dependencies != new.dependencies:
            other = next(iter(set(old.dependencies) ^ set(new.dependencies)))
            before = body[other - 1].node if 0 < other <= len(body) else None
            return Difference(TOPOLOGY_CHANGED, new.node, before)
        if old.kind is not new.kind and NodeKind.OPAQUE not in (old.kind, new.kind):
            return Difference(TYPE_CHANGED, new.node)
        known = old.allocation is not None and new.allocation is not None
        if old.kind is NodeKind.FREE and known and old.allocation is not new.allocation:
            # What a node frees cannot be changed (an H200 refuses it; which allocation there is may change, G-19).
            return Difference(PARAMETERS_CHANGED, new.node)
    return None
