"""What a recording shows of calls that the driver refused, and of accesses whose mode nobody knows."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, PRIMARY, READ, WRITE, Node, kernel
from recorded_program import Recording

from streamsan.findings.finding import Finding, Severity
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Reference
from streamsan.vocabulary import ExitKind, FreeClass, HandleKind, MemoryKind, NodeKind
from streamsan.vocabulary import OperationKind as Kind

S, T, EVENT = 10, 11, 20
BUFFER, OTHER = 0x10000, 0x20000


def streams() -> Recording:
    program = Recording(S, T, threads=1)
    program.alloc(BUFFER)
    return program


def of(program: Recording, *codes: str) -> list[Finding]:
    return [f for f in findings_of(program.trace(), program.analysis().facts) if f.code in codes]


# -- the attempt is the mistake -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Kind.COPY, Kind.MEMSET, Kind.PREFETCH])
def test_a_call_that_is_refused_for_memory_that_was_freed(kind: Kind) -> None:
    program = streams()
    program.free(BUFFER)
    use = program.op(kind, stream=S, memory=BUFFER, mode=WRITE, status=1, api="cudaMemsetAsync")
    assert (101, "AFTER_FREE", use) in program.found()
    (finding,) = of(program, "SS101")
    assert finding.severity is Severity.ERROR
    assert finding.message.endswith("after it was freed, and fails: cudaErrorInvalidValue")
    assert of(program, "SS601") == []


def test_a_call_that_is_refused_for_memory_that_a_reset_took() -> None:
    program = streams()
    program.op(Kind.DEVICE_RESET, object=PRIMARY, api="cudaDeviceReset")
    program.op(Kind.COPY, stream=1, memory=BUFFER, mode=WRITE, status=1, api="cudaMemcpy")
    (finding,) = of(program, "SS101")
    assert "after the device was reset, and fails: cudaErrorInvalidValue" in finding.message


@pytest.mark.parametrize("status", [2, 700, 709])
def test_a_call_that_fails_for_another_reason_says_nothing_of_its_memory(status: int) -> None:
    program = streams()
    program.free(BUFFER)
    program.op(Kind.COPY, stream=S, memory=BUFFER, mode=WRITE, status=status)
    assert of(program, "SS101") == []


def test_a_refused_call_with_memory_that_is_alive_says_nothing_of_it() -> None:
    program = streams()
    program.free(BUFFER)
    program.alloc(BUFFER)
    program.op(Kind.COPY, stream=S, memory=BUFFER, mode=WRITE, status=1)
    assert of(program, "SS101") == []


def test_a_launch_is_refused_for_other_reasons_than_its_arguments() -> None:
    program = streams()
    program.free(BUFFER)
    program.launch(S, BUFFER, status=1)
    assert [f.severity for f in of(program, "SS101")] == [Severity.NOTE]


def test_the_pages_of_freed_pinned_memory_may_be_the_hosts_again() -> None:
    program = streams()
    program.alloc(OTHER, MemoryKind.PINNED)
    program.free(OTHER, FreeClass.PINNED)
    program.copy(S, OTHER, READ)
    assert [f.severity for f in of(program, "SS101")] == [Severity.NOTE]


# -- calls that did not return --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Kind.STREAM_DESTROY, {"object": S}),
        (Kind.STREAM_SYNCHRONIZE, {"stream": S}),
        (Kind.HANDLE_USE, {"object": S, "detail": HandleKind.STREAM}),
    ],
)
def test_a_call_that_crashes_on_a_stream_that_is_gone(kind: Kind, fields: dict[str, int]) -> None:
    program = streams()
    program.op(Kind.STREAM_DESTROY, object=S)
    crash = program.entered(kind, **fields)
    assert program.found() == [(205, "STALE_STREAM", crash)]


@pytest.mark.parametrize("kind", [Kind.EVENT_DESTROY, Kind.EVENT_SYNCHRONIZE, Kind.EVENT_ELAPSED, Kind.EVENT_QUERY])
def test_a_call_that_crashes_on_an_event_that_is_gone(kind: Kind) -> None:
    program = streams()
    program.op(Kind.EVENT_CREATE, object=EVENT)
    program.op(Kind.EVENT_DESTROY, object=EVENT)
    crash = program.entered(kind, object=EVENT)
    assert program.found() == [(205, "STALE_EVENT", crash)]


def test_a_stream_that_a_reset_took_is_destroyed() -> None:
    program = streams()
    program.op(Kind.DEVICE_RESET, object=PRIMARY, api="cudaDeviceReset")
    crash = program.entered(Kind.STREAM_DESTROY, object=S)
    assert (205, "STALE_STREAM", crash) in program.found()


# -- kernels that may write -----------------------------------------------------------------------


def unordered_kernels(earlier: int, later: int, offset: int = 0) -> Recording:
    program = streams()
    program.launch(S, BUFFER, mode=earlier)
    program.launch(T, BUFFER + offset, mode=later)
    program.sync(S)
    program.sync(T)
    return program


def test_a_kernel_that_reads_what_another_may_write_is_a_note() -> None:
    (finding,) = of(unordered_kernels(OPAQUE, READ), "SS109")
    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("if they touch the same bytes and one of them writes")


@pytest.mark.parametrize(("earlier", "later", "offset"), [(READ, READ, 0), (OPAQUE, OPAQUE, 0), (OPAQUE, READ, 64)])
def test_kernels_that_share_what_they_may_only_read_are_not_said(earlier: int, later: int, offset: int) -> None:
    assert of(unordered_kernels(earlier, later, offset), "SS109") == []


def test_kernels_that_an_event_orders_are_not_said() -> None:
    program = streams()
    program.launch(S, BUFFER, mode=OPAQUE)
    program.record(5, S)
    program.wait(T, 5)
    program.launch(T, BUFFER, mode=READ)
    assert of(program, "SS109") == []


@pytest.mark.parametrize(("edges", "notes"), [([], 1), ([(1, 2)], 0)])
def test_branches_of_a_graph_that_may_write_the_same_memory(edges: list[tuple[int, int]], notes: int) -> None:
    program = streams()
    program.graph(40, [kernel(BUFFER), kernel(BUFFER)], edges)
    program.graph_launch(40, S)
    found = of(program, "SS109")
    assert [f.severity for f in found] == [Severity.NOTE] * notes


def test_branches_that_only_read_are_not_said() -> None:
    program = streams()
    program.graph(40, [kernel(BUFFER, READ), kernel(BUFFER, READ)])
    program.graph_launch(40, S)
    assert of(program, "SS109") == []


# -- the end of the process -----------------------------------------------------------------------


def test_an_exit_has_no_line_so_the_work_that_is_pending_has() -> None:
    program = streams()
    use = program.launch(S, BUFFER)
    program.op(Kind.MAIN_END, api="")
    program.builder.append(Kind.PROCESS_EXIT, thread=0, detail=ExitKind.NORMAL)
    (finding,) = of(program, "SS106")
    assert finding.location.line == use


# -- graphs that cannot be instantiated ---------------------------------------------------------------


def instantiation(program: Recording, status: int, address: int = BUFFER) -> int:
    """An instantiation that failed; what a copy or fill of the graph names is behind it."""
    return program.op(Kind.GRAPH_INSTANTIATE, memory=address, mode=WRITE, status=status, api="cudaGraphInstantiate")


@pytest.mark.parametrize("ends", ["free", "reset"])
def test_a_graph_that_is_refused_for_memory_that_is_gone(ends: str) -> None:
    program = streams()
    end = program.free(BUFFER) if ends == "free" else program.op(Kind.DEVICE_RESET, object=PRIMARY)
    refused = instantiation(program, 1)
    assert (303, "STALE_FREED" if ends == "free" else "STALE_RESET", refused) in program.found()
    (finding,) = of(program, "SS303")
    assert (finding.severity, finding.location.line) == (Severity.ERROR, refused)
    assert finding.message.endswith("and the graph cannot be instantiated: cudaErrorInvalidValue")
    assert end in {place.line for place in finding.related}
    assert (f"move the free of line {end} " in finding.fix.summary) == (ends == "free")
    assert of(program, "SS101", "SS601") == []


@pytest.mark.parametrize("status", [2, 700, 801])
def test_a_graph_that_is_refused_for_another_reason(status: int) -> None:
    program = streams()
    program.free(BUFFER)
    instantiation(program, status)
    assert of(program, "SS303", "SS101") == []


def test_a_graph_that_is_refused_with_memory_that_is_there() -> None:
    program = streams()
    program.free(BUFFER)
    program.alloc(BUFFER)
    instantiation(program, 1)
    program.free(OTHER + 8)
    instantiation(program, 1, OTHER)
    assert of(program, "SS303", "SS101") == []


def test_a_graph_that_is_refused_with_memory_that_may_be_there_still() -> None:
    program = streams()
    program.alloc(OTHER, MemoryKind.PINNED)
    program.free(OTHER, FreeClass.PINNED)
    instantiation(program, 1, OTHER)
    assert [finding.severity is Severity.ERROR for finding in of(program, "SS303")] == [False]


def test_memory_that_another_thread_may_be_freeing() -> None:
    program = Recording(S, threads=2)
    program.alloc(BUFFER)
    program.free(BUFFER, thread=1)
    instantiation(program, 1)
    assert [finding.confidence.value for finding in of(program, "SS303")] == ["possible"]


# -- host functions of graphs -------------------------------------------------------------------------


def test_the_body_of_a_graphs_host_function_may_use_its_own_data() -> None:
    for thread, expected in (0, ["SS108"]), (1, []), (2, ["SS108"]):
        program = Recording(S, threads=2, processes=(0, 0, 0))
        program.current(PRIMARY, thread=2)  # a thread of the program, which has asked something of the API
        program.op(Kind.EVENT_CREATE, object=EVENT, thread=2)
        program.alloc(BUFFER, MemoryKind.PINNED, bytes=4096)
        program.graph(70, [Node(NodeKind.HOST, (Reference(BUFFER, 0, 0, OPAQUE),))])
        program.graph_launch(70, S)
        program.op(Kind.HOST_ACCESS, memory=BUFFER, bytes=1, mode=WRITE, api="", thread=thread)
        found = of(program, "SS108")
        assert [f.code for f in found] == expected, thread
        assert all(f.severity is Severity.NOTE for f in found)


@pytest.mark.parametrize("before", [True, False])
def test_the_body_of_a_graphs_host_function_reads_what_the_graph_copied_before_it(before: bool) -> None:
    program = Recording(S, threads=2, processes=(0, 0))
    program.alloc(BUFFER, MemoryKind.PINNED, bytes=4096)
    copy = Node(NodeKind.COPY, (Reference(BUFFER, 4096, 0, WRITE),))
    program.graph(70, [copy, Node(NodeKind.EMPTY), Node(NodeKind.HOST)], [(1, 2), (2, 3)] if before else [(1, 2)])
    program.graph_launch(70, S)
    program.op(Kind.HOST_ACCESS, memory=BUFFER, bytes=1, mode=READ, api="", thread=1)
    assert [f.code for f in of(program, "SS108")] == ([] if before else ["SS108"])
