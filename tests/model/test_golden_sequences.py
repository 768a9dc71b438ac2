"""Representative programs, and exactly what they leave in the trace."""

from __future__ import annotations

from model_program import Program

from streamsan.model.values import Symbol
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    FreeClass,
    MemoryKind,
    OperationKind,
    SlotFlag,
    StreamKind,
    WaitClass,
)


def test_stream_ordered_life() -> None:
    program = Program()
    stream = program.make("cudaStreamCreateWithFlags", 1, 1)
    memory = program.make("cudaMallocAsync", 1, 4096, stream)
    program.launch(memory, stream=stream)
    assert program.call("cudaFreeAsync", memory, stream).status == 0
    program.call("cudaStreamSynchronize", stream)
    program.call("cudaStreamDestroy", stream)
    assert program.kinds() == [
        "CONTEXT_CREATE",
        "CONTEXT_CURRENT",
        "STREAM_CREATE",
        "ALLOC",
        "LAUNCH",
        "FREE",
        "STREAM_SYNCHRONIZE",
        "STREAM_DESTROY",
    ]
    create, current, made, alloc, launch, free, wait, destroy = program.operations()[1:]
    assert (create.detail, create.address) == (ContextKind.PRIMARY, 0)
    assert current.object == create.object
    assert (made.object, made.detail) == (stream.value, StreamKind.NON_BLOCKING)
    assert (alloc.address, alloc.size, alloc.object) == (memory.address, 4096, memory.generation)
    assert (alloc.detail, alloc.stream, alloc.api) == (MemoryKind.STREAM_ORDERED, stream.value, "cudaMallocAsync")
    assert (launch.stream, launch.address, launch.object, launch.mode) == (
        stream.value,
        memory.address,
        memory.generation,
        AccessMode.READ_WRITE,
    )
    assert launch.label == "kernel"
    assert (free.detail, free.stream, free.object, free.status) == (
        FreeClass.ASYNC,
        stream.value,
        memory.generation,
        0,
    )
    assert (wait.stream, destroy.object) == (stream.value, stream.value)


def test_malformed_free_goes_on_in_the_default_stream() -> None:
    program = Program()
    memory = program.make("cudaMallocAsync", 1, 64, 0)
    program.call("cudaFreeAsync", memory)
    assert (program.last.kind, program.last.stream, program.last.detail) == (OperationKind.FREE, 1, FreeClass.ASYNC)


def test_default_streams_by_mode_value_and_spelling() -> None:
    for options, value, api, handle in [
        ({}, 0, "cudaStreamSynchronize", 1),
        ({"per_thread_default": True}, 0, "cudaStreamSynchronize", 2),
        ({"per_thread_default": True}, 1, "cudaStreamSynchronize", 1),
        ({}, 2, "cudaStreamSynchronize", 2),
        ({}, 0, "cudaStreamSynchronize_ptsz", 2),
    ]:
        program = Program(**options)
        program.call(api, value)
        assert program.last.stream == handle
        assert "STREAM_CREATE" not in program.kinds()


def test_unknown_stream_is_introduced_once() -> None:
    program = Program()
    stream = Symbol(1, "stream", "parameter")
    program.call("cudaStreamSynchronize", stream)
    program.call("cudaStreamSynchronize", stream)
    program.call("cudaStreamSynchronize", Symbol(2, "other", "parameter"))
    made = [each for each in program.operations() if each.kind is OperationKind.STREAM_CREATE]
    assert [(each.detail, each.flags) for each in made] == [(StreamKind.UNKNOWN, SlotFlag.ASSUMED)] * 2
    waits = [each.stream for each in program.operations() if each.kind is OperationKind.STREAM_SYNCHRONIZE]
    assert waits == [made[0].object, made[0].object, made[1].object]


def test_unknown_memory_is_introduced_once() -> None:
    program = Program()
    pointer = Symbol(1, "d_x", "parameter")
    program.launch(pointer)
    program.launch(pointer)
    assert program.kinds().count("ALLOC") == 1
    alloc = program.only(OperationKind.ALLOC)
    assert (alloc.detail, alloc.flags & SlotFlag.ASSUMED, alloc.size) == (MemoryKind.UNKNOWN, SlotFlag.ASSUMED, 0)
    assert program.last.address == alloc.address


def test_values_nobody_set_leave_no_reference_and_no_error() -> None:
    program = Program()
    unset = Symbol(1, "p", "uninitialised")
    for value in (None, unset):
        assert program.call("cudaFree", value).status == 0
        assert program.call("cudaMemcpy", value, value, 4, 1).status == 0
        program.launch(value)
    assert not {"ALLOC", "FREE"} & set(program.kinds())
    assert all(each.address == 0 and not each.further for each in program.operations()[3:])


def test_null_and_empty() -> None:
    program = Program()
    assert program.call("cudaFree", 0).status == 0
    assert program.call("cudaMalloc", 1, 0).outputs == {"devPtr": 0}
    assert program.call("cuMemAlloc", 1, 0).status == 1
    memory = program.make("cudaMalloc", 1, 8)
    program.call("cudaMemcpy", memory, memory, 0, 3)
    assert program.last.address == 0
    assert "FREE" not in program.kinds()


def test_events() -> None:
    program = Program()
    first, second = program.make("cudaStreamCreate", 1), program.make("cudaStreamCreate", 1)
    event = program.make("cudaEventCreateWithFlags", 1, 2)
    other = program.make("cudaEventCreate", 1)
    program.call("cudaEventRecord", event, first)
    program.call("cudaEventRecord", other)
    program.call("cudaStreamWaitEvent", second, event)
    program.call("cudaEventSynchronize", event)
    program.call("cudaEventElapsedTime", 1, event, other)
    program.call("cudaEventDestroy", event)
    record, on_default, wait, synchronize, elapsed, destroy = program.operations()[-6:]
    assert (record.kind, record.object, record.stream) == (OperationKind.EVENT_RECORD, event.value, first.value)
    assert (on_default.object, on_default.stream) == (other.value, 1)
    assert (wait.kind, wait.object, wait.stream) == (OperationKind.STREAM_WAIT_EVENT, event.value, second.value)
    assert (synchronize.kind, synchronize.object) == (OperationKind.EVENT_SYNCHRONIZE, event.value)
    assert (elapsed.kind, elapsed.object, elapsed.address) == (OperationKind.EVENT_ELAPSED, event.value, other.value)
    assert (destroy.kind, destroy.object) == (OperationKind.EVENT_DESTROY, event.value)
    stale = program.call("cudaEventRecord", event, first)
    assert stale.status == program.last.status == 400


def test_copy_fields() -> None:
    program = Program()
    device = program.make("cudaMalloc", 1, 256)
    host = program.model.host_allocate(program.main, 256, MemoryKind.HOST_HEAP, program.site("h"))
    program.call("cudaMemcpy", host, device, 128, 2)
    copy = program.last
    assert (copy.address, copy.size, copy.object, copy.mode) == (
        host.address,
        128,
        host.generation,
        AccessMode.WRITE,
    )
    (source,) = copy.further
    assert (source.address, source.size, source.generation, source.mode) == (
        device.address,
        128,
        device.generation,
        AccessMode.READ,
    )
    assert (copy.stream, copy.detail) == (1, WaitClass.COMPLETE)


def test_copy_from_memory_nobody_knows_keeps_the_sides_apart() -> None:
    program = Program()
    device = program.make("cudaMalloc", 1, 256)
    program.call("cudaMemcpy", None, device, 128, 2)
    assert program.last.address == 0
    assert program.last.further[0].address == device.address


def test_pitched_copies_are_bounding_ranges() -> None:
    program = Program()
    device, pitch = program.call("cudaMallocPitch", 1, 1, 100, 4).outputs.values()
    host = program.model.host_allocate(program.main, 400, MemoryKind.HOST_HEAP, program.site())
    program.call("cudaMemcpy2D", device, pitch, host, 100, 100, 4, 1)
    assert pitch == 512
    assert (program.last.size, program.last.further[0].size) == (3 * 512 + 100, 400)
    program.call("cudaMemcpy2D", device, pitch, host, 100, 100, None, 1)
    assert (program.last.size, program.last.further[0].size) == (0, 0)


def test_fill_sizes() -> None:
    program = Program()
    memory = program.make("cuMemAlloc", 1, 4096)
    for call, size in [
        (("cudaMemset", memory, 0, 7), 7),
        (("cuMemsetD32", memory, 0, 8), 32),
        (("cuMemsetD2D16Async", memory, 64, 0, 10, 3, 0), 2 * 64 + 20),
        (("cudaMemset2D", memory, 64, 0, 10, 3), 2 * 64 + 10),
        (("cudaMemset", memory, 0, Symbol(1, "n", "input")), 0),
    ]:
        program.call(*call)
        assert (program.last.kind, program.last.size) == (OperationKind.MEMSET, size), call


def test_symbols_and_offsets() -> None:
    program = Program()
    table = program.model.host_allocate(program.main, 1024, MemoryKind.DEVICE_SYMBOL, program.site("table"))
    host = program.model.host_allocate(program.main, 64, MemoryKind.HOST_STACK, program.site("h"))
    program.call("cudaMemcpyToSymbol", table, host, 64, 128)
    assert (program.last.address, program.last.detail) == (table.address + 128, WaitClass.BEFORE)
    program.call("cudaMemcpyFromSymbol", host, table, 64)
    assert (program.last.address, program.last.detail) == (host.address, WaitClass.COMPLETE)
    assert program.call("cudaGetSymbolAddress", 1, table).outputs == {"devPtr": table}


def test_structures_of_copies() -> None:
    program = Program()
    device = program.make("cudaMalloc", 1, 4096)
    host = program.model.host_allocate(program.main, 4096, MemoryKind.HOST_HEAP, program.site())
    fields = {"p": {"srcPtr.ptr": host, "dstPtr.ptr": device, "kind": 1}}
    program.call("cudaMemcpy3D", 1, structures=fields)
    assert (program.last.address, program.last.detail) == (device.address, WaitClass.BEFORE)
    program.call("cudaMemcpy3D", 1)
    assert (program.last.address, program.last.detail) == (0, WaitClass.MAYBE_COMPLETE)


def test_virtual_memory() -> None:
    program = Program()
    made = program.model.call(program.main, "cuMemAddressReserve", [1, 1 << 21, 0, 0, 0], program.site("range"))
    range_ = made.outputs["ptr"]
    physical = program.make("cuMemCreate", 1, 1 << 21, 1, 0)
    program.call("cuMemMap", range_, 1 << 21, 0, physical, 0)
    program.launch(range_)
    assert program.call("cuMemUnmap", range_, 1 << 21).status == 0
    assert program.call("cuMemUnmap", range_, 1 << 21).status == 1
    alloc = program.only(OperationKind.ALLOC)
    assert (alloc.detail, alloc.address, alloc.label) == (MemoryKind.MAPPED, range_.address, "range")
    launch = program.only(OperationKind.LAUNCH)
    assert (launch.address, launch.object) == (range_.address, 0)
    free = next(each for each in program.operations() if each.kind is OperationKind.FREE)
    assert (free.detail, free.object, free.size) == (FreeClass.UNMAP, alloc.object, 1 << 21)


def test_registered_memory() -> None:
    program = Program()
    host = program.model.host_allocate(program.main, 4096, MemoryKind.HOST_HEAP, program.site())
    device = program.make("cudaMalloc", 1, 4096)
    program.call("cudaHostRegister", host, 4096, 0)
    registration = program.last
    assert (registration.detail, registration.address) == (MemoryKind.REGISTERED, host.address)
    assert program.call("cudaHostRegister", host, 4096, 0).status == 712
    program.call("cudaMemcpyAsync", device, host, 64, 1, 0)
    assert program.last.detail == WaitClass.NONE
    assert program.call("cudaHostUnregister", host).status == 0
    assert (program.last.detail, program.last.object) == (FreeClass.UNREGISTER, registration.object)
    assert program.call("cudaHostUnregister", host).status == 713
    program.call("cudaMemcpyAsync", device, host, 64, 1, 0)
    assert program.last.detail == WaitClass.MAYBE_COMPLETE


def test_imports_between_processes() -> None:
    program = Program()
    memory = program.make("cudaIpcOpenMemHandle", 1, None, 1)
    assert program.last.detail == MemoryKind.IPC
    assert program.call("cudaFree", memory).status == 1
    assert program.call("cudaIpcCloseMemHandle", memory).status == 0
    assert program.last.detail == FreeClass.IPC_CLOSE
    imported = program.make("cudaMemPoolImportPointer", 1, None, 1)
    assert program.call("cudaFreeAsync", imported, 0).status == 0


def test_pools() -> None:
    program = Program()
    pool = program.make("cudaMemPoolCreate", 1, 1)
    memory = program.make("cudaMallocFromPoolAsync", 1, 64, pool, 0)
    program.call("cudaMemPoolTrimTo", pool, 0)
    assert program.last.kind is OperationKind.HANDLE_USE
    program.call("cudaMemPoolDestroy", pool)
    assert program.call("cudaFreeAsync", memory, 0).status == 0


def test_advice_and_prefetch() -> None:
    program = Program()
    memory = program.make("cudaMallocManaged", 1, 4096)
    program.call("cudaMemAdvise", memory, 4096, 1, 0)
    assert program.last.kind is OperationKind.ALLOC_ATTRIBUTE
    stream = program.make("cudaStreamCreate", 1)
    program.call("cudaMemPrefetchAsync", memory, 4096, 0, stream)
    assert (program.last.kind, program.last.stream) == (OperationKind.PREFETCH, stream.value)
    program.call("cudaMemPrefetchAsync", memory, 4096, None, 0, stream)
    assert program.last.stream == stream.value


def test_launch_by_call() -> None:
    program = Program()
    memory = program.make("cudaMalloc", 1, 64)
    stream = program.make("cudaStreamCreate", 1)
    arguments = [(memory, AccessMode.READ), (7, AccessMode.READ)]
    program.call("cudaLaunchKernel", 1, None, None, 1, 0, stream, kernel_arguments=arguments)
    assert (program.last.kind, program.last.stream, program.last.mode) == (
        OperationKind.LAUNCH,
        stream.value,
        AccessMode.READ,
    )
    assert program.last.further == ()
    program.call("cudaLaunchKernelEx", 1, 1, 1, kernel_arguments=arguments, structures={"config": {"stream": stream}})
    assert program.last.stream == stream.value


def test_host_memory() -> None:
    program = Program()
    heap = program.model.host_allocate(program.main, 64, MemoryKind.HOST_HEAP, program.site("h"))
    program.model.host_access(program.main, heap, 4, AccessMode.WRITE, program.site())
    program.model.host_access(program.main, heap, None, AccessMode.READ, program.site(), certain=False)
    program.model.host_free(program.main, heap, FreeClass.HOST_HEAP, program.site())
    program.model.host_free(program.main, 0, FreeClass.HOST_HEAP, program.site())
    alloc, write, read, free = program.operations()[1:]
    assert (alloc.detail, alloc.label) == (MemoryKind.HOST_HEAP, "h")
    assert (write.mode, write.size, write.flags & SlotFlag.ASSUMED) == (AccessMode.WRITE, 4, 0)
    assert (read.mode, read.size, read.flags & SlotFlag.ASSUMED) == (AccessMode.READ, 0, SlotFlag.ASSUMED)
    assert (free.detail, free.object) == (FreeClass.HOST_HEAP, heap.generation)
