"""Host threads, forks, host functions and main."""

from __future__ import annotations

import pytest
from model_program import Program

from streamsan.model.values import Symbol
from streamsan.vocabulary import AccessMode, EdgeClass, ExitKind, FreeClass, MemoryKind, OperationKind, SlotFlag

OUT = 1
RELEASE, ACQUIRE = OperationKind.HOST_RELEASE, OperationKind.HOST_ACQUIRE


def keys(program: Program) -> list[tuple[OperationKind, int, int]]:
    return [(each.kind, each.thread, each.object) for each in program.operations() if each.kind in (RELEASE, ACQUIRE)]


def test_spawn_and_join() -> None:
    program = Program()
    worker = program.model.spawn(program.main, "worker", program.site())
    program.model.join(program.main, worker, program.site())
    main = program.main.index
    (_, _, begun), (_, _, ended) = keys(program)[::2]
    assert begun != ended
    assert keys(program) == [
        (RELEASE, main, begun),
        (ACQUIRE, worker.index, begun),
        (RELEASE, worker.index, ended),
        (ACQUIRE, main, ended),
    ]


def test_keys_of_the_caller() -> None:
    program = Program()
    key = program.model.sync_key()
    program.model.release(program.main, key, EdgeClass.RUN, program.site())
    program.model.acquire(program.main, key, EdgeClass.RUN, program.site())
    assert [(each.object, each.detail) for each in program.operations()[1:]] == [(key, EdgeClass.RUN)] * 2


def test_child_of_an_initialised_parent_can_call_nothing() -> None:
    program = Program()
    memory = program.make("cudaMalloc", OUT, 64)
    heap = program.model.host_allocate(program.main, 8, MemoryKind.HOST_HEAP, program.site())
    child = program.model.fork(program.main, program.site())
    before = len(program.operations())
    assert program.call("cudaFree", memory, thread=child).status == 3
    assert program.model.launch(child, "kernel", [(memory, AccessMode.READ)], 0, program.site()).status == 3
    assert program.call("cudaMalloc", OUT, 4, thread=child).outputs == {}
    program.model.host_free(child, heap, FreeClass.HOST_HEAP, program.site())
    program.model.host_access(child, heap, 4, AccessMode.WRITE, program.site())
    after = program.operations()[before:]
    assert [(each.kind, each.status) for each in after] == [(OperationKind.CALL, 3)] * 3
    assert program.call("cudaFree", memory).status == 0
    fork = program.only(OperationKind.FORK)
    assert fork.object == child.process.index == 1


def test_child_of_a_fresh_parent_works_on_its_own() -> None:
    program = Program()
    child = program.model.fork(program.main, program.site())
    mine = program.make("cudaMalloc", OUT, 64, thread=child)
    theirs = program.make("cudaMalloc", OUT, 64)
    assert mine.address != theirs.address
    assert program.call("cudaFree", theirs, thread=child).status == 1
    assert program.call("cudaFree", mine, thread=child).status == 0


def test_fork_followed_by_the_parent() -> None:
    program = Program()
    assert program.model.fork(program.main, program.site(), child=False) is program.main
    assert program.kinds() == ["FORK"]


def test_main_and_what_lies_outside() -> None:
    program = Program()
    model = program.model
    model.static_begin(program.main)
    program.call("cudaMalloc", OUT, 4)
    assert program.last.flags & SlotFlag.OUTSIDE
    model.main_begin(program.main, program.site())
    program.call("cudaMalloc", OUT, 4)
    assert not program.last.flags & SlotFlag.OUTSIDE
    model.main_end(program.main, program.site())
    program.call("cudaMalloc", OUT, 4)
    assert program.last.flags & SlotFlag.OUTSIDE
    model.process_exit(program.main, program.site(), ExitKind.ABORTED)
    assert (program.last.kind, program.last.detail) == (OperationKind.PROCESS_EXIT, ExitKind.ABORTED)
    assert [kind for kind in program.kinds() if kind.startswith("MAIN")] == ["MAIN_BEGIN", "MAIN_END"]


def test_an_entry_that_is_not_main_has_no_outside() -> None:
    program = Program()
    program.call("cudaMalloc", OUT, 4)
    program.model.main_end(program.main)
    assert "MAIN_END" not in program.kinds()
    assert not program.last.flags & SlotFlag.OUTSIDE


def test_undecided_branches_are_marked() -> None:
    program = Program()
    program.main.conditional = True
    program.call("cudaMalloc", OUT, 4)
    assert program.last.flags & SlotFlag.CONDITIONAL
    program.main.conditional = False
    program.call("cudaMalloc", OUT, 4)
    assert not program.last.flags & SlotFlag.CONDITIONAL


@pytest.mark.parametrize("api", ["cudaLaunchHostFunc", "cudaStreamAddCallback"])
def test_host_function_in_view(api: str) -> None:
    program = Program()
    stream = program.make("cudaStreamCreate", OUT)
    data = program.model.host_allocate(program.main, 8, MemoryKind.HOST_HEAP, program.site())
    ran = []

    def body(thread, function, user_data) -> None:
        ran.append((function, user_data))
        program.model.host_access(thread, user_data, 8, AccessMode.WRITE, program.site())

    program.model.on_host_function = body
    function = Symbol(5, "notify", "opaque")
    program.call(api, stream, function, data, *([0] if api == "cudaStreamAddCallback" else []))
    assert ran == [(function, data)]
    issued, started, acquire, access, release = program.operations()[-5:]
    assert (issued.kind, issued.stream) == (OperationKind.HOST_FUNCTION, stream.value)
    assert issued.further[0].address == data.address
    assert (started.kind, access.kind) == (OperationKind.THREAD_START, OperationKind.HOST_ACCESS)
    assert [(each.kind, each.object) for each in (acquire, release)] == [
        (ACQUIRE, issued.object),
        (RELEASE, issued.object),
    ]
    assert acquire.thread == access.thread == release.thread == started.thread != issued.thread


def test_host_function_nobody_sees() -> None:
    program = Program()
    program.call("cudaLaunchHostFunc", 0, None, None)
    assert (program.last.kind, program.last.object, program.last.stream) == (OperationKind.HOST_FUNCTION, 0, 1)


def test_what_is_not_modelled_is_said_once() -> None:
    program = Program()
    for _ in range(2):
        program.call("cudaImportExternalMemory", OUT, 1)
        program.call("cudaWaitExternalSemaphoresAsync", 1, 1, 1, 0)
    labels = [each.label for each in program.operations() if each.kind is OperationKind.NOT_UNDERSTOOD]
    assert len(labels) == 2
    assert "cudaImportExternalMemory" in labels[0]
