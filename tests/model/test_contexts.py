"""Which context is current, and what resets and destroys take with them."""

from __future__ import annotations

from model_program import Program

from streamsan.model.values import Handle, Symbol
from streamsan.vocabulary import ContextKind, MemoryKind, OperationKind, SlotFlag

OUT = 1


def contexts(program: Program) -> list[tuple[str, int]]:
    """(kind of operation, context) of all that happens to contexts."""
    kinds = (OperationKind.CONTEXT_CREATE, OperationKind.CONTEXT_CURRENT, OperationKind.CONTEXT_DESTROY)
    return [(each.kind.name[8:], each.object) for each in program.operations() if each.kind in kinds]


def test_primary_context_is_made_at_the_first_call_that_needs_it() -> None:
    program = Program()
    program.call("cudaGetDeviceCount", OUT)
    program.call("cudaDeviceGetAttribute", OUT, 1, 0)
    assert contexts(program) == []
    program.call("cudaMalloc", OUT, 4)
    program.call("cudaMalloc", OUT, 4)
    assert [kind for kind, _ in contexts(program)] == ["CREATE", "CURRENT"]


def test_set_device_makes_the_primary_context_current() -> None:
    program = Program()
    created = program.make("cuCtxCreate", OUT, 0, 0)
    program.call("cudaSetDevice", 0)
    program.call("cudaMalloc", OUT, 4)
    program.call("cuCtxSetCurrent", created)
    program.call("cudaMalloc", OUT, 4)
    made = [each for each in program.operations() if each.kind is OperationKind.CONTEXT_CREATE]
    assert [each.detail for each in made] == [ContextKind.CREATED, ContextKind.PRIMARY]
    currents = [handle for kind, handle in contexts(program) if kind == "CURRENT"]
    assert currents == [created.value, made[1].object, created.value]


def test_runtime_calls_use_the_current_created_context() -> None:
    program = Program()
    program.call("cuCtxCreate", OUT, 0, 0)
    program.call("cudaMalloc", OUT, 4)
    assert [kind for kind, _ in contexts(program)] == ["CREATE", "CURRENT"]
    program.call("cudaDeviceSynchronize")
    assert program.last.object == contexts(program)[0][1]


def test_all_three_forms_of_context_creation() -> None:
    for arguments in [(OUT, 0, 1), (OUT, 0, 0, 1), (OUT, 0, 0, 0, 1)]:
        program = Program()
        assert program.call("cuCtxCreate", *arguments).outputs.keys() == {"pctx"}
        assert program.only(OperationKind.CONTEXT_CREATE).address == 1


def test_push_and_pop() -> None:
    program = Program()
    first = program.make("cuCtxCreate", OUT, 0, 0)
    second = program.make("cuCtxCreate", OUT, 0, 0)
    assert program.make("cuCtxPopCurrent", OUT) == second
    assert program.make("cuCtxGetCurrent", OUT) == first
    program.call("cuCtxPushCurrent", second)
    assert program.make("cuCtxGetCurrent", OUT) == second
    program.call("cuCtxSetCurrent", 0)
    assert program.make("cuCtxGetCurrent", OUT) == first
    currents = [handle for kind, handle in contexts(program) if kind == "CURRENT"]
    assert currents == [handle.value for handle in (first, second, first, second, first) if isinstance(handle, Handle)]


def test_destroyed_context_takes_its_members() -> None:
    program = Program()
    other = program.make("cuCtxCreate", OUT, 0, 0)
    context = program.make("cuCtxCreate", OUT, 0, 0)
    plain = program.make("cuMemAlloc", OUT, 64)
    pooled = program.make("cuMemAllocAsync", OUT, 64, 0)
    stream = program.make("cuStreamCreate", OUT, 0)
    event = program.make("cuEventCreate", OUT, 0)
    assert program.call("cuCtxDestroy", context).status == 0
    assert program.make("cuCtxGetCurrent", OUT) == other
    assert program.call("cuMemFree", plain).status == 1  # W-06
    assert program.call("cuMemFreeAsync", pooled, 0).status == 0
    assert program.call("cuStreamSynchronize", stream).status == 400
    assert program.call("cuEventSynchronize", event).status == 400
    assert program.call("cuCtxDestroy", context).status == 201
    assert program.last.kind is OperationKind.CONTEXT_DESTROY
    assert program.call("cuCtxSetCurrent", context).status == 201
    assert program.last.kind is OperationKind.CONTEXT_CURRENT


def test_destroyed_context_is_never_said_current_again() -> None:
    program = Program()
    first = program.make("cuCtxCreate", OUT, 0, 0)
    second = program.make("cuCtxCreate", OUT, 0, 0)
    program.call("cuCtxSetCurrent", first)
    program.call("cuCtxDestroy", second)
    program.call("cuCtxDestroy", first)
    assert program.last.kind is OperationKind.CONTEXT_DESTROY
    program.call("cudaMalloc", OUT, 4)
    assert contexts(program)[-2:] == [("CREATE", contexts(program)[-1][1]), ("CURRENT", contexts(program)[-1][1])]


def test_memory_is_freed_from_any_context() -> None:
    program = Program()
    program.call("cuCtxCreate", OUT, 0, 0)
    memory = program.make("cuMemAlloc", OUT, 64)
    program.call("cuCtxCreate", OUT, 0, 0)
    assert program.call("cuMemFree", memory).status == 0  # W-04
    assert program.call("cuMemFree", memory).status == 1


def test_device_reset() -> None:
    program = Program()
    plain, pooled = program.make("cudaMalloc", OUT, 64), program.make("cudaMallocAsync", OUT, 64, 0)
    pinned, managed = program.make("cudaMallocHost", OUT, 64), program.make("cudaMallocManaged", OUT, 64)
    stream, event = program.make("cudaStreamCreate", OUT), program.make("cudaEventCreate", OUT)
    heap = program.model.host_allocate(program.main, 64, MemoryKind.HOST_HEAP, program.site())
    assert program.call("cudaDeviceReset").status == 0
    assert program.last.kind is OperationKind.DEVICE_RESET
    for call in [("cudaFree", plain), ("cudaFreeHost", pinned), ("cudaFree", managed)]:
        assert program.call(*call).status == 1, call
    assert program.call("cudaStreamDestroy", stream).status == 400
    assert program.call("cudaEventDestroy", event).status == 400
    assert program.call("cudaFreeAsync", pooled, 0).status == 0
    assert heap in [each.pointer for each in program.main.process.live()]
    assert program.call("cudaMalloc", OUT, 64).status == 0


def test_reset_with_a_created_context_current_destroys_nothing() -> None:
    program = Program()
    program.call("cuCtxCreate", OUT, 0, 0)
    memory = program.make("cudaMalloc", OUT, 64)
    program.call("cudaDeviceReset")
    assert program.last.kind is OperationKind.CALL
    assert program.call("cudaFree", memory).status == 0


def test_reset_takes_the_current_device_only() -> None:
    program = Program()
    first = program.make("cudaMalloc", OUT, 64)
    program.call("cudaSetDevice", 1)
    second = program.make("cudaMalloc", OUT, 64)
    program.call("cudaDeviceReset")
    assert program.call("cudaFree", second).status == 1
    assert program.call("cudaFree", first).status == 0


def test_primary_context_by_the_driver() -> None:
    program = Program()
    device = program.make("cuDeviceGet", OUT, 0)
    assert device == 0
    context = program.make("cuDevicePrimaryCtxRetain", OUT, device)
    assert program.make("cuDevicePrimaryCtxRetain", OUT, device) == context
    program.call("cuCtxSetCurrent", context)
    memory = program.make("cuMemAlloc", OUT, 64)
    program.call("cuDevicePrimaryCtxRelease", device)
    assert program.last.kind is OperationKind.CALL
    program.call("cuDevicePrimaryCtxRelease", device)
    assert program.last.kind is OperationKind.CONTEXT_DESTROY
    assert program.call("cuMemFree", memory).status == 1


def test_the_runtime_keeps_the_primary_context_alive() -> None:
    program = Program()
    memory = program.make("cudaMalloc", OUT, 64)
    program.call("cuDevicePrimaryCtxRetain", OUT, 0)
    program.call("cuDevicePrimaryCtxRelease", 0)
    assert program.last.kind is OperationKind.CALL
    assert program.call("cudaFree", memory).status == 0
    program.call("cuDevicePrimaryCtxReset", 0)
    assert program.last.kind is OperationKind.DEVICE_RESET


def test_unknown_devices_and_contexts_keep_their_identity() -> None:
    program = Program()
    device = Symbol(1, "device", "parameter")
    program.call("cudaSetDevice", device)
    assert program.make("cudaGetDevice", OUT) == device
    program.call("cudaSetDevice", 0)
    program.call("cudaSetDevice", device)
    program.call("cudaSetDevice", Symbol(2, "other", "parameter"))
    made = [each for each in program.operations() if each.kind is OperationKind.CONTEXT_CREATE]
    assert [each.flags & SlotFlag.ASSUMED for each in made] == [SlotFlag.ASSUMED, 0, SlotFlag.ASSUMED]
    context = Symbol(3, "context", "parameter")
    program.call("cuCtxSetCurrent", context)
    program.call("cuCtxSetCurrent", 0)
    program.call("cuCtxSetCurrent", context)
    assert program.kinds().count("CONTEXT_CREATE") == 4


def test_devices_that_cannot_be() -> None:
    program = Program()
    assert program.call("cudaSetDevice", -1).status == 101
    assert contexts(program) == []


def test_peers() -> None:
    program = Program()
    program.call("cudaDeviceEnablePeerAccess", 1, 0)
    assert program.last.kind is OperationKind.PEER_ENABLE
    assert program.last.object == [handle for kind, handle in contexts(program) if kind == "CREATE"][1]


def test_each_thread_has_its_own_current_context() -> None:
    program = Program()
    program.call("cudaSetDevice", 1)
    worker = program.model.spawn(program.main, "worker", program.site())
    program.call("cudaMalloc", OUT, 4, thread=worker)
    currents = [each for each in program.operations() if each.kind is OperationKind.CONTEXT_CURRENT]
    assert [each.thread for each in currents] == [program.main.index, worker.index]
    assert currents[0].object != currents[1].object
