"""What capture makes of calls: nodes, forks and joins, events, memory."""

from __future__ import annotations

from graph_program import OUT, GraphProgram

from streamsan.vocabulary import AccessMode, CaptureMode, FreeClass, MemoryKind, NodeKind, OperationKind, SlotFlag


def test_captured_work_is_not_executed() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    program.begin()
    before = len(program.operations())
    program.launch(memory, stream=program.stream)
    program.call("cudaMemsetAsync", memory, 0, 64, program.stream)
    program.call("cudaMemcpyAsync", memory, memory, 4, 3, program.stream)
    assert program.seen_after(before) == []
    assert program.ran.enqueued == []
    graph = program.end()
    assert program.last.kind is OperationKind.CAPTURE_END
    begin = program.only(OperationKind.CAPTURE_BEGIN)
    assert (begin.object, begin.detail) == (program.last.object, CaptureMode.GLOBAL)
    assert (program.last.address, program.last.stream) == (graph.value, program.stream.value)
    executable = program.instantiate(graph)
    body = program.body()
    assert body.kinds == ["KERNEL", "MEMSET", "COPY"]
    assert body.edges == {(1, 2), (2, 3)}
    assert [each.api for each in body.nodes.values()] == ["cudaLaunchKernel", "cudaMemsetAsync", "cudaMemcpyAsync"]
    assert body.nodes[1].label == "kernel"
    assert [(each.address, each.size, each.mode) for each in body.nodes[3].further] == [
        (memory.address, 4, AccessMode.WRITE),
        (memory.address, 4, AccessMode.READ),
    ]
    assert program.call("cudaGraphLaunch", executable, program.stream).status == 0
    launch = program.last
    assert (launch.kind, launch.object, launch.stream) == (
        OperationKind.GRAPH_LAUNCH,
        executable.value,
        program.stream.value,
    )
    ((ran, _),) = program.ran.launched
    assert ran.body[2].work.width == 4


def test_fork_and_join() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    other = program.make("cudaStreamCreate", OUT)
    joined = program.make("cudaEventCreate", OUT)
    program.begin()
    program.launch(memory, stream=program.stream)
    program.call("cudaEventRecord", program.event, program.stream)
    program.call("cudaStreamWaitEvent", other, program.event, 0)
    program.launch(memory, stream=other)
    program.call("cudaMemsetAsync", memory, 0, 64, program.stream)
    program.call("cudaEventRecord", joined, other)
    program.call("cudaStreamWaitEvent", program.stream, joined, 0)
    program.launch(memory, stream=program.stream)
    program.instantiate(program.end())
    body = program.body()
    assert body.kinds == ["KERNEL", "KERNEL", "MEMSET", "KERNEL"]
    assert body.edges == {(1, 2), (1, 3), (2, 4), (3, 4)}
    program.launch(memory, stream=other)
    assert program.last.kind is OperationKind.LAUNCH


def test_a_fork_that_does_nothing_needs_no_join() -> None:
    program = GraphProgram()
    other = program.make("cudaStreamCreate", OUT)
    program.begin()
    program.call("cudaEventRecord", program.event, program.stream)
    assert program.call("cudaStreamWaitEvent", other, program.event, 0).status == 0
    program.end()


def test_external_events_become_nodes() -> None:
    program = GraphProgram()
    program.call("cudaEventRecord", program.event, 0)
    done = program.make("cudaEventCreate", OUT)
    program.begin()
    program.call("cudaStreamWaitEvent", program.stream, program.event, 1)
    program.call("cudaEventRecordWithFlags", done, program.stream, 1)
    executable = program.instantiate(program.end())
    body = program.body()
    assert body.kinds == ["EVENT_WAIT", "EVENT_RECORD"]
    assert [each.address for each in body.nodes.values()] == [program.event.value, done.value]
    program.call("cudaGraphLaunch", executable, program.stream)
    assert program.call("cudaEventSynchronize", done).status == 0


def test_external_flags_are_invalid_outside() -> None:
    program = GraphProgram()
    assert program.call("cudaEventRecordWithFlags", program.event, program.stream, 1).status == 1
    assert program.call("cudaStreamWaitEvent", program.stream, program.event, 1).status == 1
    assert program.last.kind is OperationKind.STREAM_WAIT_EVENT


def test_memory_nodes() -> None:
    program = GraphProgram()
    program.begin()
    memory = program.make("cudaMallocAsync", OUT, 1 << 20, program.stream)
    made = program.last
    assert (made.kind, made.detail, made.address, made.size, made.stream) == (
        OperationKind.ALLOC,
        MemoryKind.GRAPH,
        memory.address,
        1 << 20,
        0,
    )
    assert made.object == memory.generation
    program.launch(memory, stream=program.stream)
    assert program.call("cudaFreeAsync", memory, program.stream).status == 0
    freed = program.last
    assert (freed.kind, freed.detail, freed.address, freed.object, freed.status) == (
        OperationKind.FREE,
        FreeClass.GRAPH_NODE,
        memory.address,
        memory.generation,
        0,
    )
    program.instantiate(program.end())
    body = program.body()
    assert body.kinds == ["ALLOC", "KERNEL", "FREE"]
    assert {each.further[0].generation for each in body.nodes.values()} == {memory.generation}


def test_capture_into_a_graph() -> None:
    program = GraphProgram()
    graph = program.graph()
    first = program.add("cudaGraphAddEmptyNode", graph, ())
    program.add("cudaGraphAddEmptyNode", graph, ())
    outcome = program.call(
        "cudaStreamBeginCaptureToGraph",
        program.stream,
        graph,
        1,
        0,
        1,
        2,
        structures={"dependencies": program.nodes(first)},
    )
    assert outcome.status == 0
    program.launch(stream=program.stream)
    assert program.end() == graph
    program.instantiate(graph)
    assert program.body().edges == {(1, 3)}


def test_capture_info_and_update() -> None:
    program = GraphProgram()
    stream = program.stream
    assert program.call("cudaStreamIsCapturing", stream, OUT).outputs == {"pCaptureStatus": 0}
    program.begin()
    program.launch(stream=stream)
    outcome = program.call("cudaStreamGetCaptureInfo", stream, *[OUT] * 6)
    assert outcome.outputs["captureStatus_out"] == 1
    assert outcome.outputs["numDependencies_out"] == 1
    graph, node = outcome.outputs["graph_out"], outcome.outputs["dependencies_out.0"]
    more = program.add("cudaGraphAddEmptyNode", graph, (node,))
    nodes = {"dependencies": program.nodes(more)}
    assert program.call("cudaStreamUpdateCaptureDependencies", stream, 1, 1, 1, structures=nodes).status == 0
    program.launch(stream=stream)
    assert program.end() == graph
    program.instantiate(graph)
    assert program.body().edges == {(1, 2), (2, 3)}
    assert program.call("cudaStreamUpdateCaptureDependencies", stream, 1, 1, 0, structures=nodes).status == 401


def test_a_dropped_branch_is_not_unjoined() -> None:
    program = GraphProgram()
    other = program.make("cudaStreamCreate", OUT)
    program.begin()
    program.call("cudaEventRecord", program.event, program.stream)
    program.call("cudaStreamWaitEvent", other, program.event, 0)
    program.launch(stream=other)
    assert program.call("cudaStreamUpdateCaptureDependencies", other, 0, 0, 0, 1).status == 0
    program.end()


def test_other_streams_run_during_a_capture() -> None:
    program = GraphProgram()
    other = program.make("cudaStreamCreate", OUT)
    program.begin()
    program.launch(stream=other)
    assert program.last.kind is OperationKind.LAUNCH


def test_launches_by_the_api_and_by_the_driver() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    arguments = [(memory, AccessMode.READ)]
    program.begin()
    config = {"config": {"stream": program.stream}}
    program.call("cudaLaunchKernelExC", 1, None, 1, structures=config, kernel_arguments=arguments)
    dimensions = [1, 1, 1, 64, 1, 1, 0]
    program.call("cuLaunchKernel", None, *dimensions, program.stream, 1, 0, kernel_arguments=arguments, payload="how")
    graph = program.end()
    node = program.call("cudaGraphGetNodes", graph, OUT, OUT).outputs["nodes.1"]
    given = program.call("cuGraphKernelNodeGetParams", node, OUT).outputs
    assert given["nodeParams.blockDimX"] == 64
    program.instantiate(graph)
    body = program.body()
    assert [each.further[0].mode for each in body.nodes.values()] == [AccessMode.READ] * 2


def test_code_nobody_sees_may_add_nodes() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    program.begin()
    program.model.opaque_call(program.main, [memory, program.stream], program.site(), "library")
    program.launch(memory, stream=program.stream)
    program.instantiate(program.end())
    body = program.body()
    assert body.kinds == ["OPAQUE", "KERNEL"]
    assert body.nodes[1].detail is not NodeKind.EMPTY
    assert body.nodes[1].further[0].flags & SlotFlag.ASSUMED
