"""What calls return where the model knows that they fail."""

from __future__ import annotations

import pytest
from model_program import Program

from streamsan.model.executor import Executor
from streamsan.model.process_state import HostThread
from streamsan.model.statuses import NOT_SUPPORTED
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import Pointer, Symbol
from streamsan.vocabulary import FreeClass, MemoryKind, OperationKind, SlotFlag

OUT = 1
ALLOCATE = {
    "plain": ("cudaMalloc", OUT, 64),
    "managed": ("cudaMallocManaged", OUT, 64),
    "pinned": ("cudaMallocHost", OUT, 64),
    "pooled": ("cudaMallocAsync", OUT, 64, 0),
    "array": ("cudaMallocArray", OUT, 1, 8, 8),
    "imported": ("cudaIpcOpenMemHandle", OUT, None, 1),
}
FREE = {
    "cudaFree": ("cudaFree",),
    "cudaFreeAsync": ("cudaFreeAsync",),
    "cudaFreeHost": ("cudaFreeHost",),
    "cudaFreeArray": ("cudaFreeArray",),
    "cudaIpcCloseMemHandle": ("cudaIpcCloseMemHandle",),
}
FITS = {
    "plain": {"cudaFree", "cudaFreeAsync"},
    "managed": {"cudaFree"},
    "pinned": {"cudaFreeHost"},
    "pooled": {"cudaFree", "cudaFreeAsync"},
    "array": {"cudaFreeArray"},
    "imported": {"cudaIpcCloseMemHandle"},
}


@pytest.mark.parametrize("kind", ALLOCATE)
@pytest.mark.parametrize("free", FREE)
def test_free_functions_take_their_own_memory(kind: str, free: str) -> None:
    program = Program()
    memory = program.make(*ALLOCATE[kind])
    arguments = (memory, 0) if free == "cudaFreeAsync" else (memory,)
    status = program.call(free, *arguments).status
    refused = NOT_SUPPORTED if (kind, free) == ("managed", "cudaFreeAsync") else 1
    assert status == (0 if free in FITS[kind] else refused)
    assert (program.last.kind, program.last.status) == (OperationKind.FREE, status)
    if status:
        # The memory stays as it was.
        assert (
            program.call(sorted(FITS[kind])[0], memory, *([0] if "Async" in sorted(FITS[kind])[0] else [])).status == 0
        )


def test_second_free() -> None:
    program = Program()
    plain, pooled = program.make("cudaMalloc", OUT, 64), program.make("cudaMallocAsync", OUT, 64, 0)
    assert [program.call("cudaFree", plain).status for _ in range(2)] == [0, 1]
    assert [program.call("cudaFreeAsync", pooled, 0).status for _ in range(2)] == [0, 1]
    crossed = program.make("cudaMalloc", OUT, 64)
    assert program.call("cudaFreeAsync", crossed, 0).status == 0  # F-07
    assert program.call("cudaFree", crossed).status == 1
    assert program.last.object == crossed.generation


def test_interior_wild_and_host_addresses() -> None:
    program = Program()
    memory = program.make("cudaMalloc", OUT, 1024)
    inside = Pointer(memory.address + 256, memory.base, memory.generation)
    assert program.call("cudaFree", inside).status == 1
    assert (program.last.address, program.last.object) == (inside.address, memory.generation)
    assert program.call("cudaFree", 0xDEAD).status == 1
    heap = program.model.host_allocate(program.main, 64, MemoryKind.HOST_HEAP, program.site())
    assert program.call("cudaFree", heap).status == 1
    assert program.call("cudaFree", memory).status == 0


def test_offsets_nobody_knows_are_no_error() -> None:
    program = Program()
    memory = program.make("cudaMalloc", OUT, 1024)
    somewhere = Pointer(memory.base, memory.base, memory.generation, exact=False)
    assert program.call("cudaFree", somewhere).status == 0
    assert program.last.flags & SlotFlag.ASSUMED
    assert program.call("cudaFree", memory).status == 0


def test_memory_of_unknown_callers_is_freed_by_any_function_once() -> None:
    for free in FREE:
        program = Program()
        memory = Symbol(1, "p", "parameter")
        rest = (0,) if free == "cudaFreeAsync" else ()
        assert program.call(free, memory, *rest).status == 0
        assert program.call(free, memory, *rest).status == 1


def test_what_unseen_code_was_given_may_be_freed() -> None:
    program = Program()
    memory = program.make("cudaMalloc", OUT, 64)
    program.model.opaque_call(program.main, [memory, 3, None, Symbol(1, "n", "input")], program.site())
    assert program.last.kind is OperationKind.OPAQUE_CALL
    assert (program.last.address, program.last.further) == (memory.address, ())
    assert [program.call("cudaFree", memory).status for _ in range(2)] == [0, 1]


def test_addresses_and_handles_are_never_given_twice() -> None:
    program = Program()
    addresses, handles = set(), set()
    for _ in range(50):
        memory, stream = program.make("cudaMalloc", OUT, 64), program.make("cudaStreamCreate", OUT)
        addresses.add(memory.address)
        handles.add(stream.value)
        program.call("cudaFree", memory)
        program.call("cudaStreamDestroy", stream)
    assert len(addresses) == len(handles) == 50


def test_sizes_that_cannot_be() -> None:
    program = Program()
    for size in (-1, 1 << 63, 1 << 200):
        memory = program.make("cudaMalloc", OUT, size)
        assert program.last.size == 0
        assert program.call("cudaFree", memory).status == 0


def test_default_streams_are_not_destroyed() -> None:
    program = Program()
    for value in (0, 1, 2):
        assert program.call("cudaStreamDestroy", value).status == 400
        assert program.last.kind is OperationKind.CALL
    assert program.call("cudaStreamDestroy", None).status == 0


def test_work_on_a_dead_stream_fails() -> None:
    program = Program()
    stream = program.make("cudaStreamCreate", OUT)
    program.call("cudaStreamDestroy", stream)
    assert program.call("cudaStreamSynchronize", stream).status == 400
    assert program.call("cudaStreamQuery", stream).status == 400
    assert program.launch(stream=stream).status == 400
    outcome = program.call("cudaMallocAsync", OUT, 64, stream)
    assert (outcome.status, outcome.outputs) == (400, {})
    assert (program.last.kind, program.last.stream) == (OperationKind.ALLOC, stream.value)


def test_pure_calls_leave_nothing() -> None:
    program = Program()
    assert program.call("cudaGetLastError").status == 0
    assert program.call("cudaGetErrorString", 1).status == 0
    assert program.kinds() == []
    assert not program.main.process.initialised


def test_results_nobody_knows_are_symbols() -> None:
    program = Program()
    count = program.make("cudaGetDeviceCount", OUT)
    assert isinstance(count, Symbol)
    free, total = program.call("cudaMemGetInfo", OUT, OUT).outputs.values()
    assert isinstance(free, Symbol)
    assert free != total
    assert program.call("cudaMemGetInfo", 0, OUT).outputs.keys() == {"total"}


def test_query_and_the_path_on_which_it_succeeded() -> None:
    program = Program()
    stream, event = program.make("cudaStreamCreate", OUT), program.make("cudaEventCreate", OUT)
    for handle, api, kind in [
        (stream, "cudaStreamQuery", OperationKind.STREAM_QUERY),
        (event, "cudaEventQuery", OperationKind.EVENT_QUERY),
    ]:
        outcome = program.call(api, handle)
        assert isinstance(outcome.outputs["return"], Symbol)
        assert (program.last.kind, program.last.status, outcome.status) == (kind, -32768, -32768)
        program.model.query_succeeded(program.main, handle, program.site())
        assert (program.last.kind, program.last.status) == (kind, 0)
    unknown = Symbol(1, "ready", "parameter")
    program.call("cudaEventQuery", unknown)
    program.model.query_succeeded(program.main, unknown, program.site())
    assert (program.last.kind, program.last.status) == (OperationKind.EVENT_QUERY, 0)
    program.model.query_succeeded(program.main, 0, program.site())
    assert (program.last.kind, program.last.stream) == (OperationKind.STREAM_QUERY, 1)


def test_the_executor_decides_queries() -> None:
    class Machine(Executor):
        def query_stream(self, thread: HostThread, stream: Stream, fresh: Symbol) -> int:
            return 600

        def device_count(self, fresh: Symbol) -> int:
            return 2

    program = Program(executor=Machine())
    assert program.call("cudaStreamQuery", 0).status == 600
    assert program.make("cudaGetDeviceCount", OUT) == 2


def test_lost_pointers_and_notes() -> None:
    program = Program()
    memory = program.make("cudaMalloc", OUT, 64)
    from streamsan.vocabulary import LostKind

    program.model.pointer_lost(program.main, memory, LostKind.ITERATION, program.site())
    assert (program.last.kind, program.last.object, program.last.detail) == (
        OperationKind.POINTER_LOST,
        memory.generation,
        LostKind.ITERATION,
    )
    program.model.malformed(program.main, program.site("x"), "takes 2 arguments", "cudaFreeAsync")
    assert (program.last.kind, program.last.label) == (OperationKind.MALFORMED_CALL, "takes 2 arguments")
    program.model.not_understood(program.main, program.site("a template"))
    assert (program.last.kind, program.last.label) == (OperationKind.NOT_UNDERSTOOD, "a template")


def test_free_classes() -> None:
    for kind, free, family in [
        ("plain", "cudaFree", FreeClass.DEVICE),
        ("pinned", "cudaFreeHost", FreeClass.PINNED),
        ("array", "cudaFreeArray", FreeClass.ARRAY),
    ]:
        program = Program()
        program.call(free, program.make(*ALLOCATE[kind]))
        assert program.last.detail == family
