"""Memory pools: their handles die, their memory does not; and `free` of what CUDA gave out."""

from __future__ import annotations

import pytest
from model_program import Program

from streamsan.vocabulary import FreeClass, HandleKind, MemoryKind, OperationKind

OUT = 1


def test_pool_is_made_used_and_destroyed() -> None:
    program = Program()
    pool = program.make("cudaMemPoolCreate", OUT, None)
    program.make("cudaMallocFromPoolAsync", OUT, 64, pool, 0)
    assert program.call("cudaMemPoolTrimTo", pool, 0).status == 0
    assert program.call("cudaMemPoolDestroy", pool).status == 0
    found = [each for each in program.operations() if each.kind.name.startswith("HANDLE")]
    assert [each.kind for each in found] == [
        OperationKind.HANDLE_CREATE,
        OperationKind.HANDLE_USE,
        OperationKind.HANDLE_DESTROY,
    ]
    assert {(each.object, each.detail, each.status) for each in found} == {(pool.value, HandleKind.POOL, 0)}


@pytest.mark.parametrize("prefix", ["cuda", "cu"])
@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (("MemPoolTrimTo", "pool", 0), OperationKind.HANDLE_USE),
        (("MemPoolSetAttribute", "pool", 4, None), OperationKind.HANDLE_USE),
        (("MemPoolGetAttribute", "pool", 4, OUT), OperationKind.HANDLE_USE),
        (("DeviceSetMemPool", 0, "pool"), OperationKind.HANDLE_USE),
        (("MemPoolImportPointer", OUT, "pool", None), OperationKind.HANDLE_USE),
        (("MemPoolDestroy", "pool"), OperationKind.HANDLE_DESTROY),
    ],
)
def test_destroyed_pool_is_said_by_every_use(prefix: str, call: tuple[object, ...], kind: OperationKind) -> None:
    program = Program()
    pool = program.make(f"{prefix}MemPoolCreate", OUT, None)
    program.call(f"{prefix}MemPoolDestroy", pool)
    name, *arguments = call
    outcome = program.call(f"{prefix}{name}", *[pool if each == "pool" else each for each in arguments])
    assert outcome.status != 0
    assert (program.last.kind, program.last.object, program.last.status) == (kind, pool.value, outcome.status)


@pytest.mark.parametrize("api", ["cudaMallocFromPoolAsync", "cuMemAllocFromPoolAsync"])
def test_destroyed_pool_gives_no_memory_and_its_own_memory_stays(api: str) -> None:
    program = Program()
    pool = program.make("cudaMemPoolCreate", OUT, None)
    memory = program.make(api, OUT, 64, pool, 0)
    program.call("cudaMemPoolDestroy", pool)
    refused = program.call(api, OUT, 64, pool, 0)
    assert refused.status != 0
    assert not refused.outputs
    assert (program.last.kind, program.last.object) == (OperationKind.HANDLE_USE, pool.value)
    assert program.call("cudaFreeAsync", memory, 0).status == 0


def test_pool_outlives_a_reset() -> None:
    program = Program()
    pool = program.make("cudaMemPoolCreate", OUT, None)
    program.call("cudaDeviceReset")
    assert program.call("cudaMemPoolTrimTo", pool, 0).status == 0


def test_default_pool_is_not_the_programs_to_destroy() -> None:
    program = Program()
    pool = program.make("cudaDeviceGetDefaultMemPool", OUT, 0)
    program.call("cudaMemPoolDestroy", pool)
    assert program.last.kind is OperationKind.CALL
    program.make("cudaMallocFromPoolAsync", OUT, 64, pool, 0)


@pytest.mark.parametrize("api", ["cudaMalloc", "cudaMallocHost", "cudaMallocManaged"])
def test_free_of_what_cuda_gave_out_leaves_it_as_it_was(api: str) -> None:
    program = Program()
    memory = program.make(api, OUT, 64)
    program.model.host_free(program.main, memory, FreeClass.HOST_HEAP, program.site())
    assert (program.last.kind, program.last.detail, program.last.address) == (
        OperationKind.FREE,
        FreeClass.HOST_HEAP,
        memory.address,
    )
    assert program.call("cudaFreeHost" if api == "cudaMallocHost" else "cudaFree", memory).status == 0


def test_arrays_have_a_kind_of_their_own() -> None:
    program = Program()
    program.make("cudaMallocArray", OUT, 1, 8, 8)
    assert program.last.detail == MemoryKind.ARRAY
