"""What findings say of a recording: nothing has a name there but kernels, and not every call has a line."""

from __future__ import annotations

import pytest
from hand_made import HandMade, use_races_free
from msgspec.structs import replace

from streamsan.findings.finding import Finding, Severity
from streamsan.order.facts import AllocationFact, Fact, Operation
from streamsan.rules.case import byte_count
from streamsan.rules.pipeline import findings_of
from streamsan.trace.site import Site
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, SlotFlag


def recorded() -> HandMade:
    return HandMade(path="run.sst", origin="recording")


def memory(names: HandMade, line: int, size: int = 4 << 20, kind: MemoryKind = MemoryKind.PLAIN) -> AllocationFact:
    site = names.at(line, file="/src/pipeline.cu") if line else 0
    return AllocationFact(0x7000, size, 1, kind, False, site)


def on_stream(
    names: HandMade, kind: OperationKind, line: int, number: int, label: str = "", api: str = ""
) -> Operation:
    operation = names.operation(kind, line, api, label=label, stream=0x5F3C, file="/src/pipeline.cu")
    operation = replace(operation, stream_number=number)
    return operation if line else replace(operation, site=0)


def use_and_free(names: HandMade, line: int) -> Finding:
    alloc = on_stream(names, OperationKind.ALLOC, line and line, 1)
    use = on_stream(names, OperationKind.LAUNCH, line and line + 1, 2, label="void scale<float, 4>(float*, int)")
    free = on_stream(names, OperationKind.FREE, line and line + 2, 1, api="cudaFreeAsync")
    related = ((RelatedRole.ALLOC, alloc), (RelatedRole.USE, use))
    fact = Fact(102, FactVariant.FREE_ASYNC, free, related, memory(names, line))
    (finding,) = findings_of(names, [fact])
    return finding


def test_memory_is_told_by_its_size_and_place_and_streams_by_their_number() -> None:
    finding = use_and_free(recorded(), 12)
    said = "kernel `scale<float, 4>` may still be using the 4 MiB allocated at pipeline.cu:12 when it is freed"
    assert finding.message == said
    assert "used here, in the order of stream 2" in [related.message for related in finding.related]
    assert finding.fix is not None
    assert "cudaEventRecord(event, <stream 2>); cudaStreamWaitEvent(<stream 1>, event, 0);" in finding.fix.summary


def test_what_has_no_name_is_a_placeholder_that_says_where_the_program_got_it() -> None:
    names = recorded()
    made = names.at(7, file="/src/streams.cu")
    alloc = replace(on_stream(names, OperationKind.ALLOC, 12, 1), stream_site=made)
    use = replace(on_stream(names, OperationKind.LAUNCH, 13, 2), stream_site=made, stream_assumed=True)
    free = replace(on_stream(names, OperationKind.FREE, 14, 1, api="cudaFreeAsync"), stream_site=made)
    related = ((RelatedRole.ALLOC, alloc), (RelatedRole.USE, use))
    (finding,) = findings_of(names, [Fact(102, FactVariant.FREE_ASYNC, free, related, memory(names, 12))])
    assert finding.fix is not None
    record = "cudaEventRecord(event, <stream 2, first used at streams.cu:7>);"
    wait = "cudaStreamWaitEvent(<stream 1, made at streams.cu:7>, event, 0);"
    assert f"{record} {wait}" in finding.fix.summary
    leak = on_stream(names, OperationKind.PROCESS_EXIT, 0, 0)
    (finding,) = findings_of(names, [Fact(401, FactVariant.LEAK_AT_EXIT, leak, (), memory(names, 23))])
    assert finding.fix is not None
    assert finding.fix.summary == "after the last use: cudaFree(<pointer from pipeline.cu:23>);"


def test_an_owner_that_was_copied_is_told_by_its_class_and_the_functions_of_both_objects() -> None:
    names = recorded()

    def freed_by(function: str, caller: str) -> Operation:
        free = names.operation(OperationKind.FREE, 20, "cudaFree")
        names.sites.append(Site("pipeline.cu", 40, function=caller))
        names.sites.append(Site("pipeline.cu", 20, 5, function=function, caller=len(names.sites) - 1 if caller else 0))
        return replace(free, site=len(names.sites) - 1)

    def message(function: str, first: str, second: str) -> str:
        before, again = freed_by(function, first), freed_by(function, second)
        fact = Fact(201, FactVariant.NONE, again, ((RelatedRole.FREE, before),), memory(names, 19))
        (finding,) = findings_of(names, [fact])
        return finding.message.partition(" is freed twice")[2]

    copied = ": two objects of `Buffer` hold it"
    assert message("gpu::Buffer::~Buffer", "clear", "main") == f"{copied}: one frees it in `clear`, the other in `main`"
    assert message("Buffer<int>::~Buffer()", "", "") == f"{copied}, and the destructor of each frees it"
    assert message("gpu::release", "clear", "main") == ""


def test_without_a_single_line_the_finding_still_makes_sense() -> None:
    finding = use_and_free(recorded(), 0)
    assert finding.message == "a kernel may still be using the 4 MiB of memory when it is freed"
    assert (finding.location.file, finding.location.line) == ("run.sst", 0)
    assert finding.related == ()
    assert finding.fix is not None
    assert "line 0" not in finding.fix.summary


def test_a_trace_of_source_goes_on_as_before() -> None:
    names = HandMade()
    (finding,) = findings_of(names, [use_races_free(names)])
    assert "`d_x`" in finding.message
    assert (
        use_and_free(HandMade(), 12).message
        == "kernel `scale<float, 4>` may still be using the memory when it is freed"
    )


def failure(names: HandMade, line: int, words: str) -> Finding:
    call = replace(on_stream(names, OperationKind.LAUNCH, line, 1, api="cuLaunchKernel"), status=1)
    (finding,) = findings_of(names, [Fact(601, FactVariant.UNCHECKED, call, explained=words)])
    return finding


def test_the_driver_s_words_are_quoted_at_the_call() -> None:
    finding = failure(recorded(), 7, "grid of 0 blocks")
    assert ("/src/pipeline.cu", 7, "the driver says: grid of 0 blocks") in [
        (related.file, related.line, related.message) for related in finding.related
    ]
    assert finding.properties["driver_says"] == "grid of 0 blocks"
    assert finding.severity == "note"


def test_without_a_line_the_driver_s_words_are_not_lost() -> None:
    assert failure(recorded(), 0, "grid of 0 blocks").witness[-1] == "the driver says: grid of 0 blocks"


def test_long_words_are_cut_where_they_are_shown() -> None:
    said = next(r.message for r in failure(recorded(), 7, "x" * 1000).related if "driver says" in r.message)
    assert len(said) < 330
    assert said.endswith("...")


def test_findings_without_a_line_are_not_at_one_place() -> None:
    names = recorded()
    use = on_stream(names, OperationKind.LAUNCH, 0, 1)
    free = on_stream(names, OperationKind.FREE, 0, 1, api="cudaFree")
    facts = [
        Fact(101, FactVariant.AFTER_FREE, use, ((RelatedRole.FREE, free),), memory(names, 0)),
        Fact(201, FactVariant.SAME_POINTER, free, ((RelatedRole.FREE, free),), memory(names, 0, 64)),
    ]
    assert [finding.code for finding in findings_of(names, facts)] == ["SS101", "SS201"]


def test_another_thread_at_a_reset_is_named_by_its_call() -> None:
    names = recorded()
    reset = names.operation(OperationKind.DEVICE_RESET, 9, "cudaDeviceReset")
    call = names.operation(OperationKind.LAUNCH, 20, "cuLaunchKernel")
    (finding,) = findings_of(names, [Fact(106, FactVariant.OTHER_THREAD, reset, ((RelatedRole.USE, call),))])
    assert finding.message == "another host thread is using the device (a kernel launch) when the device is reset"
    assert (20, "called here, by another thread") in [(related.line, related.message) for related in finding.related]


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 byte"), (100, "100 bytes"), (1536, "1.5 KiB"), (4 << 20, "4 MiB"), (1 << 30, "1 GiB"), (3 << 40, "3 TiB")],
)
def test_byte_counts(size: int, text: str) -> None:
    assert byte_count(size) == text


def test_a_few_bytes_are_one_block() -> None:
    names = recorded()
    leak = on_stream(names, OperationKind.PROCESS_EXIT, 0, 0)
    (finding,) = findings_of(names, [Fact(401, FactVariant.LEAK_AT_EXIT, leak, (), memory(names, 23, 64))])
    assert finding.message == "the 64-byte block allocated at pipeline.cu:23 is never freed"


def named(names: HandMade, operation: Operation, runtime: str) -> Operation:
    names.sites.append(replace(names.site(operation.site), runtime=runtime))
    return replace(operation, site=len(names.sites) - 1)


@pytest.mark.parametrize(
    ("api", "runtime", "said"),
    [
        ("cuMemcpyDtoHAsync", "cudaMemcpyAsync", "the copy (`cudaMemcpyAsync`) uses"),
        ("cuMemcpyDtoHAsync", "", "the copy (`cuMemcpyDtoHAsync`) uses"),
        ("cudaMemcpy2DAsync", "cudaMemcpyAsync", "the copy (`cudaMemcpy2DAsync`) uses"),
    ],
)
def test_a_call_that_the_driver_got_is_named_as_the_program_made_it(api: str, runtime: str, said: str) -> None:
    names = recorded()
    use = named(names, on_stream(names, OperationKind.COPY, 30, 1, api=api), runtime)
    free = named(names, on_stream(names, OperationKind.FREE, 20, 1, api="cuMemFreeAsync"), "cudaFreeAsync")
    related = ((RelatedRole.FREE, free),)
    (finding,) = findings_of(names, [Fact(101, FactVariant.AFTER_ASYNC_FREE, use, related, memory(names, 10))])
    assert finding.message.startswith(said)


def test_a_refused_call_says_what_the_driver_answered_in_the_programs_api() -> None:
    names = recorded()
    use = named(names, on_stream(names, OperationKind.MEMSET, 30, 1, api="cuMemsetD8Async"), "cudaMemsetAsync")
    free = on_stream(names, OperationKind.FREE, 20, 1, api="cudaFree")
    fact = Fact(101, FactVariant.AFTER_FREE, replace(use, status=1), ((RelatedRole.FREE, free),), memory(names, 10))
    (finding,) = findings_of(names, [fact])
    said = "the fill (`cudaMemsetAsync`) is given the 4 MiB allocated at pipeline.cu:10 after it was freed"
    assert finding.message == f"{said}, and fails: cudaErrorInvalidValue"


def test_a_launch_is_told_by_its_kernel() -> None:
    names = recorded()
    label = "(anonymous namespace)::scale(float*, int)"
    launch = on_stream(names, OperationKind.LAUNCH, 39, 1, label=label, api="cuLaunchKernel")
    gone = on_stream(names, OperationKind.STREAM_DESTROY, 30, 0, api="cudaStreamDestroy")
    (finding,) = findings_of(names, [Fact(205, FactVariant.STALE_STREAM, launch, ((RelatedRole.DESTROY, gone),))])
    assert finding.message == "the launch of kernel `scale` uses a stream after it was destroyed"


def test_what_goes_on_at_the_place_of_the_failure_is_not_said_twice() -> None:
    names = recorded()
    call = replace(on_stream(names, OperationKind.COPY, 12, 1, api="cudaMemcpy"), status=2)
    same, later = (on_stream(names, OperationKind.COPY, line, 1, api="cudaMemcpy") for line in (12, 13))
    for following, times in ((same, 0), (later, 1)):
        (finding,) = findings_of(names, [Fact(601, FactVariant.UNCHECKED, call, ((RelatedRole.USE, following),))])
        assert [r.message for r in finding.related].count("(the program goes on here)") == times


def test_an_exit_without_a_line_is_reported_at_the_work_that_is_pending() -> None:
    names = recorded()
    end = on_stream(names, OperationKind.PROCESS_EXIT, 0, 0)
    use = on_stream(names, OperationKind.LAUNCH, 24, 1, label="report(int*)")
    (finding,) = findings_of(names, [Fact(106, FactVariant.AT_EXIT, end, ((RelatedRole.USE, use),))])
    assert (finding.location.file, finding.location.line) == ("/src/pipeline.cu", 24)


def test_memory_of_a_graph_is_told_by_its_size_and_place() -> None:
    names = recorded()
    node = on_stream(names, OperationKind.GRAPH_NODE, 50, 0, label="consume(float*)", api="cudaGraphAddNode")
    allocation = memory(names, 40, kind=MemoryKind.GRAPH)
    (finding,) = findings_of(names, [Fact(304, FactVariant.GRAPH_INSIDE, node, (), allocation)])
    assert finding.message.startswith("kernel `consume` uses the 4 MiB allocated at pipeline.cu:40, and no edge")


def test_what_an_installed_library_does_at_exit_is_a_note() -> None:
    names = recorded()
    call = names.operation(OperationKind.FREE, 4, "cuMemFree", flags=int(SlotFlag.OUTSIDE))
    copy = names.operation(OperationKind.COPY, 3, "cuMemcpyHtoD")
    release = names.operation(
        OperationKind.CONTEXT_DESTROY, 9, "cuDevicePrimaryCtxRelease", flags=int(SlotFlag.OUTSIDE)
    )
    facts = [
        Fact(207, FactVariant.AFTER_MAIN, call),
        Fact(106, FactVariant.PENDING_WORK, release, ((RelatedRole.USE, copy),)),
    ]
    assert {each.severity for each in findings_of(names, facts)} == {Severity.WARNING}
    names.of_libraries = (call.site, release.site)
    assert {each.severity for each in findings_of(names, facts)} == {Severity.NOTE}
    facts[0] = replace(facts[0], count=12)
    messages = [each.message for each in findings_of(names, facts) if each.code == "SS207"]
    assert messages == ["`cuMemFree` and 11 other calls run after main has ended, made by libcufft.so.12 itself"]


def test_a_library_that_gives_up_a_context_inside_main_is_warned_of() -> None:
    names = recorded()
    copy = names.operation(OperationKind.COPY, 3, "cuMemcpyHtoD")
    release = names.operation(OperationKind.CONTEXT_DESTROY, 9, "cuDevicePrimaryCtxRelease")
    names.of_libraries = (release.site,)
    (finding,) = findings_of(names, [Fact(106, FactVariant.PENDING_WORK, release, ((RelatedRole.USE, copy),))])
    assert finding.severity is Severity.WARNING
