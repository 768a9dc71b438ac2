"""What the executor is told: the bytes of copies and fills, kernels, order, waits."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from simulated import HOST, Simulated

from streamsan.model.values import Pointer
from streamsan.model.work import CopyForm, CopyWork, FillWork, KernelWork, NoWork, Place, ValueWork
from streamsan.vocabulary import (
    AccessMode,
    FreeClass,
    MemoryKind,
    OperationKind,
    SlotFlag,
    ValueOperation,
    WaitClass,
)

OUT = 1


def copied(program: Simulated) -> CopyWork:
    """The latest copy, however it was asked for."""
    return replace(program.executor.last[2], form=CopyForm())


def test_flat_copies() -> None:
    program = Simulated()
    memory = program.memory()
    inside = Pointer(memory.address + 16, memory.base, memory.generation)
    for arguments, to, source in [
        (("cudaMemcpy", inside, HOST, 8, 1), inside.address, HOST),
        (("cudaMemcpyAsync", HOST, memory, 8, 2, 0), HOST, memory.address),
        (("cuMemcpyHtoD", memory, HOST, 8), memory.address, HOST),
        (("cuMemcpyDtoHAsync", HOST, memory.address + 4, 8, 0), HOST, memory.address + 4),
        (("cudaMemcpyPeer", inside, 1, memory, 0, 8), inside.address, memory.address),
        (("cudaMemcpyToSymbol", memory, HOST, 8, 32, 1), memory.address + 32, HOST),
        (("cudaMemcpyFromSymbol", HOST, memory, 8, 24, 2), HOST, memory.address + 24),
    ]:
        assert program.status(*arguments) == 0, arguments
        assert copied(program) == CopyWork(Place(to), Place(source), 8), arguments


def test_pitched_copies_and_fills() -> None:
    program = Simulated()
    memory = program.memory(4096)
    assert program.status("cudaMemcpy2D", memory, 64, HOST, 16, 12, 3, 1) == 0
    assert copied(program) == CopyWork(Place(memory.address, 64), Place(HOST, 16), 12, 3)
    assert program.status("cuMemsetD2D16", memory, 64, 0x12345, 8, 3) == 0
    assert program.executor.last[2] == FillWork(Place(memory.address, 64), 0x2345, 2, 8, 3)
    assert program.status("cudaMemset", memory, -1, 5) == 0
    assert program.executor.last[2] == FillWork(Place(memory.address), 255, 1, 5)
    pitched = {"ptr": memory, "pitch": 32, "xsize": 20, "ysize": 4}
    extent = {"width": 20, "height": 2, "depth": 3}
    structures = {"pitchedDevPtr": pitched, "extent": extent}
    assert program.status("cudaMemset3D", memory, 7, 1, structures=structures) == 0
    assert program.executor.last[2] == FillWork(Place(memory.address, 32, 128), 7, 1, 20, 2, 3)


def test_copies_by_structure() -> None:
    program = Simulated()
    memory = program.memory(4096)
    fields = {
        "srcPtr.ptr": HOST, "srcPtr.pitch": 10, "srcPtr.xsize": 10, "srcPtr.ysize": 5,
        "srcPos.x": 1, "srcPos.y": 2, "srcPos.z": 1, "srcArray": 0,
        "dstPtr.ptr": memory, "dstPtr.pitch": 64, "dstPtr.xsize": 10, "dstPtr.ysize": 4,
        "dstPos.x": 0, "dstPos.y": 0, "dstPos.z": 0, "dstArray": 0,
        "extent.width": 8, "extent.height": 3, "extent.depth": 2, "kind": 1,
    }  # fmt: skip
    assert program.status("cudaMemcpy3D", 1, structures={"p": fields}) == 0
    expected = CopyWork(Place(memory.address, 64, 256), Place(HOST + 50 + 20 + 1, 10, 50), 8, 3, 2)
    assert copied(program) == expected
    copy = next(each for each in reversed(program.operations()) if each.kind is OperationKind.COPY)
    assert (copy.address, copy.size) == (memory.address, 256 + 2 * 64 + 8)
    fields = {
        "srcXInBytes": 4, "srcY": 1, "srcMemoryType": 1, "srcHost": HOST, "srcDevice": 0, "srcPitch": 32,
        "dstXInBytes": 0, "dstY": 0, "dstMemoryType": 2, "dstHost": 0, "dstDevice": memory, "dstPitch": 0,
        "WidthInBytes": 16, "Height": 4,
    }  # fmt: skip
    assert program.status("cuMemcpy2D", 1, structures={"pCopy": fields}) == 0
    work = program.executor.last[2]
    assert (work.to.pitch, work.source.address, work.source.pitch) == (16, HOST + 36, 32)
    assert (work.width, work.height, work.depth) == (16, 4, 1)


def test_arrays_lie_row_after_row() -> None:
    program = Simulated()
    desc = {"x": 16, "y": 16, "z": 0, "w": 0, "f": 0}
    outcome = program.call("cudaMallocArray", OUT, 1, 8, 4, 0, structures={"desc": desc})
    array = outcome.outputs["array"]
    assert program.executor.last[1:3] == (8 * 4 * 4, MemoryKind.ARRAY)
    assert program.status("cudaMemcpy2DToArray", array, 8, 1, HOST, 16, 12, 2, 1) == 0
    assert copied(program) == CopyWork(Place(array.address + 40, 32), Place(HOST, 16), 12, 2)
    assert program.status("cudaMemcpyFromArray", HOST, array, 4, 2, 20, 2) == 0
    assert copied(program) == CopyWork(Place(HOST), Place(array.address + 68), 20)
    fields = {"dstArray": array, "dstPos.x": 2, "dstPos.y": 1, "dstPos.z": 0, "srcPtr.ptr": HOST,
              "srcPtr.pitch": 8, "srcPtr.ysize": 2,
              "extent.width": 2, "extent.height": 2, "extent.depth": 1}  # fmt: skip
    assert program.status("cudaMemcpy3D", 1, structures={"p": fields}) == 0
    assert copied(program) == CopyWork(Place(array.address + 40, 32), Place(HOST, 8), 8, 2)
    info = program.call("cudaArrayGetInfo", OUT, OUT, OUT, array).outputs
    assert (info["extent.width"], info["extent.height"], info["desc.y"]) == (8, 4, 16)
    assert program.status("cudaFreeArray", array) == 0
    assert program.status("cudaArrayGetInfo", OUT, OUT, OUT, array) == 1


def test_batches() -> None:
    program = Simulated()
    memory, stream = program.memory(), program.make("cudaStreamCreate", OUT)
    lists = {"dsts": {"0": memory, "1": HOST}, "srcs": {"0": HOST, "1": memory}, "sizes": {"0": 8, "1": 16}}
    assert program.status("cudaMemcpyBatchAsync", 1, 1, 1, 2, 1, 1, 0, stream, structures=lists) == 0
    assert [work.width for work in program.executor.work() if isinstance(work, CopyWork)] == [8, 16]
    assert program.kinds().count("COPY") == 2
    assert program.status("cudaMemcpyBatchAsync", 1, 1, 1, 2, 1, 1, 0, 0, structures=lists) == 1


def test_what_is_not_known_is_no_work() -> None:
    program = Simulated()
    memory = program.memory()
    program.call("cudaMemcpyAsync", memory, HOST, None, 1, 0)
    assert program.executor.last[2] == NoWork()


@pytest.mark.parametrize(
    ("arguments", "wait", "waits"),
    [
        (("cudaMemcpy", "d", HOST, 8, 1), WaitClass.BEFORE, True),
        (("cudaMemcpy", HOST, "d", 8, 2), WaitClass.COMPLETE, True),
        (("cudaMemcpyAsync", "d", HOST, 8, 1, 0), WaitClass.MAYBE_COMPLETE, False),
        (("cudaMemcpyAsync", "d", "d", 8, 3, 0), WaitClass.NONE, False),
        (("cudaMemcpyAsync", HOST + 64, HOST, 8, 0, 0), WaitClass.COMPLETE, True),
        (("cudaMemcpy", "d", HOST, 8, 4), WaitClass.BEFORE, True),
    ],
)
def test_addresses_that_nothing_covers_are_pageable(
    arguments: tuple[object, ...], wait: WaitClass, waits: bool
) -> None:
    program = Simulated()
    memory = program.memory()
    program.executor.told.clear()
    assert program.status(*[memory if each == "d" else each for each in arguments]) == 0  # type: ignore[arg-type]
    assert program.last.detail == wait
    assert program.executor.last[3] is wait
    assert (program.executor.told[0][0] == "synchronize_stream") is waits


def test_kernels_bring_their_payload_and_flags() -> None:
    class Kernel:
        name = "scale"

    program, kernel = Simulated(), Kernel()
    memory, stale = program.memory(), program.memory()
    program.call("cudaFree", stale)
    arguments = [
        (memory, AccessMode.READ, SlotFlag.TOUCHES),
        (stale.address + 8, AccessMode.WRITE),
        (5, AccessMode.READ),
        (HOST, AccessMode.READ),
    ]
    call = ("cuLaunchKernel", 9, 1, 1, 1, 32, 1, 1, 0, 0, 1, 0)
    assert program.status(*call, kernel_arguments=arguments, payload=kernel) == 0
    work = program.executor.last[2]
    assert isinstance(work, KernelWork)
    assert (work.name, work.payload) == ("scale", kernel)
    assert [each.generation for each in work.references] == [memory.generation, stale.generation]
    assert work.references[0].flags == SlotFlag.TOUCHES
    assert program.last.label == "scale"


def test_launches_that_do_not_fit() -> None:
    program = Simulated()
    program.memory()
    for grid, block, shared, status in [
        ((1, 1, 1), (1024, 1, 1), 0, 0),
        ((0, 1, 1), (32, 1, 1), 0, 1),
        ((1, 1, 1), (1024, 2, 1), 0, 1),
        ((1, 70000, 1), (32, 1, 1), 0, 1),
        ((1, 1, 1), (32, 1, 1), 1 << 20, 1),
    ]:
        assert program.status("cuLaunchKernel", 9, *grid, *block, shared, 0, 1, 0) == status
    config = {"gridDim.x": 0, "gridDim.y": 1, "gridDim.z": 1, "blockDim.x": 1, "blockDim.y": 1, "blockDim.z": 1}
    assert program.status("cudaLaunchKernelExC", 1, 9, 1, structures={"config": config}) == 9


def test_host_functions_run_when_the_executor_says_so() -> None:
    program = Simulated()
    ran: list[int] = []
    assert program.status("cudaLaunchHostFunc", 0, 77, 0, payload=lambda: ran.append(1)) == 0
    issued = program.only(OperationKind.HOST_FUNCTION)
    work = program.executor.last[2]
    assert (ran, issued.object > 0) == ([], True)
    assert callable(work.payload)
    work.payload()
    assert ran == [1]
    assert program.kinds()[-2:] == ["HOST_ACQUIRE", "HOST_RELEASE"]
    assert program.last.object == issued.object


def test_stream_memory_operations() -> None:
    program = Simulated()
    memory = program.memory()
    program.call("cuStreamWaitValue32", 0, memory, 0x1_0000_0005, 1)
    assert program.executor.last[2] == ValueWork(memory.address, 4, 5, "eq")
    assert (program.last.detail, program.last.size) == (ValueOperation.WAIT_EQ, 5)
    program.call("cuStreamWriteValue64", 0, memory.address + 8, 6, 0)
    assert program.executor.last[2] == ValueWork(memory.address + 8, 8, 6, "write")
    assert (program.last.detail, program.last.size) == (ValueOperation.WRITE_64, 6)
    program.call("cuStreamWriteValue32", 0, memory, 7, 1)  # without a barrier it may overtake what is before it
    assert program.executor.last[2] == ValueWork(memory.address, 4, 7, "write")
    assert (program.last.detail, program.last.size) == (ValueOperation.UNKNOWN, 0)
    batch = {
        "0.operation": 2, "0.writeValue.address": memory, "0.writeValue.value": 3, "0.writeValue.flags": 0,
        "1.operation": 1, "1.waitValue.address": memory, "1.waitValue.value": 3, "1.waitValue.flags": 0,
        "2.operation": 6,
    }  # fmt: skip
    program.executor.told.clear()
    assert program.status("cuStreamBatchMemOp", 0, 3, 1, 0, structures={"paramArray": batch}) == 0
    assert program.executor.work() == [ValueWork(memory.address, 4, 3, "write"), ValueWork(memory.address, 4, 3, "geq")]
    assert program.status("cuStreamWriteValue32", 0, memory.address + 2, 6, 0) == 1
    assert program.status("cuStreamWriteValue32", 0, HOST, 6, 0) == 1


def test_order_and_frees() -> None:
    program = Simulated()
    stream, event = program.make("cudaStreamCreate", OUT), program.make("cudaEventCreate", OUT)
    memory = program.make("cudaMallocAsync", OUT, 64, stream)
    program.executor.told.clear()
    program.call("cudaEventRecord", event, stream)
    program.call("cudaStreamWaitEvent", 0, event, 0)
    program.call("cudaEventSynchronize", event)
    program.call("cudaFreeAsync", memory, stream)
    program.call("cudaStreamSynchronize", stream)
    program.call("cudaDeviceSynchronize")
    assert program.executor.told == [
        ("record", stream.value, event.value),
        ("wait_event", 1, event.value),
        ("synchronize_event", event.value),
        ("free", memory.address, FreeClass.ASYNC, stream.value),
        ("synchronize_stream", stream.value),
        ("synchronize_context", program.main.process.primaries[0].handle),
    ]
    assert program.status("cudaFreeAsync", memory, stream) == 1
    assert len(program.executor.told) == 6


def test_a_wait_is_written_after_what_ran_meanwhile() -> None:
    program = Simulated()
    seen: list[list[str]] = []
    program.executor.synchronize_stream = lambda thread, stream: seen.append(program.kinds())  # type: ignore[method-assign]
    program.call("cudaStreamSynchronize", 0)
    assert "STREAM_SYNCHRONIZE" not in seen[0]
    assert program.kinds()[-1] == "STREAM_SYNCHRONIZE"


def test_elapsed_time() -> None:
    program = Simulated()
    start, end = program.make("cudaEventCreate", OUT), program.make("cudaEventCreate", OUT)
    untimed = program.make("cudaEventCreateWithFlags", OUT, 2)
    assert program.status("cudaEventElapsedTime", OUT, start, end) == 400
    for event in (start, end, untimed):
        program.call("cudaEventRecord", event, 0)
    assert program.call("cudaEventElapsedTime", OUT, start, end).outputs == {"ms": 1.5}
    assert program.status("cudaEventElapsedTime", OUT, start, untimed) == 400
    program.executor.pending.add(end.value)
    assert program.status("cudaEventElapsedTime", OUT, start, end) == 600
    assert program.status("cudaEventQuery", end) == 600
