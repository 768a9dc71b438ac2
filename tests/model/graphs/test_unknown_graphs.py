"""Graphs, nodes and streams that nobody knows: no crash, no error, and what is said of them."""

from __future__ import annotations

import itertools

import pytest
from graph_program import OUT, GraphProgram

from row_groups import check_apis, families
from streamsan.effects import Api, Role
from streamsan.model.values import Handle, Pointer, Symbol, Value
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, OperationKind

GRAPH_APIS = [
    api
    for api in CUDA.effects
    if api.effect.value.startswith(("graph", "capture", "user_object")) or api.family == "graph"
]
CREATE_AND_DESTROY = ("destroy", "capture_end")


def graph_symbol() -> Symbol:
    return Symbol(901, "graph", "parameter")


def exec_symbol() -> Symbol:
    return Symbol(902, "exec", "parameter")


class World(GraphProgram):
    """One of everything."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = self.make("cudaMalloc", OUT, 64)
        self.g = self.graph()
        fields = {"pNodeParams": {"func": 1}}
        self.node = self.add("cudaGraphAddKernelNode", self.g, (), OUT, structures=fields)
        self.exec = self.instantiate(self.g)

    def known(self, parameter) -> Value:
        by_handle: dict[str, Value] = {"graph": self.g, "graph_exec": self.exec, "node": self.node,
                                       "stream": self.stream, "event": self.event, "context": 0}  # fmt: skip
        if parameter.role is Role.HANDLE:
            return by_handle.get(parameter.handle, 1)
        if parameter.role in (Role.INSPECTED, Role.FREED):
            return self.memory
        if parameter.role is Role.VALUE and parameter.name.startswith("num"):
            return 1
        return OUT


STRUCTURES = [
    {},
    {
        "func": 1,
        "dst": 4096,
        "value": 1,
        "elementSize": 4,
        "width": 4,
        "height": 1,
        "bytesize": 8,
        "count": 1,
        "flags": 0,
    },
    {"type": 0, "kernel.func": None},
    *({"type": number} for number in range(1, 15)),
    {"type": None, "elementSize": None, "width": None, "bytesize": None, "flags": Symbol(1, "f", "opaque")},
]


@pytest.mark.deep
@pytest.mark.parametrize("family", families(GRAPH_APIS))
def test_every_call_with_known_arguments(family: list[Api]) -> None:
    check_apis(family, takes_known_arguments)


def takes_known_arguments(api: Api) -> None:
    for version in api.versions:
        names = [each.name for each in version.parameters]
        for fields in STRUCTURES:
            world = World()
            values = [world.known(parameter) for parameter in version.parameters]
            structures = {name: dict(fields) for name in names}
            for parameter in version.parameters:
                if parameter.role is Role.LIST:
                    structures[parameter.name] = {"0": world.node}
            outcome = world.call(api.name, *values, signature=version, structures=structures)
            assert outcome.status <= 910
            for _ in world.call("cudaGraphLaunch", world.exec, world.stream).outputs:
                raise AssertionError("a launch has no outputs")
            world.builder.finish()


@pytest.mark.parametrize("family", families(GRAPH_APIS))
def test_every_call_with_unknown_arguments(family: list[Api]) -> None:
    check_apis(family, takes_unknown_arguments)


def takes_unknown_arguments(api: Api) -> None:
    for version in api.versions:
        for unknown in (None, Symbol(7, "x", "parameter"), Symbol(8, "y", "uninitialised"), Symbol(9, "z", "opaque")):
            program = GraphProgram()
            outcome = program.call(api.name, *[unknown] * len(version.parameters), signature=version)
            assert outcome.status <= 0
            wanted = {parameter.name for parameter in version.outs}
            assert wanted <= {name.partition(".")[0] for name in outcome.outputs}
            mixed: itertools.cycle = itertools.cycle([unknown, 0, 5, Handle("stream", 3), Pointer(64, 64, 1)])
            program.call(api.name, *itertools.islice(mixed, len(version.parameters)), signature=version)


@pytest.mark.parametrize("family", families(api for api in CUDA.effects if api.effect.value != "pure"))
def test_every_call_during_a_capture(family: list[Api]) -> None:
    check_apis(family, is_survived_in_a_capture)


def is_survived_in_a_capture(api: Api) -> None:
    for mode in range(3):
        program = GraphProgram()
        program.begin(mode=mode)
        version = api.versions[0]
        values: list[Value] = [
            program.stream if parameter.handle == "stream" else program.event if parameter.handle == "event" else None
            for parameter in version.parameters
        ]
        program.call(api.name, *values, signature=version)
        program.call("cudaStreamEndCapture", program.stream, OUT)
        program.builder.finish()


def test_launch_of_a_graph_from_elsewhere() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    program.begin()
    program.launch(memory, stream=program.stream)
    program.end()
    for _ in range(2):
        assert program.call("cudaGraphLaunch", exec_symbol(), program.stream).status == 0
    assert program.kinds().count("NOT_UNDERSTOOD") == 1
    assert program.last.kind is OperationKind.OPAQUE_CALL
    # It may be a graph that was captured here.
    assert program.last.address == memory.address
    assert program.last.mode is AccessMode.OPAQUE


def test_graph_from_elsewhere_is_built_and_launched() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    graph = graph_symbol()
    node = program.add("cudaGraphAddKernelNode", graph, (), OUT, kernel_arguments=[(memory, AccessMode.WRITE)])
    program.add("cudaGraphAddEmptyNode", graph, (node,))
    executable = program.make("cudaGraphInstantiate", OUT, graph, 0)
    assert program.last.kind is OperationKind.HANDLE_CREATE
    assert program.call("cudaGraphExecKernelNodeSetParams", executable, node, OUT).status == 0
    assert program.call("cudaGraphLaunch", executable, program.stream).status == 0
    assert program.last.kind is OperationKind.OPAQUE_CALL
    assert program.last.address == memory.address
    assert program.call("cudaGraphExecDestroy", executable).status == 0
    assert program.call("cudaGraphDestroy", graph).status == 0
    assert OperationKind.GRAPH_INSTANTIATE not in {each.kind for each in program.operations()}


def test_unknown_dependencies_order_after_everything() -> None:
    program = GraphProgram()
    graph = program.graph()
    first, second = (program.add("cudaGraphAddEmptyNode", graph, ()) for _ in range(2))
    program.call("cudaGraphAddEmptyNode", OUT, graph, None, None)
    program.call("cudaGraphAddEmptyNode", OUT, graph, 1, 2, structures={"pDependencies": {"0": first, "1": None}})
    program.instantiate(graph)
    assert program.body().edges == {(1, 3), (2, 3), (3, 4)}
    program.add("cudaGraphAddEmptyNode", graph, ())
    program.call("cudaGraphAddDependencies", graph, None, None, None, None)
    program.instantiate(graph)
    assert program.body().edges == {(1, 2), (2, 3), (3, 4), (4, 5)}
    assert second


def test_unknown_updates_end_what_is_known() -> None:
    world = World()
    assert world.call("cudaGraphExecKernelNodeSetParams", world.exec, None, OUT).status == 0
    assert world.call("cudaGraphLaunch", world.exec, world.stream).status == 0
    assert world.last.kind is OperationKind.OPAQUE_CALL
    world = World()
    assert world.call("cudaGraphExecUpdate", world.exec, graph_symbol(), OUT).status == 0
    world.call("cudaGraphLaunch", world.exec, world.stream)
    assert world.last.kind is OperationKind.OPAQUE_CALL


def test_own_memory_after_an_unknown_launch() -> None:
    program = GraphProgram()
    program.begin()
    memory = program.make("cudaMallocAsync", OUT, 64, program.stream)
    executable = program.instantiate(program.end())
    program.call("cudaGraphLaunch", executable, program.stream)
    program.call("cudaGraphLaunch", exec_symbol(), program.stream)
    assert program.call("cudaGraphLaunch", executable, program.stream).status == 0
    program.call("cudaGraphLaunch", exec_symbol(), program.stream)
    assert program.call("cudaFreeAsync", memory, program.stream).status == 0


def test_unseen_code_with_a_graph_may_change_it() -> None:
    program = GraphProgram()
    graph = program.graph()
    program.model.opaque_call(program.main, [graph], program.site(), "helper")
    executable = program.make("cudaGraphInstantiate", OUT, graph, 0)
    program.call("cudaGraphLaunch", executable, program.stream)
    assert program.last.kind is OperationKind.OPAQUE_CALL


def test_a_child_from_elsewhere() -> None:
    program = GraphProgram()
    graph = program.graph()
    program.add("cudaGraphAddChildGraphNode", graph, (), graph_symbol())
    program.instantiate(graph)
    assert program.body().kinds == ["OPAQUE"]


def test_flags_nobody_knows_allow_relaunches() -> None:
    program = GraphProgram()
    program.begin()
    program.call("cudaMallocAsync", OUT, 64, program.stream)
    executable = program.make("cudaGraphInstantiate", OUT, program.end(), Symbol(3, "flags", "opaque"))
    assert [program.call("cudaGraphLaunch", executable, 0).status for _ in range(2)] == [0, 0]


def test_unknown_memory_is_freed_in_a_capture() -> None:
    program = GraphProgram()
    unknown = Symbol(11, "p", "parameter")
    program.begin()
    assert program.call("cudaFreeAsync", unknown, program.stream).status == 0
    assert program.call("cudaFreeAsync", None, program.stream).status == 0
    program.instantiate(program.end())
    assert program.body().kinds == ["FREE", "FREE"]


def test_streams_nobody_knows_capture() -> None:
    program = GraphProgram()
    stream = Symbol(12, "stream", "parameter")
    assert program.call("cudaStreamEndCapture", Symbol(13, "s", "opaque"), OUT).status == 0
    program.begin(stream, mode=2)
    program.launch(stream=stream)
    program.instantiate(program.end(stream))
    assert program.body().kinds == ["KERNEL"]
    program.begin(stream, mode=2)
    assert isinstance(program.make("cudaStreamEndCapture", Symbol(14, "other", "opaque"), OUT), Handle)


def test_an_unknown_event_is_no_violation() -> None:
    program = GraphProgram()
    event = Symbol(15, "event", "parameter")
    program.begin()
    assert program.call("cudaStreamWaitEvent", program.stream, event, 0).status == 0
    program.end()


def test_a_batch_becomes_references_of_one_node() -> None:
    world = World()
    references = [Reference(4096 + 8 * index, 8) for index in range(2000)]
    executable = world.main.process.handles[world.exec.value]
    executable.graph.nodes[0].references = tuple(references)
    world.instantiate(world.g)
    assert len(world.body().nodes[1].further) == 510


def test_unseen_code_with_the_stream_may_end_the_capture() -> None:
    program = GraphProgram()
    program.begin()
    program.launch(stream=program.stream)
    program.model.opaque_call(program.main, [program.stream], program.site(), "end_capture")
    assert program.call("cudaMalloc", OUT, 64).status == 0
    assert program.call("cudaStreamSynchronize", program.stream).status == 0
    assert program.last.kind is OperationKind.STREAM_SYNCHRONIZE
    program.launch(stream=program.stream)
    assert program.last.kind is OperationKind.LAUNCH


def test_unseen_code_with_the_stream_may_also_capture_on() -> None:
    program = GraphProgram()
    program.begin()
    program.model.opaque_call(program.main, [program.stream], program.site(), "all_reduce")
    program.launch(stream=program.stream)
    program.instantiate(program.end())
    assert program.body().kinds == ["OPAQUE", "KERNEL"]


def test_a_graph_that_a_broken_capture_did_not_give_is_no_graph_of_unseen_code() -> None:
    program = GraphProgram()
    graph, executable = Symbol(16, "graph", "uninitialised"), Symbol(17, "exec", "uninitialised")
    program.begin()
    assert program.call("cudaStreamSynchronize", program.stream).status == 900
    ended = program.call("cudaStreamEndCapture", program.stream, OUT)
    assert (ended.status, ended.outputs["pGraph"]) == (901, 0)
    for value in (graph, 0):
        assert program.call("cudaGraphInstantiate", OUT, value, 0).status == 1
    for value in (executable, 0):
        assert program.call("cudaGraphLaunch", value, program.stream).status == 1
    kinds = [operation.kind for operation in program.operations()]
    assert OperationKind.NOT_UNDERSTOOD not in kinds
    assert OperationKind.OPAQUE_CALL not in kinds


def test_without_a_broken_capture_it_may_be() -> None:
    program = GraphProgram()
    assert program.call("cudaGraphLaunch", Symbol(18, "exec", "uninitialised"), program.stream).status == 0
    assert program.last.kind is OperationKind.OPAQUE_CALL
