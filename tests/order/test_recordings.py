"""What only a recording shows: calls that never returned, statuses, times, the driver's own words."""

from __future__ import annotations

import pytest
from order_program import PRIMARY, WRITE
from recorded_program import Recording

from streamsan.order.engine import analyse
from streamsan.order.recordings import NO_HOST_ACCESSES, NOT_SEEN, recording_limits, recording_remarks
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Reference, Site
from streamsan.vocabulary import ContextKind, ExitKind, FreeClass, MemoryKind, SlotFlag, WaitClass
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
BUFFER = 0x10000
MILLISECOND = 1_000_000


def reading(program: Recording, kind: MemoryKind = MemoryKind.STREAM_ORDERED) -> None:
    program.stream(S)
    program.alloc(BUFFER, kind, S if kind is MemoryKind.STREAM_ORDERED else 0)
    program.launch(S, BUFFER)


# -- calls that never returned --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Kind.STREAM_SYNCHRONIZE, Kind.CONTEXT_SYNCHRONIZE])
def test_a_wait_that_never_returned_orders_nothing(kind: Kind) -> None:
    program = Recording()
    reading(program)
    program.entered(kind, stream=S, object=PRIMARY if kind is Kind.CONTEXT_SYNCHRONIZE else 0)
    free = program.free(BUFFER, thread=1)
    assert program.found() == [(102, "FREE_DEVICE", free)]


def test_work_that_was_entered_counts_as_issued_and_orders_nothing() -> None:
    program = Recording(S)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.entered(Kind.COPY, stream=S, memory=BUFFER, detail=WaitClass.COMPLETE)
    free = program.free(BUFFER, thread=1)
    assert program.found() == [(102, "FREE_DEVICE", free)]


def test_a_free_that_was_entered_counts_as_free() -> None:
    program = Recording(S)
    program.alloc(BUFFER)
    program.entered(Kind.FREE, memory=BUFFER, detail=FreeClass.DEVICE)
    use = program.launch(S, BUFFER, thread=1)
    assert program.found() == [(101, "AFTER_FREE", use)]


def test_a_launch_into_a_destroyed_stream_that_crashed_is_reported() -> None:
    program = Recording(threads=1)
    reading(program)
    program.sync(S)
    program.op(Kind.STREAM_DESTROY, object=S, stream=S)
    use = program.entered(Kind.LAUNCH, stream=S, memory=BUFFER)
    assert (205, "STALE_STREAM", use) in program.found()


def limits(program: Recording) -> list[str]:
    trace = program.trace()
    return recording_limits(trace, program.analysis())


def test_the_call_that_a_program_hung_in_is_named() -> None:
    program = Recording()
    reading(program)
    line = program.entered(Kind.STREAM_SYNCHRONIZE, stream=S, api="cudaStreamSynchronize")
    program.op(Kind.CALL, thread=1)
    assert limits(program) == [
        f"the program ended inside `cudaStreamSynchronize` at program:{line}: the call did not return"
    ]


def test_a_call_that_is_followed_by_another_had_returned() -> None:
    program = Recording()
    reading(program)
    program.entered(Kind.STREAM_SYNCHRONIZE, stream=S)
    program.op(Kind.CALL)
    assert limits(program) == []


def test_a_thread_that_waits_at_a_normal_exit_hung_in_nothing() -> None:
    program = Recording()
    reading(program)
    program.entered(Kind.STREAM_SYNCHRONIZE, stream=S, thread=1)
    program.exit()
    assert limits(program) == []


def test_what_cannot_be_seen_is_said_once_where_kernels_ran() -> None:
    program = Recording(threads=1)
    assert recording_remarks(program.trace(), program.analysis()) == []
    reading(program)
    program.launch(S, BUFFER)
    assert recording_remarks(program.trace(), program.analysis()) == [NOT_SEEN]
    assert recording_limits(program.trace(), program.analysis()) == []


@pytest.mark.parametrize(
    ("kind", "wait", "said"),
    [
        (MemoryKind.PINNED, WaitClass.NONE, [NO_HOST_ACCESSES]),
        (MemoryKind.REGISTERED, WaitClass.NONE, [NO_HOST_ACCESSES]),
        (MemoryKind.MANAGED, WaitClass.NONE, [NO_HOST_ACCESSES]),
        (MemoryKind.PINNED, WaitClass.COMPLETE, []),
        (MemoryKind.PLAIN, WaitClass.NONE, []),
    ],
)
def test_the_option_is_named_where_the_host_could_meet_work(kind: MemoryKind, wait: WaitClass, said: list[str]) -> None:
    program = Recording(S, threads=1)
    program.alloc(BUFFER, kind)
    program.copy(S, BUFFER, WRITE, detail=wait)
    trace, analysis = program.trace(), program.analysis()
    assert recording_remarks(trace, analysis) == said
    trace.metadata["host_accesses"] = True
    assert recording_remarks(trace, analysis) == []


# -- what the driver answers ----------------------------------------------------------------------


def test_a_free_that_the_driver_took_was_of_memory() -> None:
    program = Recording(threads=1)
    program.alloc(BUFFER, bytes=4096)
    program.free(BUFFER + 64)
    program.free(BUFFER)
    program.free(BUFFER)
    program.free(0x999000)
    assert program.found() == []


def test_a_free_that_the_driver_refused_was_wrong() -> None:
    program = Recording(threads=1, whole=False)
    program.alloc(BUFFER, bytes=4096)
    inside = program.free(BUFFER + 64, status=1)
    program.alloc(0x50000)
    program.free(0x50000)
    again = program.free(0x50000, status=1)
    unknown = program.free(0x999000, status=1)
    found = [(202, "INTERIOR", inside), (201, "SAME_POINTER", again), (202, "UNKNOWN_ADDRESS", unknown)]
    assert program.found() == found


@pytest.mark.parametrize("status", [700, 4, 3])
def test_a_free_that_fails_for_another_reason_says_nothing_of_its_pointer(status: int) -> None:
    program = Recording(threads=1)
    program.alloc(BUFFER)
    program.free(BUFFER)
    program.free(BUFFER, status=status)
    program.free(0x999000, status=status)
    program.exit()
    assert program.facts(201, 202, 401) == []


def test_after_an_error_that_stays_only_the_error_is_said() -> None:
    program = Recording(threads=1)
    reading(program, MemoryKind.PLAIN)
    program.op(Kind.CONTEXT_SYNCHRONIZE, object=PRIMARY, status=700)
    program.launch(S, BUFFER, status=700)
    program.free(BUFFER, status=700)
    program.exit()
    assert [fact.code for fact in program.facts()] == [601]


def test_a_reset_after_an_error_that_stays_is_how_one_recovers() -> None:
    program = Recording(threads=1)
    reading(program, MemoryKind.PLAIN)
    program.op(Kind.CONTEXT_SYNCHRONIZE, object=PRIMARY, status=719)
    program.op(Kind.DEVICE_RESET, object=PRIMARY)
    assert program.facts(106) == []


def test_memory_that_a_static_destructor_frees_is_no_leak() -> None:
    program = Recording(threads=1)
    program.alloc(BUFFER)
    kept = program.alloc(0x50000)
    program.exit()
    program.free(BUFFER)
    assert [(fact.code, fact.operation.site) for fact in program.facts(401)] == [(401, kept)]


def test_a_wait_of_another_thread_behind_the_end_of_main_counts() -> None:
    program = Recording(S)
    program.alloc(BUFFER)
    program.launch(S, BUFFER)
    program.exit()
    program.sync(S, thread=1)
    program.free(BUFFER, thread=1)
    assert program.facts(106, 401) == []


@pytest.mark.parametrize("kind", [ExitKind.ABORTED, ExitKind.CUT])
def test_a_program_that_was_ended_leaks_nothing(kind: ExitKind) -> None:
    program = Recording(threads=1)
    reading(program, MemoryKind.PLAIN)
    program.exit(kind)
    assert program.found() == []


def test_a_graph_that_could_be_launched_again_had_its_memory_back() -> None:
    from order_program import memory_node

    from streamsan.vocabulary import NodeKind

    program = Recording(S, threads=1)
    program.alloc(BUFFER, MemoryKind.GRAPH)
    program.graph(50, [memory_node(NodeKind.ALLOC, BUFFER)])
    program.graph_launch(50, S)
    program.graph_launch(50, S)
    assert program.facts(301) == []
    refused = program.graph_launch(50, S, status=1)
    assert [fact.operation.site for fact in program.facts(301)] == [refused]


# -- failures that nobody noticed -----------------------------------------------------------------


def failing(status: int, kind: Kind = Kind.ALLOC, **fields: object) -> Recording:
    program = Recording(S, threads=1)
    program.op(kind, status=status, api="cudaCall", **fields)  # type: ignore[arg-type]
    return program


def test_a_failure_that_the_program_goes_on_after_is_said() -> None:
    program = failing(2, detail=MemoryKind.PLAIN)
    program.launch(S)
    assert [fact.code for fact in program.facts()] == [601]


@pytest.mark.parametrize(
    ("kind", "status", "detail", "api"),
    [
        (Kind.EVENT_QUERY, 600, 0, ""),
        (Kind.STREAM_QUERY, 600, 0, ""),
        (Kind.PEER_ENABLE, 704, 0, ""),
        (Kind.ALLOC, 712, MemoryKind.REGISTERED, ""),
        (Kind.ALLOC, 1, MemoryKind.REGISTERED, ""),
        (Kind.ALLOC_ATTRIBUTE, 1, 0, ""),
        (Kind.CALL, 1, 0, "cuFuncGetAttribute"),
        (Kind.CALL, 209, 0, "cuLibraryLoadData"),  # libraries try whether code loads
        (Kind.LAUNCH, 901, 0, ""),
    ],
)
def test_probing_is_no_failure(kind: Kind, status: int, detail: int, api: str) -> None:
    program = Recording(S, threads=1)
    program.op(kind, status=status, api=api, detail=detail)
    program.launch(S)
    assert program.facts(601) == []


@pytest.mark.parametrize("gives_back", [True, False])
def test_a_pool_that_makes_room_and_tries_again_has_noticed(gives_back: bool) -> None:
    program = Recording(S, threads=1)
    program.alloc(BUFFER)
    program.alloc(0x50000, status=2)
    program.free(BUFFER) if gives_back else program.alloc(0x60000)
    program.launch(S)
    assert program.facts(601) == []


def test_failures_at_two_places_are_two_when_something_succeeded_between() -> None:
    program = Recording(S, threads=1)
    lines = []
    for _ in range(2):
        lines.append(program.launch(S, status=9))
        program.launch(S, status=9)
        program.launch(S)
    assert [fact.operation.site for fact in program.facts(601)] == lines


# -- the driver's own words -----------------------------------------------------------------------


def test_the_driver_s_words_belong_to_the_failed_call_before_them() -> None:
    program = Recording(S)
    program.launch(S, status=9, api="cuLaunchKernel")
    program.op(Kind.CALL, thread=1)
    words = "Block of 4096 threads is larger than the 1024 that the device allows, in a launch of scale<float>"
    program.explained(words)
    program.launch(S, api="cuLaunchKernel")
    (fact,) = program.facts()
    assert (fact.code, fact.explained) == (601, words)


def test_words_on_no_failed_call_are_nobody_s() -> None:
    program = Recording(S, threads=1)
    program.launch(S, api="cuLaunchKernel")
    program.explained("a remark")
    program.launch(S, status=9, api="cuLaunchKernel")
    program.launch(S, api="cuLaunchKernel")
    (fact,) = program.facts()
    assert fact.explained == ""


# -- fork -----------------------------------------------------------------------------------------


def forked(*statuses: int) -> Recording:
    program = Recording(processes=(0, 1))
    program.alloc(BUFFER)
    program.op(Kind.FORK, object=1, api="")
    for status in statuses:
        program.op(Kind.FREE, memory=BUFFER, detail=FreeClass.DEVICE, status=status, thread=1)
    return program


def test_a_child_that_goes_on_with_its_parent_s_cuda_fails() -> None:
    program = forked(3, 3)
    assert [(fact.code, fact.variant.name) for fact in program.facts()] == [(204, "CHILD_OF_INITIALISED")]


def test_a_child_that_runs_another_program_is_no_child_of_its_parent_s_cuda() -> None:
    assert forked(0, 0).found() == []


# -- a reset under another thread's calls ---------------------------------------------------------


def calls_and_reset(time: int, duration: int, reset: Kind = Kind.DEVICE_RESET, **fields: object) -> Recording:
    """A call of thread 1 at 10 ms; a reset by thread 0 at `time`."""
    program = Recording()
    program.op(Kind.EVENT_CREATE, object=30, thread=1)
    program.op(Kind.EVENT_QUERY, object=30, thread=1, time=10 * MILLISECOND, duration=duration)
    program.op(reset, object=PRIMARY, time=time, duration=2 * MILLISECOND, **fields)  # type: ignore[arg-type]
    return program


def test_a_call_of_another_thread_that_runs_when_the_reset_begins_races_with_it() -> None:
    program = calls_and_reset(11 * MILLISECOND, 5 * MILLISECOND)
    (fact,) = program.facts()
    assert (fact.code, fact.variant.name) == (106, "OTHER_THREAD")


@pytest.mark.parametrize("duration", [MILLISECOND // 2, 0, MILLISECOND])
def test_calls_that_had_returned_do_not_race_with_a_reset(duration: int) -> None:
    # A duration of one millisecond is rounded up, and may have ended just before.
    assert calls_and_reset(11 * MILLISECOND, duration).found() == []


@pytest.mark.parametrize(
    ("kind", "api", "begins", "races"),
    [
        (Kind.EVENT_CREATE, "cudaEventCreate", 21, True),
        (Kind.EVENT_CREATE, "cudaEventCreate", 23, False),  # behind the reset
        (Kind.CALL, "cudaGetDevice", 21, False),  # asks the host only
    ],
)
def test_a_call_of_another_thread_that_begins_during_the_reset_races_with_it(
    kind: Kind, api: str, begins: int, races: bool
) -> None:
    program = calls_and_reset(20 * MILLISECOND, 1000)
    program.op(kind, object=31, api=api, thread=1, time=begins * MILLISECOND, duration=500)
    assert [(fact.code, fact.variant.name) for fact in program.facts()] == ([(106, "OTHER_THREAD")] if races else [])


@pytest.mark.parametrize("status", [709, 201, 4])
def test_another_thread_that_finds_its_context_gone_was_using_it(status: int) -> None:
    program = calls_and_reset(20 * MILLISECOND, 1000)
    for start in (30, 40):
        program.launch(S, thread=1, status=status, time=start * MILLISECOND, duration=500)
        program.op(Kind.EVENT_RECORD, object=30, stream=1, thread=1, status=400)
    (fact,) = program.facts()
    assert (fact.code, fact.variant.name, fact.count) == (106, "OTHER_THREAD", 1)


def test_work_that_is_pending_at_a_reset_says_enough_of_it() -> None:
    program = Recording()
    program.stream(S, thread=1)
    program.alloc(BUFFER, thread=1)
    program.launch(S, BUFFER, mode=WRITE, thread=1)
    program.op(Kind.DEVICE_RESET, object=PRIMARY, time=20 * MILLISECOND, duration=MILLISECOND)
    program.launch(S, BUFFER, mode=WRITE, thread=1, status=709)
    program.launch(S, BUFFER, mode=WRITE, thread=1, status=400)
    assert [(fact.code, fact.variant.name) for fact in program.facts() if fact.code != 401] == [(106, "PENDING_WORK")]


def test_a_thread_that_waited_and_ended_before_the_reset_is_silent() -> None:
    program = Recording()
    program.stream(S, thread=1)
    program.alloc(BUFFER, thread=1)
    program.launch(S, BUFFER, thread=1, time=MILLISECOND, duration=5000)
    program.sync(S, thread=1, time=2 * MILLISECOND, duration=MILLISECOND)
    program.free(BUFFER, thread=1, time=4 * MILLISECOND, duration=MILLISECOND)
    program.op(Kind.DEVICE_RESET, object=PRIMARY, time=20 * MILLISECOND, duration=MILLISECOND)
    assert program.facts(106) == []


def test_the_destruction_of_another_context_concerns_nobody() -> None:
    program = Recording()
    program.context(300, ContextKind.CREATED, thread=0)
    program.op(Kind.EVENT_CREATE, object=30, thread=1, time=10 * MILLISECOND, duration=5 * MILLISECOND)
    program.op(Kind.CONTEXT_DESTROY, object=300, time=11 * MILLISECOND, duration=MILLISECOND)
    assert program.found() == []


# -- outside of main ------------------------------------------------------------------------------


def test_calls_from_static_constructors_carry_their_flag() -> None:
    program = Recording(threads=1)
    line = program.alloc(BUFFER, flags=SlotFlag.OUTSIDE)
    program.free(BUFFER)
    assert [(fact.code, fact.operation.site) for fact in program.facts()] == [(207, line)]


# -- stacks ---------------------------------------------------------------------------------------


def test_stacks_that_lead_to_one_line_of_own_code_are_one_finding_with_a_count() -> None:
    program = Recording(S, threads=1)
    installed = "/usr/lib/python3/dist-packages/torch/"

    def site(line: int, inner: int) -> int:
        own = program.builder.site(Site("/home/user/train.py", line))
        return program.builder.site(Site(installed + "storage.py", inner, caller=own))

    for inner in range(5):
        for line, kind, fields in (
            (10, Kind.ALLOC, {"detail": MemoryKind.STREAM_ORDERED, "stream": S}),
            (11, Kind.LAUNCH, {"stream": S}),
            (12, Kind.FREE, {"detail": FreeClass.DEVICE}),
        ):
            reference = Reference(BUFFER, 256 if kind is Kind.ALLOC else 0)
            program.builder.append(kind, thread=0, site=site(line, inner), references=[reference], **fields)
    trace = program.trace()
    (finding,) = findings_of(trace, analyse(trace).facts)
    assert (finding.code, finding.location.file, finding.location.line) == ("SS102", "/home/user/train.py", 12)
    assert finding.properties["instances"] == 5
    assert {related.line for related in finding.related} == {10, 11, 12}
