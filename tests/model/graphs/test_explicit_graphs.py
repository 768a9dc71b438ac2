"""Graphs built node by node: structure, parameters, executable graphs and their updates."""

from __future__ import annotations

import pytest
from graph_program import OUT, GraphProgram

from streamsan.model.values import Handle
from streamsan.vocabulary import AccessMode, HandleKind, NodeKind, OperationKind, SlotFlag

READ, WRITE = AccessMode.READ, AccessMode.WRITE


def kernel(program: GraphProgram, graph, after, *memory, mode: AccessMode = WRITE, **more):
    return program.add(
        "cudaGraphAddKernelNode",
        graph,
        after,
        OUT,
        structures={"pNodeParams": {"func": 7, "gridDim.x": 2, "blockDim.x": 64}},
        kernel_arguments=[(each, mode) for each in memory],
        **more,
    )


def fill(memory, width: int = 16, value: int = 0) -> dict:
    return {"dst": memory, "pitch": 0, "value": value, "elementSize": 4, "width": width, "height": 1}


def test_nodes_of_every_kind() -> None:
    program = GraphProgram()
    graph = program.graph()
    memory = program.make("cudaMalloc", OUT, 256)
    host = program.make("cudaMallocHost", OUT, 256)
    first = kernel(program, graph, (), memory)
    copied = program.add("cudaGraphAddMemcpyNode1D", graph, (first,), host, memory, 64, 2)
    filled = program.add("cudaGraphAddMemsetNode", graph, (first,), OUT, structures={"pMemsetParams": fill(memory)})
    joined = program.add("cudaGraphAddEmptyNode", graph, (copied, filled))
    called = program.add(
        "cudaGraphAddHostNode",
        graph,
        (joined,),
        OUT,
        structures={"pNodeParams": {"fn": 1, "userData": host}},
        payload=print,
    )
    done = program.add("cudaGraphAddEventRecordNode", graph, (called,), program.event)
    program.add("cudaGraphAddEventWaitNode", graph, (done,), program.event)
    program.add("cudaGraphAddExternalSemaphoresSignalNode", graph, (), OUT)
    types = [
        next(iter(program.call("cudaGraphNodeGetType", node, OUT).outputs.values()))
        for node in (first, copied, filled, joined, called, done)
    ]
    assert types == [0, 1, 2, 5, 3, 7]
    executable = program.instantiate(graph)
    body = program.body()
    assert body.kinds == ["KERNEL", "COPY", "MEMSET", "EMPTY", "HOST", "EVENT_RECORD", "EVENT_WAIT", "OPAQUE"]
    assert body.edges == {(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6), (6, 7)}
    assert [(each.address, each.size) for each in body.nodes[3].further] == [(memory.address, 64)]
    program.call("cudaGraphLaunch", executable, 0)
    ((ran, _),) = program.ran.launched
    assert (ran.body[1].work.width, ran.body[1].work.height, ran.body[1].work.depth) == (64, 1, 1)
    assert ran.body[4].work.key == body.nodes[5].address != 0


def test_3d_copies_of_both_domains() -> None:
    program = GraphProgram()
    memory, other = program.make("cudaMalloc", OUT, 256), program.make("cudaMalloc", OUT, 256)
    runtime = {"srcPtr.ptr": memory, "dstPtr.ptr": other, "extent.width": 8, "extent.height": 1, "extent.depth": 1,
               "kind": 3}  # fmt: skip
    driver = {"srcMemoryType": 2, "srcDevice": memory, "dstMemoryType": 2, "dstDevice": other, "WidthInBytes": 8,
              "Height": 1, "Depth": 1}  # fmt: skip
    graph = program.graph()
    node = program.add("cudaGraphAddMemcpyNode", graph, (), OUT, structures={"pCopyParams": runtime})
    program.call("cuGraphAddMemcpyNode", OUT, graph, 0, 0, OUT, 0, structures={"copyParams": driver})
    generic = {"type": 1} | {f"memcpy.copyParams.{key}": value for key, value in runtime.items()}
    program.call("cudaGraphAddNode", OUT, graph, 0, 0, 0, OUT, structures={"nodeParams": generic})
    given = program.call("cudaGraphMemcpyNodeGetParams", node, OUT).outputs
    assert given == {f"pNodeParams.{key}": value for key, value in runtime.items()}
    given = program.call("cudaGraphNodeGetParams", node, OUT).outputs
    assert given["nodeParams.type"] == 1
    assert given["nodeParams.memcpy.copyParams.kind"] == 3
    program.instantiate(graph)
    body = program.body()
    assert body.kinds == ["COPY"] * 3
    for each in body.nodes.values():
        assert [(part.address, part.mode) for part in each.further] == [(other.address, WRITE), (memory.address, READ)]


def test_symbols() -> None:
    program = GraphProgram()
    symbol = program.model.host_allocate(program.main, 64, 16, 0)
    memory = program.make("cudaMalloc", OUT, 64)
    graph = program.graph()
    node = program.add("cudaGraphAddMemcpyNodeToSymbol", graph, (), symbol, memory, 16, 32, 3)
    program.add("cudaGraphAddMemcpyNodeFromSymbol", graph, (node,), memory, symbol, 16, 0, 3)
    assert program.call("cudaGraphMemcpyNodeSetParamsToSymbol", node, symbol, memory, 8, 16, 3).status == 0
    program.instantiate(graph)
    to, source = program.body().nodes[1].further
    assert (to.address, to.size) == (symbol.address + 16, 8)
    assert source.address == memory.address


def test_batch_memory_operations() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    fields = {
        "count": 1,
        "paramArray.0.operation": 2,
        "paramArray.0.writeValue.address": memory,
        "paramArray.0.writeValue.value": 3,
    }
    graph = program.graph()
    outcome = program.call("cuGraphAddBatchMemOpNode", OUT, graph, 0, 0, OUT, structures={"nodeParams": fields})
    assert outcome.status == 0
    program.instantiate(graph)
    assert program.body().kinds == ["STREAM_MEMORY_OP"]


def test_structure() -> None:
    program = GraphProgram()
    graph = program.graph()
    first, second, third = (program.add("cudaGraphAddEmptyNode", graph, ()) for _ in range(3))
    lists = {"from": {"0": first, "1": first}, "to": {"0": second, "1": third}}
    assert program.call("cudaGraphAddDependencies", graph, 1, 1, 0, 2, structures=lists).status == 0
    assert program.call("cudaGraphAddDependencies", graph, 1, 1, 0, 2, structures=lists).status == 1
    edges = program.call("cudaGraphGetEdges", graph, OUT, OUT, 0, OUT).outputs
    assert edges == {"numEdges": 2, "from.0": first, "from.1": first, "to.0": second, "to.1": third}
    roots = program.call("cudaGraphGetRootNodes", graph, OUT, OUT).outputs
    assert roots == {"pNumRootNodes": 1, "pRootNodes.0": first}
    before = program.call("cudaGraphNodeGetDependencies", third, OUT, 0, OUT).outputs
    assert before == {"pNumDependencies": 1, "pDependencies.0": first}
    after = program.call("cudaGraphNodeGetDependentNodes", first, 0, 0, OUT).outputs
    assert after == {"pNumDependentNodes": 2}
    one = {"from": {"0": first}, "to": {"0": third}}
    assert program.call("cudaGraphRemoveDependencies", graph, 1, 1, 0, 1, structures=one).status == 0
    assert program.call("cudaGraphRemoveDependencies", graph, 1, 1, 0, 1, structures=one).status == 1
    assert program.call("cudaGraphDestroyNode", first).status == 0
    assert program.call("cudaGraphNodeGetType", first, OUT).outputs.keys() == {"pType"}
    program.instantiate(graph)
    assert program.body().edges == set()
    assert program.body().kinds == ["EMPTY", "EMPTY"]


def test_cycles_are_refused() -> None:
    program = GraphProgram()
    graph = program.graph()
    first, second = (program.add("cudaGraphAddEmptyNode", graph, ()) for _ in range(2))
    lists = {"from": {"0": first, "1": second}, "to": {"0": second, "1": first}}
    program.call("cudaGraphAddDependencies", graph, 1, 1, 0, 2, structures=lists)
    assert program.call("cudaGraphInstantiate", OUT, graph, 0).status == 1
    assert program.last.kind is OperationKind.GRAPH_INSTANTIATE


def test_duplicate_and_foreign_dependencies() -> None:
    program = GraphProgram()
    graph, other = program.graph(), program.graph()
    node = program.add("cudaGraphAddEmptyNode", graph, ())
    twice = {"pDependencies": {"0": node, "1": node}}
    assert program.call("cudaGraphAddEmptyNode", OUT, graph, 1, 2, structures=twice).status == 1
    once = {"pDependencies": {"0": node}}
    assert program.call("cudaGraphAddEmptyNode", OUT, other, 1, 1, structures=once).status == 1


def test_clones() -> None:
    program = GraphProgram()
    graph = program.graph()
    memory = program.make("cudaMalloc", OUT, 64)
    node = kernel(program, graph, (), memory)
    clone = program.make("cudaGraphClone", OUT, graph)
    assert (program.last.kind, program.last.object, program.last.address) == (
        OperationKind.GRAPH_CLONE,
        clone.value,
        graph.value,
    )
    copied = program.make("cudaGraphNodeFindInClone", OUT, node, clone)
    assert copied != node
    assert program.call("cudaGraphNodeFindInClone", OUT, copied, graph).status == 1
    program.call("cudaGraphDestroy", graph)
    program.instantiate(clone)
    assert program.body().nodes[1].further[0].address == memory.address


def test_children_are_flattened() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    child, graph = program.graph(), program.graph()
    inner = kernel(program, child, (), memory)
    kernel(program, child, (inner,), memory)
    first = program.add("cudaGraphAddEmptyNode", graph, ())
    node = program.add("cudaGraphAddChildGraphNode", graph, (first,), child)
    program.add("cudaGraphAddEmptyNode", graph, (node,))
    embedded = program.make("cudaGraphChildGraphNodeGetGraph", node, OUT)
    assert embedded != child
    kernel(program, child, (), memory)  # the child was copied before
    program.instantiate(graph)
    body = program.body()
    assert body.kinds == ["EMPTY", "EMPTY", "KERNEL", "KERNEL", "EMPTY"]
    assert body.edges == {(1, 2), (2, 3), (3, 4), (4, 5)}
    assert program.call("cudaGraphDestroy", embedded).status == 1


def test_conditional_bodies() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    graph = program.graph()
    handle = program.make("cudaGraphConditionalHandleCreate", OUT, graph, 1, 0)
    fields = {"type": 13, "conditional.handle": handle, "conditional.type": 0, "conditional.size": 2}
    outcome = program.call("cudaGraphAddNode", OUT, graph, 0, 0, 0, OUT, structures={"nodeParams": fields})
    bodies = [outcome.outputs[f"nodeParams.conditional.phGraph_out.{index}"] for index in range(2)]
    kernel(program, bodies[0], (), memory)
    program.call("cudaStreamBeginCaptureToGraph", program.stream, bodies[1], 0, 0, 0, 2)
    program.launch(memory, stream=program.stream)
    program.end()
    kernel(program, graph, (outcome.outputs["pGraphNode"],), memory)
    assert program.call("cudaGraphClone", OUT, graph).status == 801
    program.instantiate(graph)
    body = program.body()
    assert body.kinds == ["EMPTY", "KERNEL", "KERNEL", "KERNEL"]
    assert [bool(each.flags & SlotFlag.CONDITIONAL) for each in body.nodes.values()] == [False, True, True, False]
    assert body.edges == {(1, 2), (1, 3), (2, 4), (3, 4)}


def test_parameters_of_graphs_and_of_executables() -> None:
    program = GraphProgram()
    memory, other = program.make("cudaMalloc", OUT, 64), program.make("cudaMalloc", OUT, 64)
    graph = program.graph()
    node = kernel(program, graph, (), memory, payload="how")
    executable = program.instantiate(graph)
    given = program.call("cudaGraphKernelNodeGetParams", node, OUT).outputs
    assert given["pNodeParams.gridDim.x"] == 2
    fields = {key.removeprefix("pNodeParams."): value for key, value in given.items()}
    # Parameters that come from GetParams go back without the arguments behind them: those stay.
    assert program.call("cudaGraphKernelNodeSetParams", node, OUT, structures={"pNodeParams": fields}).status == 0
    changed = {"structures": {"pNodeParams": fields}, "kernel_arguments": [(other, READ)]}
    assert program.call("cudaGraphExecKernelNodeSetParams", executable, node, OUT, **changed).status == 0
    update = program.last
    assert (update.kind, update.object, update.address, update.detail) == (
        OperationKind.GRAPH_NODE_UPDATE,
        executable.value,
        1,
        NodeKind.KERNEL,
    )
    assert [each.address for each in update.further] == [other.address]
    program.instantiate(graph)
    assert program.body().nodes[1].further[0].address == memory.address
    wrong = program.call("cudaGraphExecMemsetNodeSetParams", executable, node, OUT)
    assert wrong.status == 1


def test_parameters_by_the_generic_calls() -> None:
    program = GraphProgram()
    memory, other = program.make("cudaMalloc", OUT, 64), program.make("cudaMalloc", OUT, 64)
    graph = program.graph()
    node = program.add("cudaGraphAddMemsetNode", graph, (), OUT, structures={"pMemsetParams": fill(memory)})
    executable = program.instantiate(graph)
    fields = {"type": 2} | {f"memset.{key}": value for key, value in fill(other).items()}
    assert (
        program.call("cudaGraphExecNodeSetParams", executable, node, OUT, structures={"nodeParams": fields}).status == 0
    )
    assert program.last.further[0].address == other.address
    assert program.call("cudaGraphNodeSetParams", node, OUT, structures={"nodeParams": fields}).status == 0
    program.instantiate(graph)
    assert program.body().nodes[1].further[0].address == other.address


def test_disabled_nodes_only_order() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    graph = program.graph()
    node = kernel(program, graph, (), memory)
    empty = program.add("cudaGraphAddEmptyNode", graph, (node,))
    executable = program.instantiate(graph)
    assert program.call("cudaGraphNodeSetEnabled", executable, node, 0).status == 0
    assert (program.last.detail, program.last.further) == (NodeKind.EMPTY, ())
    assert program.call("cudaGraphNodeGetEnabled", executable, node, OUT).outputs == {"isEnabled": 0}
    assert program.call("cudaGraphNodeSetEnabled", executable, node, 1).status == 0
    assert program.last.further[0].address == memory.address
    assert program.call("cudaGraphNodeSetEnabled", executable, empty, 0).status == 1


def test_updates_of_the_whole() -> None:
    program = GraphProgram()
    memory, other = program.make("cudaMalloc", OUT, 64), program.make("cudaMalloc", OUT, 64)

    def captured(*launches):
        program.begin()
        for each in launches:
            program.launch(each, stream=program.stream)
        return program.end()

    executable = program.instantiate(captured(memory, memory))
    outcome = program.call("cudaGraphExecUpdate", executable, captured(other, other), OUT)
    assert outcome.status == 0
    assert outcome.outputs["resultInfo.result"] == 0
    assert [each.further[0].address for each in program.body().nodes.values()] == [other.address] * 2
    outcome = program.call("cudaGraphExecUpdate", executable, captured(other), OUT)
    assert (outcome.status, outcome.outputs["resultInfo.result"]) == (910, 2)
    assert (program.last.kind, program.last.status) == (OperationKind.GRAPH_UPDATE, 910)
    program.begin()
    program.launch(memory, stream=program.stream)
    program.call("cudaMemsetAsync", memory, 0, 4, program.stream)
    changed = program.end()
    outcome = program.call("cudaGraphExecUpdate", executable, changed, OUT)
    assert outcome.outputs["resultInfo.result"] == 3
    nodes = program.call("cudaGraphGetNodes", changed, OUT, OUT).outputs
    assert outcome.outputs["resultInfo.errorNode"] == nodes["nodes.1"]
    old = program.call("cuGraphExecUpdate", executable, changed, OUT, OUT).outputs
    assert old["updateResult_out"] == 3


def test_a_child_takes_other_parameters() -> None:
    program = GraphProgram()
    memory, other = program.make("cudaMalloc", OUT, 64), program.make("cudaMalloc", OUT, 64)
    child, same, longer, graph = (program.graph() for _ in range(4))
    kernel(program, child, (), memory)
    kernel(program, same, (), other)
    kernel(program, longer, (kernel(program, longer, (), other),), other)
    node = program.add("cudaGraphAddChildGraphNode", graph, (), child)
    executable = program.instantiate(graph)
    assert program.call("cudaGraphExecChildGraphNodeSetParams", executable, node, same).status == 0
    assert (program.last.address, program.last.further[0].address) == (2, other.address)
    assert program.call("cudaGraphExecChildGraphNodeSetParams", executable, node, longer).status == 1


def test_stale_handles() -> None:
    program = GraphProgram()
    graph = program.graph()
    executable = program.instantiate(graph)
    assert program.call("cudaGraphDestroy", graph).status == 0
    assert program.last.detail == HandleKind.GRAPH
    assert program.call("cudaGraphLaunch", executable, program.stream).status == 0
    assert program.call("cudaGraphAddEmptyNode", OUT, graph, 0, 0).status == 1
    assert (program.last.kind, program.last.object) == (OperationKind.HANDLE_USE, graph.value)
    assert program.call("cudaGraphDestroy", graph).status == 1
    assert program.last.kind is OperationKind.HANDLE_DESTROY
    program.call("cudaGraphExecDestroy", executable)
    assert program.call("cudaGraphLaunch", executable, program.stream).status == 1
    assert program.last.kind is OperationKind.GRAPH_LAUNCH
    assert program.call("cudaGraphExecDestroy", executable).status == 1
    assert program.call("cudaGraphInstantiate", OUT, 0, 0).status == 1


def test_executables_die_with_their_context() -> None:
    program = GraphProgram()
    executable = program.instantiate(program.graph())
    program.call("cudaDeviceReset")
    assert program.call("cudaGraphLaunch", executable, 0).status == 1


@pytest.mark.parametrize(
    ("api", "arguments"),
    [
        ("cudaGraphInstantiate", lambda g: [OUT, g, 2]),
        ("cudaGraphInstantiateWithFlags", lambda g: [OUT, g, 2]),
        ("cudaGraphInstantiate", lambda g: [OUT, g, OUT, OUT, 64]),
        ("cuGraphInstantiate", lambda g: [OUT, g, OUT, OUT, 64]),
        ("cudaGraphInstantiateWithParams", lambda g: [OUT, g, OUT]),
        ("cuGraphInstantiateWithParams", lambda g: [OUT, g, OUT]),
    ],
)
def test_every_way_to_instantiate(api: str, arguments) -> None:
    program = GraphProgram()
    graph = program.graph()
    outcome = program.call(api, *arguments(graph), structures={"instantiateParams": {"flags": 2}})
    assert outcome.status == 0
    executable = next(value for value in outcome.outputs.values() if isinstance(value, Handle))
    assert executable.type == "graph_exec"
    flags = program.call("cudaGraphExecGetFlags", executable, OUT).outputs["flags"]
    assert flags == (0 if len(arguments(graph)) == 5 else 2)
    assert program.call("cudaGraphUpload", executable, program.stream).status == 0
    assert program.call("cuGraphLaunch", executable, program.stream).status == 0


def test_attributes_and_user_objects() -> None:
    program = GraphProgram()
    graph = program.graph()
    first, second = kernel(program, graph, ()), kernel(program, graph, ())
    value = {"structures": {"value": {"priority": 3}}}
    assert program.call("cudaGraphKernelNodeSetAttribute", first, 8, OUT, **value).status == 0
    assert program.call("cudaGraphKernelNodeCopyAttributes", second, first).status == 0
    given = program.call("cudaGraphKernelNodeGetAttribute", second, 8, OUT).outputs
    assert given == {"value_out.priority": 3}
    held = program.make("cudaUserObjectCreate", OUT, 0, None, 1, 1)
    assert program.call("cudaGraphRetainUserObject", graph, held, 1, 1).status == 0
    assert program.call("cudaGraphReleaseUserObject", graph, held, 1).status == 0
    assert program.call("cudaGraphDebugDotPrint", graph, "graph.dot", 0).status == 0


def test_parameters_of_what_was_captured() -> None:
    program = GraphProgram()
    memory, other = program.make("cudaMalloc", OUT, 256), program.make("cudaMalloc", OUT, 256)
    program.begin()
    program.call("cudaMemcpyAsync", memory, other, 64, 3, program.stream)
    program.call("cudaMemset2DAsync", memory, 32, 1, 16, 4, program.stream)
    graph = program.end()
    nodes = program.call("cudaGraphGetNodes", graph, OUT, OUT).outputs
    given = program.call("cudaGraphMemcpyNodeGetParams", nodes["nodes.0"], OUT).outputs
    assert (given["pNodeParams.dstPtr.ptr"], given["pNodeParams.extent.width"]) == (memory, 64)
    driver = program.call("cuGraphMemcpyNodeGetParams", nodes["nodes.0"], OUT).outputs
    assert (driver["nodeParams.srcDevice"], driver["nodeParams.WidthInBytes"]) == (other, 64)
    filled = program.call("cudaGraphMemsetNodeGetParams", nodes["nodes.1"], OUT).outputs
    assert (filled["pNodeParams.dst"], filled["pNodeParams.pitch"], filled["pNodeParams.height"]) == (memory, 32, 4)
    # ... and they go back.
    fields = {key.removeprefix("pNodeParams."): value for key, value in given.items()}
    back = program.call("cudaGraphMemcpyNodeSetParams", nodes["nodes.0"], OUT, structures={"pNodeParams": fields})
    assert back.status == 0
    program.instantiate(graph)
    assert [each.address for each in program.body().nodes[1].further] == [memory.address, other.address]
