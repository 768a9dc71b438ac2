"""SS106, SS201 to SS207, SS305, SS401: wrong frees, stale handles, resets, leaks."""

from __future__ import annotations

import pytest
from order_program import PRIMARY, READ, Program

from streamsan.vocabulary import (
    ContextKind,
    ExitKind,
    FreeClass,
    HandleKind,
    LostKind,
    MemoryKind,
    RelatedRole,
    SlotFlag,
)
from streamsan.vocabulary import OperationKind as Kind

S = 10
P = 0x10000
INVALID = 1


def test_double_free_once() -> None:
    program = Program()
    program.alloc(P)
    program.free(P)
    again = program.free(P, status=INVALID)
    program.free(P, status=INVALID)
    assert program.found() == [(201, "SAME_POINTER", again)]


def test_a_stale_pointer_frees_the_new_owner() -> None:
    program = Program(S)
    program.alloc(P, generation=1)
    program.free(P, generation=1)
    program.alloc(P, generation=2)
    again = program.free(P, generation=1)  # W-03
    program.launch(S, P, generation=2)
    program.free(P, generation=2, status=INVALID)
    assert program.found() == [(201, "RECYCLED", again)]


@pytest.mark.parametrize(
    ("kind", "family", "variant"),
    [
        (MemoryKind.PINNED, FreeClass.DEVICE, "WRONG_FAMILY"),
        (MemoryKind.PLAIN, FreeClass.PINNED, "WRONG_FAMILY"),
        (MemoryKind.HOST_HEAP, FreeClass.DEVICE, "HOST_POINTER"),
        (MemoryKind.HOST_STACK, FreeClass.ASYNC, "HOST_POINTER"),
        (MemoryKind.IPC, FreeClass.DEVICE, "IMPORTED"),
        (MemoryKind.PLAIN, FreeClass.HOST_HEAP, "WRONG_FAMILY"),
        (MemoryKind.HOST_HEAP, FreeClass.UNREGISTER, "WRONG_FAMILY"),
    ],
)
def test_wrong_frees(kind: MemoryKind, family: FreeClass, variant: str) -> None:
    program = Program()
    program.alloc(P, kind)
    wrong = program.free(P, family, status=INVALID)
    assert program.found() == [(202, variant, wrong)]


def test_interior_pointer() -> None:
    program = Program()
    program.alloc(P)
    wrong = program.free(P + 1, status=INVALID)
    assert program.found() == [(202, "INTERIOR", wrong)]


@pytest.mark.parametrize(
    ("whole", "opaque", "found"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_an_address_nobody_allocated(whole: bool, opaque: bool, found: bool) -> None:
    program = Program(whole=whole)
    if opaque:
        program.op(Kind.OPAQUE_CALL)
    wrong = program.free(P, status=INVALID)
    assert program.found() == ([(202, "UNKNOWN_ADDRESS", wrong)] if found else [])


def test_free_of_null_does_nothing() -> None:
    program = Program(S)
    program.launch(S)
    program.free(0)
    assert program.found() == []


@pytest.mark.parametrize(
    ("kind", "variant"), [(ContextKind.CREATED, "FOREIGN_CREATED"), (ContextKind.PRIMARY, "FOREIGN_PRIMARY")]
)
def test_free_with_another_context_current(kind: ContextKind, variant: str) -> None:
    program = Program()
    program.alloc(P)
    program.context(200, kind)
    freed = program.free(P)
    assert program.found() == [(203, variant, freed)]


def test_cuda_after_fork_is_said_once() -> None:
    program = Program(S, processes=(0, 1))
    program.op(Kind.FORK, object=1, api="")
    first = program.op(Kind.CALL, thread=1)
    program.free(P, thread=1, status=3)
    program.launch(S, P, thread=1)
    program.op(Kind.PROCESS_EXIT, thread=1, detail=ExitKind.NORMAL, api="")
    assert program.found() == [(204, "CHILD_OF_INITIALISED", first)]


def test_fork_before_cuda() -> None:
    program = Program(processes=(0, 1))
    program.op(Kind.FORK, object=1, api="")
    first = program.op(Kind.CALL, thread=1)
    program.op(Kind.CALL, thread=0)
    assert program.found() == [(204, "CHILD_OF_FRESH", first)]


def test_host_work_in_a_child_is_fine() -> None:
    program = Program(S, processes=(0, 1))
    program.op(Kind.FORK, object=1, api="")
    program.alloc(P, MemoryKind.HOST_HEAP, thread=1, api="")
    program.free(P, FreeClass.HOST_HEAP, thread=1, api="")
    assert program.found() == []


@pytest.mark.parametrize("recycled", [False, True])
def test_stale_stream_after_destroy(recycled: bool) -> None:
    program = Program(S)
    program.op(Kind.STREAM_DESTROY, object=S)
    if recycled:
        program.stream(S)
    stale = program.launch(S, status=0 if recycled else 400)
    assert program.found() == ([] if recycled else [(205, "STALE_STREAM", stale)])


def test_handles_die_with_the_reset() -> None:
    program = Program(S)
    program.op(Kind.EVENT_CREATE, object=30)
    program.op(Kind.DEVICE_RESET, object=PRIMARY)
    stream = program.op(Kind.STREAM_DESTROY, object=S, status=400)
    event = program.op(Kind.EVENT_DESTROY, object=30, status=400)
    assert program.found() == [(205, "STALE_STREAM", stream), (205, "STALE_EVENT", event)]


@pytest.mark.parametrize("kind", [HandleKind.POOL, HandleKind.GRAPH, HandleKind.GRAPH_EXEC])
@pytest.mark.parametrize("use", [Kind.HANDLE_USE, Kind.HANDLE_DESTROY])
@pytest.mark.parametrize("status", [0, INVALID])
def test_stale_pool_or_graph(kind: HandleKind, use: Kind, status: int) -> None:
    program = Program()
    made = program.op(Kind.HANDLE_CREATE, object=300, detail=kind)
    program.op(Kind.HANDLE_USE, object=300, detail=kind)
    gone = program.op(Kind.HANDLE_DESTROY, object=300, detail=kind)
    stale = program.op(use, object=300, detail=kind, status=status)
    assert program.found() == [(205, "STALE_OTHER", stale)]
    roles = {role: operation.site for role, operation in program.facts()[0].related}
    assert roles == {RelatedRole.CREATE: made, RelatedRole.DESTROY: gone}


def test_handles_of_pools_and_graphs_live_apart_and_come_again() -> None:
    program = Program()
    program.op(Kind.HANDLE_DESTROY, object=300, detail=HandleKind.POOL)
    program.op(Kind.HANDLE_USE, object=300, detail=HandleKind.GRAPH)
    program.op(Kind.HANDLE_CREATE, object=300, detail=HandleKind.POOL)
    program.op(Kind.DEVICE_RESET, object=PRIMARY)
    program.op(Kind.HANDLE_USE, object=300, detail=HandleKind.POOL)
    assert program.found() == []


def test_pool_that_the_trace_never_saw_made_dies_as_well() -> None:
    program = Program()
    gone = program.op(Kind.HANDLE_DESTROY, object=300, detail=HandleKind.POOL)
    stale = program.op(Kind.HANDLE_USE, object=300, detail=HandleKind.POOL)
    assert program.found() == [(205, "STALE_OTHER", stale)]
    assert [(role, operation.site) for role, operation in program.facts()[0].related] == [(RelatedRole.DESTROY, gone)]


@pytest.mark.parametrize("status", [0, 400])
@pytest.mark.parametrize("by_host", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_wait_for_a_dead_event_is_one_mistake(status: int, by_host: bool, recorded: bool) -> None:
    """What the programmer meant to order by it is not said to be unordered as well; what was never recorded, is."""
    program = Program(S)
    program.stream(S + 1)
    program.op(Kind.EVENT_CREATE, object=50)
    program.alloc(P, MemoryKind.STREAM_ORDERED, stream=S)
    program.launch(S, P)
    if recorded:
        program.record(50, S)
    program.op(Kind.EVENT_DESTROY, object=50)
    if by_host:
        stale = program.op(Kind.EVENT_SYNCHRONIZE, object=50, status=status)
    else:
        stale = program.wait(S + 1, 50, status=status)
    free = program.free(P, FreeClass.ASYNC, stream=S + 1)
    unordered = [] if recorded else [(102, "FREE_ASYNC", free)]
    assert sorted(program.found()) == [*unordered, (205, "STALE_EVENT", stale)]


@pytest.mark.parametrize(
    ("kind", "family", "fault"),
    [
        (MemoryKind.PLAIN, FreeClass.HOST_HEAP, True),
        (MemoryKind.PINNED, FreeClass.HOST_HEAP, True),
        (MemoryKind.MANAGED, FreeClass.HOST_HEAP, True),
        (MemoryKind.HOST_HEAP, FreeClass.HOST_HEAP, False),
        (MemoryKind.ARRAY, FreeClass.ARRAY, False),
        (MemoryKind.ARRAY, FreeClass.DEVICE, True),
        (MemoryKind.PLAIN, FreeClass.ARRAY, True),
    ],
)
def test_free_of_another_family_once_and_no_leak(kind: MemoryKind, family: FreeClass, fault: bool) -> None:
    program = Program()
    program.alloc(P, kind)
    free = program.free(P, family)
    program.exit()
    assert program.found() == ([(202, "WRONG_FAMILY", free)] if fault else [])


def test_array_is_lost_in_a_reset() -> None:
    program = Program()
    array = program.alloc(P, MemoryKind.ARRAY)
    program.op(Kind.DEVICE_RESET, object=PRIMARY)
    assert program.found() == [(401, "LEAK_AT_RESET", array)]


def test_stale_context() -> None:
    program = Program()
    program.context(200, ContextKind.CREATED)
    program.op(Kind.CONTEXT_DESTROY, object=200)
    stale = program.op(Kind.HANDLE_USE, object=200, detail=HandleKind.CONTEXT)
    assert program.found() == [(205, "STALE_CONTEXT", stale)]


def test_plain_memory_dies_with_the_reset_and_pool_memory_does_not() -> None:
    program = Program()
    made = program.alloc(P)
    program.alloc(P + 0x1000, MemoryKind.STREAM_ORDERED, 1)
    program.sync(1)
    program.op(Kind.DEVICE_RESET, object=PRIMARY)
    stale = program.free(P, status=INVALID)
    program.free(P + 0x1000, FreeClass.ASYNC, 1)
    assert program.found() == [(401, "LEAK_AT_RESET", made), (101, "AFTER_FREE", stale)]


@pytest.mark.parametrize("destroyed", [False, True])
def test_work_pending_at_reset(destroyed: bool) -> None:
    program = Program(S)
    program.launch(S)
    if destroyed:
        program.op(Kind.STREAM_DESTROY, object=S)
    reset = program.op(Kind.DEVICE_RESET, object=PRIMARY)
    assert program.found() == [(106, "PENDING_WORK", reset)]


def test_only_a_free_pending_at_reset() -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, P)
    program.sync(S)
    program.free(P, FreeClass.ASYNC, S)
    reset = program.op(Kind.DEVICE_RESET, object=PRIMARY)
    assert program.found() == [(106, "PENDING_FREE", reset)]


@pytest.mark.parametrize("joined", [False, True])
def test_another_thread_at_reset(joined: bool) -> None:
    program = Program(processes=(0, 0))
    program.current(PRIMARY, thread=1)
    program.hand_over(0, 1, key=1)
    program.launch(1, thread=1)
    program.sync(1, thread=1)
    program.sync_all()
    if joined:
        program.hand_over(1, 0, key=2)
    reset = program.op(Kind.DEVICE_RESET, object=PRIMARY)
    found = [fact for fact in program.found() if fact[0] == 106]
    assert found == ([] if joined else [(106, "OTHER_THREAD", reset)])


def test_work_pending_at_exit() -> None:
    program = Program()
    program.launch(1)
    end = program.exit()
    assert program.found() == [(106, "AT_EXIT", end)]


@pytest.mark.parametrize("kind", [ExitKind.ABORTED, ExitKind.CUT])
def test_nothing_is_said_of_an_end_that_nobody_chose(kind: ExitKind) -> None:
    program = Program()
    program.alloc(P)
    program.launch(1)
    program.exit(kind)
    assert program.found() == []


def test_leak_at_exit_and_escape() -> None:
    program = Program()
    made = program.alloc(P)
    program.alloc(P + 0x1000)
    program.op(Kind.OPAQUE_CALL, memory=P + 0x1000)
    program.exit()
    assert program.found() == [(401, "LEAK_AT_EXIT", made)]


@pytest.mark.parametrize(("how", "code"), [(LostKind.ITERATION, 305), (LostKind.SCOPE, 401)])
def test_lost_pointers(how: LostKind, code: int) -> None:
    program = Program()
    made = program.alloc(P)
    program.op(Kind.POINTER_LOST, memory=P, detail=how, api="")
    program.exit()
    (fact,) = program.facts()
    assert (fact.code, fact.operation.site) == (code, made)


def test_calls_outside_main() -> None:
    program = Program(whole=False)
    early = program.op(Kind.CALL)
    program.op(Kind.MAIN_BEGIN, api="")
    program.op(Kind.CALL)
    program.op(Kind.MAIN_END, api="")
    late = program.op(Kind.CALL, flags=int(SlotFlag.OUTSIDE))
    assert program.found() == [(207, "BEFORE_MAIN", early), (207, "AFTER_MAIN", late)]


def test_without_main_nothing_is_outside_it() -> None:
    program = Program(whole=False)
    program.op(Kind.CALL)
    assert program.found() == []


def test_what_the_source_could_not_say_passes_through() -> None:
    program = Program()
    malformed = program.op(Kind.MALFORMED_CALL)
    unclear = program.op(Kind.NOT_UNDERSTOOD)
    assert program.found() == [(602, "NONE", malformed), (603, "NONE", unclear)]


def test_a_failed_free_or_query_names_the_stale_stream() -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, P)
    program.op(Kind.STREAM_DESTROY, object=S)
    stale = program.free(P, FreeClass.ASYNC, S, status=400)
    asked = program.op(Kind.HANDLE_USE, object=S, detail=HandleKind.STREAM, status=400)
    null = program.free(0, FreeClass.ASYNC, S, status=400)
    allocated = program.alloc(0, MemoryKind.STREAM_ORDERED, S, status=400)
    found = [(205, "STALE_STREAM", line) for line in (stale, asked, null, allocated)]
    assert program.found() == found


def test_a_failed_call_with_a_handle_nobody_knows_says_nothing() -> None:
    program = Program()
    program.alloc(P, MemoryKind.STREAM_ORDERED, 1)
    program.free(P, FreeClass.ASYNC, 77, status=400)
    for sort in HandleKind:
        program.op(Kind.HANDLE_USE, object=78, detail=sort, status=400)
    assert program.found() == []


def test_the_access_of_a_use_is_told() -> None:
    program = Program(S)
    program.alloc(P)
    program.copy(S, P, READ)
    program.free(P)
    (fact,) = program.facts(107)
    assert [operation.flags & 3 for role, operation in fact.related if role is RelatedRole.USE] == [READ]
