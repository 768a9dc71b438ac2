"""What calls return while a stream captures. The fact ids are those of docs/facts.md."""

from __future__ import annotations

import pytest
from graph_program import OUT, GraphProgram

from streamsan.vocabulary import FreeClass, OperationKind

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED, WRONG_THREAD = range(900, 909)


def capturing(mode: int = GLOBAL, blocking: bool = False) -> GraphProgram:
    program = GraphProgram()
    program.other = program.make("cudaStreamCreateWithFlags", OUT, 1)
    program.recorded = program.make("cudaEventCreate", OUT)
    program.call("cudaEventRecord", program.recorded, program.other)
    program.memory = program.make("cudaMalloc", OUT, 256)
    program.pooled = program.make("cudaMallocAsync", OUT, 256, program.other)
    program.pinned = program.make("cudaMallocHost", OUT, 256)
    if blocking:
        program.stream = program.make("cudaStreamCreate", OUT)
    program.begin(mode=mode)
    program.launch(stream=program.stream)
    program.call("cudaEventRecord", program.event, program.stream)
    return program


def end_status(program: GraphProgram) -> int:
    return program.call("cudaStreamEndCapture", program.stream, OUT).status


ALWAYS = {
    "cudaStreamSynchronize": (lambda p: [p.stream], UNSUPPORTED),  # C-01, G-05
    "cudaStreamQuery": (lambda p: [p.stream], UNSUPPORTED),
    "cudaDeviceSynchronize": (lambda p: [], UNSUPPORTED),
    "cuCtxSynchronize": (lambda p: [], UNSUPPORTED),
    "cudaEventSynchronize": (lambda p: [p.event], CAPTURED),  # C-02
    "cudaEventQuery": (lambda p: [p.event], CAPTURED),
    "cudaStreamAttachMemAsync": (lambda p: [p.stream, p.memory, 0, 1], UNSUPPORTED),  # C-14
    "cudaMemPrefetchAsync": (lambda p: [p.memory, 64, 0, p.stream], UNSUPPORTED),
    "cudaStreamAddCallback": (lambda p: [p.stream, None, None, 0], UNSUPPORTED),
    "cudaStreamWaitEvent": (lambda p: [p.stream, p.recorded, 0], ISOLATION),  # C-11
}


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("api", ALWAYS)
def test_what_no_mode_allows(api: str, mode: int, elsewhere: bool) -> None:
    program = capturing(mode)
    thread = program.model.thread("other") if elsewhere else program.main
    arguments, status = ALWAYS[api]
    outcome = program.call(api, *arguments(program), thread=thread)
    assert outcome.status == status
    assert outcome.outputs in ({}, {"return": status})
    assert program.last.status == status
    assert program.last.kind is not OperationKind.CALL
    assert program.launch(stream=program.stream).status == INVALIDATED
    assert end_status(program) == INVALIDATED
    assert program.last.kind is OperationKind.CAPTURE_END
    assert program.launch(stream=program.stream).status == 0
    assert program.last.kind is OperationKind.LAUNCH


UNSAFE = {
    "cudaMalloc": lambda p: [OUT, 64],  # C-05, G-06
    "cudaMallocPitch": lambda p: [OUT, OUT, 64, 4],
    "cudaMallocManaged": lambda p: [OUT, 64],
    "cudaMallocHost": lambda p: [OUT, 64],
    "cuMemAlloc": lambda p: [OUT, 64],
    "cudaFree": lambda p: [p.memory],
    "cudaFreeHost": lambda p: [p.pinned],
    "cudaHostRegister": lambda p: [p.model.host_allocate(p.main, 64, 6, 0), 64, 0],
    "cudaMallocAsync": lambda p: [OUT, 64, p.other],  # C-06
    "cudaFreeAsync": lambda p: [p.pooled, p.other],
    "cudaMemPoolCreate": lambda p: [OUT, 1],
    "cudaGraphInstantiate": lambda p: [OUT, p.graph(), 0],
    "cudaDeviceSetLimit": lambda p: [0, 1024],
    "cudaStreamSynchronize": lambda p: [p.other],  # C-04
    "cudaStreamQuery": lambda p: [p.other],
    "cudaEventSynchronize": lambda p: [p.recorded],
    "cudaEventQuery": lambda p: [p.recorded],
}


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("api", UNSAFE)
def test_unsafe_calls(api: str, mode: int, elsewhere: bool) -> None:
    program = capturing(mode)
    thread = program.model.thread("other") if elsewhere else program.main
    arguments = UNSAFE[api](program)
    forbidden = mode == GLOBAL or (mode == THREAD_LOCAL and not elsewhere)
    outcome = program.call(api, *arguments, thread=thread)
    if forbidden:
        assert outcome.status == UNSUPPORTED
        assert program.last.status == UNSUPPORTED
        assert end_status(program) == INVALIDATED
    else:
        assert outcome.status <= 0
        assert end_status(program) == 0


def test_a_refused_free_names_its_memory() -> None:
    program = capturing()
    program.call("cudaFree", program.memory)
    assert (program.last.kind, program.last.detail) == (OperationKind.FREE, FreeClass.DEVICE)
    assert program.last.address == program.memory.address
    end_status(program)
    assert program.call("cudaFree", program.memory).status == 0


@pytest.mark.parametrize("api", ["cudaFree", "cudaFreeAsync"])
def test_null_frees(api: str) -> None:
    program = capturing()
    stream = [program.stream] if api == "cudaFreeAsync" else []
    assert program.call(api, 0, *stream).status == (0 if stream else UNSUPPORTED)


def test_the_thread_may_allow_itself_unsafe_calls() -> None:
    program = capturing()
    swap = {"structures": {"mode": {"value": RELAXED}}}
    assert program.call("cudaThreadExchangeStreamCaptureMode", 1, **swap).outputs == {"mode": GLOBAL}
    assert program.call("cudaMalloc", OUT, 64).status == 0
    swap = {"structures": {"mode": {"value": GLOBAL}}}
    assert program.call("cudaThreadExchangeStreamCaptureMode", 1, **swap).outputs == {"mode": RELAXED}
    assert program.call("cudaMalloc", OUT, 64).status == UNSUPPORTED


def test_thread_local_threads_ignore_captures_elsewhere() -> None:
    program = capturing()
    thread = program.model.thread("other")
    swap = {"structures": {"mode": {"value": THREAD_LOCAL}}}
    program.call("cudaThreadExchangeStreamCaptureMode", 1, thread=thread, **swap)
    assert program.call("cudaMalloc", OUT, 64, thread=thread).status == 0
    assert end_status(program) == 0


HARMLESS = {  # C-03, C-07, C-08, C-10, C-11, C-12, C-13, C-15
    "cudaEventElapsedTime": (lambda p: [OUT, p.event, p.event], CAPTURED),
    "cudaFreeAsync": (lambda p: [p.memory, p.stream], 1),
    "cudaMemcpy": (lambda p: [p.memory, p.pooled, 4, 3], 0),
    "cudaMemset": (lambda p: [p.memory, 0, 4], 0),
    "cudaMemsetAsync": (lambda p: [p.memory, 0, 4, p.other], 0),
    "cudaStreamWaitEvent": (lambda p: [p.stream, p.make("cudaEventCreate", OUT), 0], 0),
    "cudaStreamBeginCapture": (lambda p: [p.stream, GLOBAL], 401),
    "cudaStreamEndCapture": (lambda p: [p.other, OUT], 401),
    "cuStreamBeginCapture": (lambda p: [0, GLOBAL], UNSUPPORTED),
    "cudaStreamCreate": (lambda p: [OUT], 0),
    "cudaEventDestroy": (lambda p: [p.event], 0),
    "cudaMemGetInfo": (lambda p: [OUT, OUT], 0),
    "cudaPointerGetAttributes": (lambda p: [OUT, p.memory], 0),
    "cudaDeviceGraphMemTrim": (lambda p: [0], 0),
    "cudaLaunchHostFunc": (lambda p: [p.stream, None, None], 0),
}


@pytest.mark.parametrize("api", HARMLESS)
def test_what_leaves_the_capture_alone(api: str) -> None:
    program = capturing()
    arguments, status = HARMLESS[api]
    assert program.call(api, *arguments(program)).status == status
    assert end_status(program) == 0


@pytest.mark.parametrize(
    ("api", "arguments"),
    [
        ("cudaMemcpy", lambda p: [p.memory, p.pooled, 4, 3]),
        ("cudaStreamSynchronize", lambda p: [0]),
        ("cudaStreamQuery", lambda p: [0]),
        ("cudaEventRecord", lambda p: [p.recorded, 0]),
        ("cudaStreamWaitEvent", lambda p: [0, p.recorded, 0]),
        ("cudaStreamWaitEvent", lambda p: [0, p.event, 0]),
        ("cudaMemsetAsync", lambda p: [p.memory, 0, 4, 0]),
        ("cudaFreeAsync", lambda p: [p.pooled, 0]),
    ],
)
def test_the_legacy_stream_against_a_blocking_one(api: str, arguments) -> None:
    program = capturing(RELAXED, blocking=True)
    assert program.call(api, *arguments(program)).status == IMPLICIT  # C-09
    assert program.last.status == IMPLICIT
    assert end_status(program) == INVALIDATED


def test_a_launch_on_the_legacy_stream() -> None:
    program = capturing(RELAXED, blocking=True)
    assert program.launch(stream=0).status == IMPLICIT
    assert program.last.kind is OperationKind.LAUNCH
    program = capturing(RELAXED)
    assert program.launch(stream=0).status == 0  # C-08
    assert end_status(program) == 0


def test_asking_for_the_legacy_stream_does_no_harm() -> None:
    program = capturing(RELAXED, blocking=True)
    assert program.call("cudaStreamIsCapturing", 0, OUT).status == IMPLICIT
    assert end_status(program) == 0


def test_another_blocking_stream_is_free() -> None:
    program = capturing(RELAXED, blocking=True)
    other = program.make("cudaStreamCreate", OUT)
    assert program.launch(stream=other).status == 0
    assert end_status(program) == 0


def test_per_thread_copies_wait_for_a_capture() -> None:
    program = GraphProgram()
    memory = program.make("cudaMalloc", OUT, 64)
    program.begin(2)
    assert program.call("cudaMemcpy_ptds", memory, memory, 4, 3).status == UNSUPPORTED


def test_ends_on_another_stream() -> None:
    program = capturing(RELAXED)
    program.call("cudaStreamWaitEvent", program.other, program.event, 0)
    assert program.call("cudaStreamEndCapture", program.other, OUT).status == UNMATCHED  # C-16
    assert end_status(program) == INVALIDATED


def test_unjoined_work() -> None:
    program = capturing(RELAXED)
    program.call("cudaStreamWaitEvent", program.other, program.event, 0)
    program.launch(stream=program.other)
    assert end_status(program) == UNJOINED  # C-17
    program.launch(stream=program.other)
    assert (program.last.kind, program.last.status) == (OperationKind.LAUNCH, 0)


@pytest.mark.parametrize(("mode", "status"), [(GLOBAL, WRONG_THREAD), (THREAD_LOCAL, WRONG_THREAD), (RELAXED, 0)])
def test_ends_on_another_thread(mode: int, status: int) -> None:
    program = capturing(mode)
    thread = program.model.thread("other")
    assert program.call("cudaStreamEndCapture", program.stream, OUT, thread=thread).status == status  # C-18


def test_captures_do_not_merge() -> None:
    program = capturing(RELAXED)
    program.begin(program.other, RELAXED)
    assert program.call("cudaStreamWaitEvent", program.other, program.event, 0).status == MERGE  # C-19
    assert program.last.kind is OperationKind.STREAM_WAIT_EVENT
    assert end_status(program) == INVALIDATED
    assert program.call("cudaStreamEndCapture", program.other, OUT).status == INVALIDATED


def test_events_of_a_capture_that_ended() -> None:
    program = capturing()
    assert end_status(program) == 0
    for api, arguments in (
        ("cudaEventSynchronize", [program.event]),
        ("cudaEventQuery", [program.event]),
        ("cudaStreamWaitEvent", [program.other, program.event, 0]),
    ):
        assert program.call(api, *arguments).status == 1  # C-20
    program.call("cudaEventRecord", program.event, program.other)
    assert program.call("cudaEventSynchronize", program.event).status == 0


def test_a_launch_in_a_capturing_stream() -> None:
    program = GraphProgram()
    executable = program.instantiate(program.graph())
    other = program.make("cudaStreamCreate", OUT)
    program.begin(mode=RELAXED)
    assert program.call("cudaGraphLaunch", executable, other).status == 0  # C-15
    assert program.call("cudaGraphLaunch", executable, program.stream).status == UNSUPPORTED  # C-14
    assert program.last.kind is OperationKind.GRAPH_LAUNCH
    assert end_status(program) == INVALIDATED


def test_no_capture_is_left_behind_a_destroyed_stream() -> None:
    program = capturing()
    program.call("cudaStreamDestroy", program.stream)
    assert end_status(program) != 0
    assert program.call("cudaMalloc", OUT, 64).status == 0


def test_a_failed_capture_leaves_no_graph() -> None:
    program = capturing()
    graph = program.call("cudaStreamGetCaptureInfo", program.stream, *[OUT] * 6).outputs["graph_out"]
    program.call("cudaDeviceSynchronize")
    end_status(program)
    assert program.call("cudaGraphInstantiate", OUT, graph, 0).status == 1
