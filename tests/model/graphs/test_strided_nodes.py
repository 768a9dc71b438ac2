"""Nodes whose rows leave gaps say so."""

from __future__ import annotations

from graph_program import OUT, GraphProgram

from streamsan.trace.rows import Rows
from streamsan.vocabulary import SlotFlag


def test_nodes_of_graphs() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 4096)
    graph = program.graph()
    for width in (32, 64):
        fields = {"dst": memory, "elementSize": 1, "value": 0, "pitch": 64, "width": width, "height": 4}
        program.add("cudaGraphAddMemsetNode", graph, (), OUT, structures={"pMemsetParams": fields})
    program.instantiate(graph)
    assert [bool(node.further[0].flags & SlotFlag.STRIDED) for node in program.body().nodes.values()] == [True, False]
    assert [node.rows for node in program.body().nodes.values()] == [((0, Rows(32, 64, 4)),), ()]


def test_captured_work() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 4096)
    program.begin()
    assert program.call("cudaMemset2DAsync", memory, 64, 0, 32, 4, program.stream).status == 0
    program.instantiate(program.end())
    (node,) = program.body().nodes.values()
    assert node.further[0].flags & SlotFlag.STRIDED
