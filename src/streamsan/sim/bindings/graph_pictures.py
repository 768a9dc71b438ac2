"""`cudaGraphDebugDotPrint`: a graph as a file in the language of Graphviz."""

from __future__ import annotations

import os
from collections.abc import Sequence

from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.streams_and_graphs import Graph
from streamsan.model.work import KernelWork
from streamsan.sim import active
from streamsan.sim.bindings.addresses import number_of
from streamsan.sim.bindings.binding_calls import make, prepare, refused, results
from streamsan.sim.bindings.plans import Plan

OPERATING_SYSTEM = 304
"""cudaErrorOperatingSystem: the file cannot be written"""


def print_graph(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaGraphDebugDotPrint(graph, path, flags)`, `cuGraphDebugDotPrint(hGraph, path, flags)`."""
    prepared = prepare(plan, arguments)
    path = arguments[1]
    if not isinstance(path, bytes | bytearray) or not path:
        return refused(plan, INVALID_VALUE)
    outcome = make(plan, prepared)
    graph = active.session().object_of(number_of(arguments[0]))
    if outcome.status == SUCCESS and isinstance(graph, Graph):
        try:
            with open(os.fsdecode(bytes(path)), "w", encoding="utf-8") as file:
                file.write(picture_of(graph))
        except OSError:
            return refused(plan, OPERATING_SYSTEM)
    return results(plan, outcome, arguments)


def picture_of(graph: Graph) -> str:
    """Return a graph's nodes and dependencies as text."""
    numbers = {id(node): number for number, node in enumerate(graph.nodes)}
    lines = ["digraph dot {", "subgraph cluster_1 {", 'label="graph_1" graph[style="dashed"];']
    for number, node in enumerate(graph.nodes):
        name = node.work.name if isinstance(node.work, KernelWork) else node.kind.name
        text = f"{number}\\n{name}".replace('"', "'")
        lines.append(f'"graph_1_node_{number}"[style="solid" shape="record" label="{text}"];')
    for number, node in enumerate(graph.nodes):
        lines += [
            f'"graph_1_node_{numbers[id(earlier)]}" -> "graph_1_node_{number}";'
            for earlier in node.dependencies
            if id(earlier) in numbers
        ]
    return "\n".join([*lines, "}", "}", ""])
