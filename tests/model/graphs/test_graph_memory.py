"""Memory nodes: what may be launched, freed, copied. The fact ids are those of docs/facts.md."""

from __future__ import annotations

import pytest
from graph_program import OUT, GraphProgram

from streamsan.vocabulary import FreeClass, HandleKind, OperationKind

MIB = 1 << 20
AUTO_FREE = 1
USED, USED_HIGH, RESERVED, RESERVED_HIGH = range(4)


def allocating(freed: bool = False, count: int = 1):
    """Return a program, a graph that allocates, and the memory."""
    program = GraphProgram()
    program.begin()
    memory = [program.make("cudaMallocAsync", OUT, MIB, program.stream) for _ in range(count)]
    program.launch(*memory, stream=program.stream)
    for each in memory if freed else ():
        assert program.call("cudaFreeAsync", each, program.stream).status == 0
    return program, program.end(), memory


def launch(program: GraphProgram, executable) -> int:
    return program.call("cudaGraphLaunch", executable, program.stream).status


PIECE = 32 * MIB
"""what graphs get from the device at once"""


def attribute(program: GraphProgram, number: int) -> int:
    return program.call("cudaDeviceGetGraphMemAttribute", 0, number, OUT).outputs["value"]


def test_relaunch_with_memory_alive() -> None:  # G-01
    program, graph, _ = allocating(count=4)
    executable = program.instantiate(graph)
    assert launch(program, executable) == 0
    assert launch(program, executable) == 1
    assert (program.last.kind, program.last.status) == (OperationKind.GRAPH_LAUNCH, 1)
    assert len(program.ran.launched) == 1


def test_relaunch_with_auto_free() -> None:  # G-02, G-22
    program, graph, (memory,) = allocating()
    executable = program.instantiate(graph, AUTO_FREE)
    assert program.only(OperationKind.GRAPH_INSTANTIATE).detail == AUTO_FREE
    assert [launch(program, executable) for _ in range(3)] == [0, 0, 0]
    assert program.call("cudaFreeAsync", memory, program.stream).status == 0


def test_memory_outlives_its_graphs() -> None:  # G-03, G-04, G-11
    program, graph, memory = allocating(count=3)
    executable = program.instantiate(graph)
    launch(program, executable)
    assert attribute(program, USED) == PIECE
    assert program.call("cudaGraphExecDestroy", executable).status == 0
    assert program.last.detail == HandleKind.GRAPH_EXEC
    assert program.call("cudaGraphDestroy", graph).status == 0
    assert program.call("cudaDeviceGraphMemTrim", 0).status == 0
    assert (program.last.kind, program.ran.trimmed) == (OperationKind.GRAPH_TRIM, 1)
    assert attribute(program, USED) == PIECE
    assert attribute(program, RESERVED) == PIECE
    for each in memory:
        assert program.call("cudaFreeAsync", each, program.stream).status == 0
    program.call("cudaDeviceGraphMemTrim", 0)
    assert [attribute(program, each) for each in (USED, USED_HIGH, RESERVED, RESERVED_HIGH)] == [
        0,
        PIECE,
        0,
        PIECE,
    ]
    program.call("cudaDeviceSetGraphMemAttribute", 0, USED_HIGH, OUT)
    assert attribute(program, USED_HIGH) == 0


def test_one_executable_and_no_clone() -> None:  # G-07, G-19
    program, graph, _ = allocating()
    executable = program.instantiate(graph)
    assert program.call("cudaGraphInstantiate", OUT, graph, 0).status == 801
    assert (program.last.kind, program.last.status, program.last.size) == (OperationKind.GRAPH_INSTANTIATE, 801, 0)
    assert program.call("cudaGraphClone", OUT, graph).status == 801
    assert (program.last.kind, program.last.address) == (OperationKind.GRAPH_CLONE, graph.value)
    program.call("cudaGraphExecDestroy", executable)
    program.instantiate(graph)


def test_no_child_no_removal() -> None:  # G-16
    program, graph, _ = allocating()
    parent = program.graph()
    assert program.call("cudaGraphAddChildGraphNode", OUT, parent, 0, 0, graph).status == 801
    assert (program.last.kind, program.last.object, program.last.status) == (
        OperationKind.HANDLE_USE,
        graph.value,
        801,
    )
    outputs = program.call("cudaGraphGetNodes", graph, OUT, OUT).outputs
    assert outputs["numNodes"] == 2
    first, second = outputs["nodes.0"], outputs["nodes.1"]
    assert program.call("cudaGraphDestroyNode", second).status == 801
    lists = {"from": {"0": first}, "to": {"0": second}}
    assert program.call("cudaGraphRemoveDependencies", graph, 1, 1, 0, 1, structures=lists).status == 801


def test_a_child_whose_ownership_moves() -> None:
    program, graph, (memory,) = allocating()
    parent = program.graph()
    fields = {"type": 4, "graph.graph": graph, "graph.ownership": 1}
    outcome = program.call("cudaGraphAddNode", OUT, parent, 0, 0, 0, OUT, structures={"nodeParams": fields})
    assert outcome.status == 0
    assert program.call("cudaGraphDestroy", graph).status == 1
    program.instantiate(parent)
    body = program.body()
    assert body.kinds == ["EMPTY", "ALLOC", "KERNEL"]
    assert body.nodes[2].further[0].generation == memory.generation


@pytest.mark.parametrize("free", ["cudaFreeAsync", "cudaFree"])
def test_frees_outside(free: str) -> None:  # G-08, G-10, G-15, G-18
    program, graph, (memory,) = allocating()
    stream = [program.stream] if free == "cudaFreeAsync" else []
    assert program.call(free, memory, *stream).status == 1
    executable = program.instantiate(graph)
    launch(program, executable)
    assert program.call(free, memory, *stream).status == 0
    assert program.call(free, memory, *stream).status == 1
    assert launch(program, executable) == 0
    assert program.call(free, memory, *stream).status == 0


def test_freed_in_the_graph() -> None:  # G-08, G-20
    program, graph, (memory,) = allocating(freed=True)
    executable = program.instantiate(graph)
    assert [launch(program, executable) for _ in range(2)] == [0, 0]
    assert program.call("cudaFreeAsync", memory, program.stream).status == 1
    # what graphs got from the device counts as used until it is trimmed.
    assert [attribute(program, each) for each in (USED, USED_HIGH, RESERVED)] == [PIECE] * 3
    program.call("cudaDeviceGraphMemTrim", 0)
    assert [attribute(program, each) for each in (USED, USED_HIGH, RESERVED)] == [0, PIECE, 0]
    program.begin()
    assert program.call("cudaFreeAsync", memory, program.stream).status == 1
    program.end()


def test_outside_memory_in_a_capture() -> None:  # G-09
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    program.begin()
    assert program.call("cudaFreeAsync", memory, program.stream).status == 1
    refused = program.last
    assert (refused.kind, refused.detail, refused.status) == (OperationKind.FREE, FreeClass.GRAPH_NODE, 1)
    program.end()
    assert program.call("cudaFree", memory).status == 0


def test_freed_by_another_graph() -> None:  # G-17, G-20
    program, graph, (memory,) = allocating()
    program.begin()
    assert program.call("cudaFreeAsync", memory, program.stream).status == 0
    assert program.call("cudaFreeAsync", memory, program.stream).status == 1
    freeing = program.instantiate(program.end())
    executable = program.instantiate(graph)
    assert launch(program, freeing) == 1
    assert launch(program, executable) == 0
    assert launch(program, freeing) == 0
    assert launch(program, executable) == 0
    assert launch(program, freeing) == 0
    assert launch(program, freeing) == 1


@pytest.mark.parametrize("domain", ["cuda", "cu"])
def test_explicit_nodes(domain: str) -> None:  # G-21
    program = GraphProgram()
    graph = program.make(f"{domain}GraphCreate", OUT, 0)
    fields = {"nodeParams": {"bytesize": 64, "poolProps.location.id": 0}}
    outcome = program.call(f"{domain}GraphAddMemAllocNode", OUT, graph, 0, 0, OUT, structures=fields)
    memory = outcome.outputs["nodeParams.dptr"]
    node = next(value for name, value in outcome.outputs.items() if name != "nodeParams.dptr")
    assert program.call(f"{domain}GraphMemAllocNodeGetParams", node, OUT).outputs["params_out.dptr"] == memory
    outcome = program.call(f"{domain}GraphAddMemFreeNode", OUT, graph, 0, 0, memory)
    assert outcome.status == 0
    (free,) = outcome.outputs.values()
    assert program.call(f"{domain}GraphMemFreeNodeGetParams", free, OUT).outputs == {"dptr_out": memory}
    assert program.call(f"{domain}GraphAddMemFreeNode", OUT, graph, 0, 0, memory).status == 1
    program.instantiate(graph)
    assert program.body().kinds == ["ALLOC", "FREE"]
    assert program.body().edges == set()


def test_generic_allocation_node() -> None:
    program = GraphProgram()
    fields = {"nodeParams": {"type": 10, "alloc.bytesize": 64}}
    outcome = program.call("cudaGraphAddNode", OUT, program.graph(), 0, 0, 0, OUT, structures=fields)
    memory = outcome.outputs["nodeParams.alloc.dptr"]
    fields = {"nodeParams": {"type": 11, "free.dptr": memory}}
    assert program.call("cudaGraphAddNode", OUT, program.graph(), 0, 0, 0, OUT, structures=fields).status == 0


def test_update_with_memory_of_its_own() -> None:  # G-19
    program, graph, (memory,) = allocating()
    executable = program.instantiate(graph)
    program.begin()
    other = program.make("cudaMallocAsync", OUT, MIB, program.stream)
    program.launch(other, stream=program.stream)
    second = program.end()
    assert program.call("cudaGraphExecUpdate", executable, second, OUT).status == 0
    assert launch(program, executable) == 0
    assert program.call("cudaFreeAsync", memory, program.stream).status == 1
    assert program.call("cudaFreeAsync", other, program.stream).status == 0
