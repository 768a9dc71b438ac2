"""What calls return on a machine that is known, and what the program is told of errors."""

from __future__ import annotations

import pytest
from simulated import HOST, TOTAL, Simulated

from streamsan.model.address_space import AddressIndex
from streamsan.model.error_calls import words
from streamsan.model.resources import Allocation
from streamsan.vocabulary import HandleKind, MemoryKind, OperationKind

OUT = 1


def test_last_error_is_the_threads() -> None:
    program = Simulated()
    other = program.model.thread("other")
    memory = program.memory()
    assert program.status("cudaFree", HOST) == 1
    assert program.status("cudaGetLastError", thread=other) == 0
    assert program.status("cudaPeekAtLastError") == 1
    assert program.status("cudaMemset", memory, 0, 8) == 0
    assert program.status("cudaGetLastError") == 1
    assert program.status("cudaGetLastError") == 0


def test_not_ready_and_the_drivers_errors_are_not_kept() -> None:
    program = Simulated()
    stream = program.make("cudaStreamCreate", OUT)
    program.executor.pending.add(stream.value)
    assert program.status("cudaStreamQuery", stream) == 600
    assert program.status("cuMemFree", HOST) == 1
    assert program.status("cudaGetLastError") == 0


def test_an_error_of_the_context_stays_until_the_reset() -> None:
    program = Simulated()
    memory = program.memory()
    program.error()
    for call in [
        ("cudaMemset", memory, 0, 8),
        ("cudaDeviceSynchronize",),
        ("cudaMalloc", OUT, 8),
        ("cudaFree", memory),
    ]:
        assert program.status(*call) == 700, call
        assert program.status("cudaGetLastError") == 700
    assert program.status("cudaGetDeviceCount", OUT) == 0
    assert program.status("cudaSetDevice", 1) == 0
    assert program.status("cudaMalloc", OUT, 8) == 0
    assert program.status("cudaSetDevice", 0) == 0
    assert program.status("cudaDeviceReset") == 0
    assert program.status("cudaMalloc", OUT, 8) == 0


def test_the_wait_that_meets_an_error_returns_it() -> None:
    program = Simulated()
    program.memory()

    def broken(thread: object, stream: object) -> None:
        program.error(status=719)

    program.executor.synchronize_stream = broken  # type: ignore[method-assign]
    assert program.status("cudaStreamSynchronize", 0) == 719
    assert (program.last.kind, program.last.status) == (OperationKind.STREAM_SYNCHRONIZE, 719)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("cudaMemcpy", 0, HOST, 8, 1), 1),
        (("cudaMemcpy", "d", 0, 8, 1), 1),
        (("cudaMemcpy", 0, 0, 0, 1), 0),
        (("cudaMemcpy", "d", HOST, 1025, 1), 1),
        (("cudaMemcpy", "d", HOST, 1024, 1), 0),
        (("cudaMemcpy", "d", HOST, 8, 7), 21),
        (("cudaMemcpy", HOST, HOST + 8, 8, 1), 1),
        (("cudaMemcpy", "d", HOST, 8, 2), 1),
        (("cudaMemcpy2D", "d", 4, HOST, 16, 8, 2, 1), 12),
        (("cudaMemcpy2D", "d", 512, HOST, 16, 8, 3, 1), 1),
        (("cudaMemcpyPeer", "d", 5, "d", 0, 8), 101),
        (("cudaMemset", 0, 0, 8), 1),
        (("cudaMemset", HOST, 0, 8), 1),
        (("cudaMemset", "d", 0, 1025), 1),
        (("cuMemsetD32", "d", 0, 257), 1),
        (("cuMemsetD32", "d", 0, 256), 0),
        (("cudaMalloc", 0, 8), 1),
        (("cudaMalloc", OUT, TOTAL + 1), 2),
        (("cudaSetDevice", 2), 101),
        (("cudaStreamSynchronize", 12345), 400),
        (("cudaEventRecord", 12345, 0), 400),
        (("cudaEventRecord", 0, 0), 400),
        (("cudaMemPrefetchAsync", "d", 8, 0, 0), 1),
        (("cudaMallocFromPoolAsync", OUT, 8, 0, 0), 1),
        (("cudaFree", "d+8"), 1),
        (("cudaFree", 0), 0),
    ],
)
def test_statuses_of_arguments(arguments: tuple[object, ...], status: int) -> None:
    program = Simulated()
    memory = program.memory(1024)
    named = {"d": memory, "d+8": memory.address + 8}
    name, *values = arguments
    given = [named.get(each, each) if isinstance(each, str) else each for each in values]
    assert program.status(str(name), *given) == status  # type: ignore[arg-type]
    assert program.last.status in (status, 0)


def test_the_reader_refuses_none_of_these() -> None:
    from model_program import Program

    program = Program()
    memory = program.make("cudaMalloc", OUT, 1024)
    assert program.call("cudaMemcpy", memory, HOST, 1025, 7).status == 0
    assert program.call("cudaStreamSynchronize", 12345).status == 0
    assert program.call("cudaSetDevice", 77).status == 0
    assert program.call("cuMemAlloc", OUT, 8).status == 0
    assert program.call("cudaGetLastError").status == 0


def test_host_addresses_cannot_be_freed() -> None:
    program = Simulated()
    for call in [("cudaFree", HOST), ("cudaFreeHost", HOST), ("cudaFreeAsync", HOST, 0), ("cuMemFree", HOST)]:
        assert program.status(*call) == 1
        assert (program.last.kind, program.last.status, program.last.address) == (OperationKind.FREE, 1, HOST)


def test_numbers_find_their_allocation() -> None:
    program = Simulated()
    first = program.memory(256)
    assert program.status("cudaFree", first.address) == 0
    assert program.last.object == first.generation
    assert program.status("cudaFree", first.address) == 1
    assert program.last.object == first.generation
    second = program.memory(256)
    assert second.address == first.address
    assert program.status("cudaMemset", first.address + 8, 0, 8) == 0
    assert program.last.object == second.generation


def test_the_driver_wants_to_be_initialised_and_a_context() -> None:
    program = Simulated()
    assert program.status("cuMemAlloc", OUT, 8) == 3
    assert program.status("cuGetErrorName", 1, OUT) == 0
    assert program.status("cuInit", 0) == 0
    assert program.status("cuMemAlloc", OUT, 8) == 201
    assert program.status("cuDeviceGetAttribute", OUT, 75, 0) == 0
    assert program.call("cuCtxGetCurrent", OUT).outputs == {"pctx": 0}
    context = program.make("cuCtxCreate", OUT, 0, 0)
    memory = program.make("cuMemAlloc", OUT, 8)
    assert program.status("cuMemsetD8", memory, 0, 8) == 0
    assert program.status("cuCtxPopCurrent", OUT) == 0
    assert program.status("cuCtxPopCurrent", OUT) == 201
    assert program.status("cuMemsetD8", memory, 0, 8) == 201
    assert program.status("cuCtxSetCurrent", context) == 0
    assert program.status("cuMemFree", memory) == 0


def test_a_destroyed_context_that_is_current_elsewhere() -> None:
    program = Simulated()
    program.call("cuInit", 0)
    context = program.make("cuCtxCreate", OUT, 0, 0)
    other = program.model.thread("other")
    assert program.status("cuCtxSetCurrent", context, thread=other) == 0
    assert program.status("cuCtxDestroy", context) == 0
    assert program.status("cuMemAlloc", OUT, 8, thread=other) == 709
    assert (program.last.kind, program.last.object, program.last.detail) == (
        OperationKind.HANDLE_USE,
        context.value,
        HandleKind.CONTEXT,
    )


def test_names_of_errors() -> None:
    program = Simulated()
    assert program.call("cudaGetErrorName", 700).outputs == {"return": "cudaErrorIllegalAddress"}
    assert program.call("cudaGetErrorString", 400).outputs == {"return": "invalid resource handle"}
    assert program.call("cuGetErrorName", 2, OUT).outputs == {"pStr": "CUDA_ERROR_OUT_OF_MEMORY"}
    assert program.call("cuGetErrorString", 2, OUT).outputs == {"pStr": "out of memory"}
    assert program.call("cuGetErrorName", 12345, OUT).status == 1
    assert words("cudaErrorECCUncorrectable") == "ecc uncorrectable"


def test_a_machine_without_devices() -> None:
    program = Simulated(devices=0)
    assert program.status("cudaMalloc", OUT, 8) == 100
    assert program.call("cudaGetDeviceCount", OUT).outputs == {"count": 0}


def test_index_gives_the_newest_and_keeps_what_is_left_of_the_old() -> None:
    index = AddressIndex()
    old, inside, across = (
        Allocation(address, size, number, MemoryKind.PLAIN, None)
        for number, (address, size) in enumerate([(100, 100), (120, 10), (190, 20)])
    )
    for each in (old, inside, across):
        index.add(each)
    expected = {99: None, 100: old, 119: old, 120: inside, 129: inside, 130: old, 189: old, 190: across, 210: None}
    assert {address: index.find(address) for address in expected} == expected
    index.remove(inside)
    assert index.find(125) is None
    assert index.find(130) is old


def test_registered_memory_is_the_hosts_again_afterwards() -> None:
    program = Simulated()
    assert program.status("cudaHostRegister", HOST, 64, 0) == 0
    assert program.status("cudaHostRegister", HOST, 64, 0) == 712
    mapped = program.call("cudaHostGetDevicePointer", OUT, HOST + 8, 0).outputs["pDevice"]
    assert mapped.address == HOST + 8
    assert program.status("cudaHostUnregister", HOST) == 0
    assert program.status("cudaHostUnregister", HOST) == 713
    assert program.status("cudaHostGetDevicePointer", OUT, HOST, 0) == 1
    memory = program.memory()
    program.call("cudaMemcpy", memory, HOST, 8, 1)
    copy = program.last
    assert copy.further[0].generation == 0
