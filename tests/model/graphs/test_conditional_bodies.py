"""Which bodies of conditional nodes surely run: by the default of the condition at a launch."""

from __future__ import annotations

import pytest
from graph_program import OUT, GraphProgram

from streamsan.vocabulary import AccessMode, SlotFlag

IF, WHILE, SWITCH = range(3)
ASSIGNED = 1
CONDITIONAL = 13


def kernel(program: GraphProgram, graph, after, *arguments, **more):
    return program.add(
        "cudaGraphAddKernelNode",
        graph,
        after,
        OUT,
        structures={"pNodeParams": {"func": 7, "gridDim.x": 1, "blockDim.x": 1}},
        kernel_arguments=[(each, AccessMode.WRITE) for each in arguments],
        **more,
    )


def conditional(program: GraphProgram, graph, handle, kind: int, size: int, after=()):
    fields = {"type": CONDITIONAL, "conditional.handle": handle, "conditional.type": kind, "conditional.size": size}
    structures = {"nodeParams": fields, "pDependencies": dict(zip(map(str, range(len(after))), after, strict=True))}
    outcome = program.call("cudaGraphAddNode", OUT, graph, OUT, 0, len(after), OUT, structures=structures)
    return [outcome.outputs[f"nodeParams.conditional.phGraph_out.{index}"] for index in range(size)]


def left_out(program: GraphProgram) -> list[bool]:
    """For each node of the latest body whether a launch may leave it out."""
    return [bool(each.flags & SlotFlag.CONDITIONAL) for each in program.body().nodes.values()]


@pytest.mark.parametrize(
    ("kind", "size", "default", "flags", "runs"),
    [
        (WHILE, 1, 1, ASSIGNED, 0),
        (WHILE, 1, 0, ASSIGNED, None),
        (WHILE, 1, 1, 0, None),
        (IF, 1, 7, ASSIGNED, 0),
        (IF, 2, 0, ASSIGNED, 1),
        (IF, 1, 0, ASSIGNED, None),
        (SWITCH, 3, 2, ASSIGNED, 2),
        (SWITCH, 3, 3, ASSIGNED, None),
        (9, 1, 1, ASSIGNED, None),
    ],
)
def test_the_default_of_the_condition_decides(kind: int, size: int, default: int, flags: int, runs: int | None) -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    graph = program.graph()
    handle = program.make("cudaGraphConditionalHandleCreate", OUT, graph, default, flags)
    for body in conditional(program, graph, handle, kind, size):
        kernel(program, body, (), memory, handle)  # what runs inside sets it for the next round
    program.instantiate(graph)
    assert left_out(program) == [False, *(number != runs for number in range(size))]


@pytest.mark.parametrize("given", [True, False])
def test_a_kernel_outside_that_is_given_the_handle_may_change_it(given: bool) -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    graph = program.graph()
    handle = program.make("cudaGraphConditionalHandleCreate", OUT, graph, 1, ASSIGNED)
    kernel(program, graph, (), memory, *([handle] if given else []))
    (body,) = conditional(program, graph, handle, WHILE, 1)
    kernel(program, body, (), memory)
    program.instantiate(graph)
    assert left_out(program) == [False, False, given]


def test_a_body_inside_a_body_runs_only_if_both_do() -> None:
    for outer, inner in ((1, 1), (1, 0), (0, 1)):
        program = GraphProgram()
        memory = program.make("cudaMalloc", OUT, 64)
        graph = program.graph()
        first = program.make("cudaGraphConditionalHandleCreate", OUT, graph, outer, ASSIGNED)
        second = program.make("cudaGraphConditionalHandleCreate", OUT, graph, inner, ASSIGNED)
        (body,) = conditional(program, graph, first, WHILE, 1)
        (innermost,) = conditional(program, body, second, IF, 1)
        kernel(program, innermost, (), memory)
        program.instantiate(graph)
        assert left_out(program) == [False, not outer, not (outer and inner)]


def test_an_update_brings_its_own_default() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    graphs = []
    for default in (1, 0):
        graph = program.graph()
        handle = program.make("cudaGraphConditionalHandleCreate", OUT, graph, default, ASSIGNED)
        (body,) = conditional(program, graph, handle, WHILE, 1)
        kernel(program, body, (), memory)
        graphs.append(graph)
    executable = program.instantiate(graphs[0])
    assert left_out(program) == [False, False]
    assert program.call("cudaGraphExecUpdate", executable, graphs[1], OUT).status == 0
    assert left_out(program) == [False, True]
