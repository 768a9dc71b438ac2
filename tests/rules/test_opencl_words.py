"""What rules say of OpenCL: its own words and its own specification, whatever the case."""

from __future__ import annotations

import re

import pytest
from hand_made import HandMade

from streamsan.findings.finding import Confidence, Finding, Severity
from streamsan.order.facts import Fact
from streamsan.platforms import OPENCL
from streamsan.rules.pipeline import findings_of
from streamsan.vocabulary import EdgeClass, FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode, StreamKind

FOREIGN = re.compile(r"[cC][uU][dD][aA]|\bcu[A-Z]|H200|\bdriver\b|\bstreams?\b")
KINDS = (MemoryKind.CL_BUFFER, MemoryKind.SVM, MemoryKind.CL_MAPPED, MemoryKind.HOST_HEAP)
VARIANTS = {
    101: ("AFTER_FREE", "AFTER_ASYNC_FREE"),
    102: ("FREE_SVM", "FREE_ASYNC", "FREE_DEVICE"),
    103: ("NONE",),
    104: ("UNMAP",),
    106: ("PENDING_WORK", "AT_EXIT"),
    107: ("STATUS_QUERY",),
    108: ("HOST_FREE", "HOST_SCOPE_END", "HOST_WRITE", "HOST_READ", "MAPPED_USE"),
    109: ("CONFLICT_WRITE_WRITE", "CONFLICT_READ_WRITE"),
    201: ("SAME_POINTER",),
    202: ("WRONG_FAMILY", "INTERIOR", "UNKNOWN_ADDRESS"),
    205: ("STALE_STREAM", "STALE_EVENT", "STALE_CONTEXT", "STALE_OTHER"),
    208: ("NONE",),
    209: ("NONE",),
    401: ("LEAK_AT_EXIT", "LOST_SCOPE", "UNRELEASED"),
    503: ("TOO_WIDE",),
    504: ("DOMINATED", "NO_CONSUMER"),
    601: ("UNCHECKED",),
    602: ("NONE",),
}
CASES = [(code, FactVariant[name]) for code, names in VARIANTS.items() for name in names]
MAIN = {
    102: (OperationKind.FREE, "clSVMFree"),
    106: (OperationKind.CONTEXT_DESTROY, "clReleaseContext"),
    201: (OperationKind.FREE, "clReleaseMemObject"),
    202: (OperationKind.FREE, "clSVMFree"),
    205: (OperationKind.HANDLE_USE, "clSetKernelArg"),
    208: (OperationKind.FREE, "clReleaseMemObject"),
    209: (OperationKind.STREAM_SYNCHRONIZE, "clFinish"),
    503: (OperationKind.STREAM_SYNCHRONIZE, "clFinish"),
    504: (OperationKind.STREAM_WAIT_EVENT, "clEnqueueNDRangeKernel"),
}


def finding_of(code: int, variant: FactVariant, kind: MemoryKind) -> Finding:
    names = HandMade(path="pipeline.c", platform="opencl")
    queue = names.stream("upload")

    def operation(kind: OperationKind, line: int, api: str, label: str = "", on_queue: bool = True):  # type: ignore[no-untyped-def]
        site = queue if on_queue else 0
        return names.operation(
            kind, line, api, label=label, stream_site=site, stream_kind=StreamKind.OUT_OF_ORDER if on_queue else None
        )

    related = (
        (RelatedRole.CREATE, operation(OperationKind.EVENT_CREATE, 2, "clCreateUserEvent", "ready", False)),
        (RelatedRole.ALLOC, operation(OperationKind.ALLOC, 3, "clCreateBuffer", "buffer", False)),
        (RelatedRole.USE, operation(OperationKind.LAUNCH, 4, "clEnqueueNDRangeKernel", "scale")),
        (RelatedRole.OTHER, operation(OperationKind.COPY, 5, "clEnqueueMapBuffer")),
        (RelatedRole.SYNC, operation(OperationKind.EVENT_QUERY, 6, "clGetEventInfo", "", False)),
        (RelatedRole.FREE, operation(OperationKind.FREE, 7, "clReleaseMemObject", "", False)),
        (RelatedRole.DESTROY, operation(OperationKind.HANDLE_DESTROY, 8, "clReleaseKernel", "", False)),
    )
    sort, api = MAIN.get(code, (OperationKind.LAUNCH, "clEnqueueNDRangeKernel"))
    main = operation(sort, 9, api, "", sort in (OperationKind.LAUNCH, OperationKind.STREAM_WAIT_EVENT))
    fact = Fact(RuleCode(code), variant, main, related, names.memory("buffer", 3, kind))
    (found,) = findings_of(names, [fact])
    return found


def words_of(finding: Finding) -> list[str]:
    words = [finding.message, *(each.message for each in finding.related), *finding.witness]
    words += [finding.fix.summary if finding.fix else ""]
    for source in (finding.contract, finding.observed):
        words += [] if source is None else [source.text]
    return words


@pytest.mark.parametrize(("code", "variant"), CASES)
def test_no_word_is_of_cuda(code: int, variant: FactVariant) -> None:
    for kind in KINDS:
        finding = finding_of(code, variant, kind)
        for text in words_of(finding):
            assert not FOREIGN.search(text), text
        if finding.observed is not None:
            assert "PoCL" in finding.observed.on


@pytest.mark.parametrize(("code", "variant"), CASES)
def test_every_case_quotes_the_specification(code: int, variant: FactVariant) -> None:
    for kind in KINDS:
        finding = finding_of(code, variant, kind)
        assert finding.contract is not None, (code, kind)
        assert finding.contract.source.startswith("OpenCL 3.0"), (code, kind)


def test_a_queue_is_called_by_its_name() -> None:
    finding = finding_of(109, FactVariant.CONFLICT_READ_WRITE, MemoryKind.CL_BUFFER)
    assert any("in the order of queue `upload`" in each.message for each in finding.related)


def test_a_stream_of_the_programs_own_keeps_its_name() -> None:
    text = "used in the order of `stream`: clFinish(stream); then its stream goes on"
    assert OPENCL.in_own_words(text) == "used in the order of `stream`: clFinish(stream); then its queue goes on"


def test_an_entry_of_a_wait_list_is_not_a_call_to_remove() -> None:
    finding = finding_of(504, FactVariant.DOMINATED, MemoryKind.CL_BUFFER)
    assert finding.message.startswith("an event in the wait list of `clEnqueueNDRangeKernel` is redundant")
    assert finding.fix is not None
    assert finding.fix.summary == "take the event out of the wait list of line 9"


def test_an_object_that_is_released_twice_is_not_called_leaked_as_well() -> None:
    names = HandMade(path="tiles.c", platform="opencl")
    tile = names.memory("tile", 3, MemoryKind.CL_BUFFER)
    made = names.operation(OperationKind.ALLOC, 3, "clCreateBuffer", label="tile")
    released = names.operation(OperationKind.FREE, 9, "clReleaseMemObject")
    twice = Fact(RuleCode.DOUBLE_FREE, FactVariant.SAME_POINTER, released, ((RelatedRole.ALLOC, made),), tile)
    leak = Fact(RuleCode.LEAK, FactVariant.LEAK_AT_EXIT, made, ((RelatedRole.ALLOC, made),), tile)
    other = Fact(RuleCode.LEAK, FactVariant.LEAK_AT_EXIT, names.operation(OperationKind.ALLOC, 5, "clCreateBuffer"))
    assert {found.code for found in findings_of(names, [leak])} == {"SS401"}
    assert [found.code for found in findings_of(names, [twice, leak])] == ["SS201"]
    assert sorted(found.code for found in findings_of(names, [twice, leak, other])) == ["SS201", "SS401"]


def test_copies_that_meet_in_the_hosts_memory_say_so() -> None:
    names = HandMade(path="ring.c", platform="opencl")
    first, second = (names.operation(OperationKind.COPY, line, "clEnqueueReadBuffer") for line in (4, 5))
    fact = Fact(RuleCode.UNORDERED_CONFLICT, FactVariant.CONFLICT_WRITE_WRITE, second, ((RelatedRole.USE, first),))
    (found,) = findings_of(names, [fact])
    assert "the host's memory" in found.message


def test_what_makes_a_wait_redundant_is_told_of_its_waiter() -> None:
    finding = finding_of(504, FactVariant.DOMINATED, MemoryKind.CL_BUFFER)  # its queue is out of order
    assert finding.contract is not None
    assert "Out-of-order" in finding.contract.source
    assert "in-order" not in finding.contract.text


@pytest.mark.parametrize(
    ("kind", "api", "count", "said", "call"),
    [
        (OperationKind.STREAM_CREATE, "clCreateCommandQueue", 1, "the queue is never", "clReleaseCommandQueue"),
        (OperationKind.CONTEXT_CREATE, "clCreateContextFromType", 1, "the context is never", "clReleaseContext"),
        (OperationKind.EVENT_CREATE, "clEnqueueNDRangeKernel", 1500, "1,500 events that are made", "clReleaseEvent"),
        (OperationKind.EVENT_CREATE, "clCreateUserEvent", 1, "the event is never", "clReleaseEvent"),
        (OperationKind.HANDLE_CREATE, "clCreateKernel", 2, "2 kernels that are made", "clReleaseKernel"),
        (OperationKind.HANDLE_CREATE, "clCreateSubBuffer", 1, "the sub-buffer is never", "clReleaseMemObject"),
    ],
)
def test_objects_that_are_never_released(kind: OperationKind, api: str, count: int, said: str, call: str) -> None:
    names = HandMade(path="pipeline.c", platform="opencl")
    made = names.operation(kind, 9, api)
    fact = Fact(RuleCode.LEAK, FactVariant.UNRELEASED, made, (), None, count=count)
    (found,) = findings_of(names, [fact])
    assert found.message.startswith(said)
    assert (found.severity, found.location.line) == (Severity.NOTE, 9)
    assert found.fix is not None
    assert call in found.fix.summary


def test_a_pointer_is_unmapped_not_freed() -> None:
    finding = finding_of(101, FactVariant.AFTER_FREE, MemoryKind.CL_MAPPED)
    assert "after it was unmapped" in finding.message
    assert finding.contract is not None
    assert "5.5.2" in finding.contract.source


def test_an_object_is_released_and_memory_freed() -> None:
    said = {
        kind: " ".join(words_of(finding_of(code, variant, kind)))
        for kind in (MemoryKind.CL_BUFFER, MemoryKind.SVM)
        for code, variant in ((101, FactVariant.AFTER_FREE), (201, FactVariant.SAME_POINTER))
    }
    assert "released" in said[MemoryKind.CL_BUFFER]
    assert not re.search(r"\bfreed\b|next owner|old address", said[MemoryKind.CL_BUFFER])
    assert "freed" in said[MemoryKind.SVM]


def test_a_non_blocking_command_is_never_synchronous() -> None:
    """In CUDA a copy of pageable memory may be: there the finding is only possible."""
    finding = finding_of(108, FactVariant.HOST_READ, MemoryKind.HOST_HEAP)
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.PROVEN)


def test_a_release_in_another_thread_is_possible() -> None:
    names = HandMade(platform="opencl")
    release = names.operation(OperationKind.FREE, 9, "clReleaseMemObject")
    fact = Fact(RuleCode.RELEASE_UNDER_USER_EVENT, FactVariant.NONE, release, rests_on=EdgeClass.RUN)
    (finding,) = findings_of(names, [fact])
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.POSSIBLE)


@pytest.mark.parametrize("code", [204, 207])
def test_what_only_cuda_forbids_is_not_said_of_opencl(code: int) -> None:
    names = HandMade(platform="opencl")
    call = names.operation(OperationKind.CALL, 9, "clGetPlatformIDs")
    assert findings_of(names, [Fact(RuleCode(code), FactVariant.BEFORE_MAIN, call)]) == []


@pytest.mark.parametrize(
    ("platform", "api", "source"),
    [("cuda", "clReleaseMemObject", "OpenCL 3.0"), ("opencl", "cudaFree", "CUDA Runtime API")],
)
def test_each_call_of_a_mixed_program_is_told_in_its_own_words(platform: str, api: str, source: str) -> None:
    names = HandMade(platform=platform)
    kind = MemoryKind.CL_BUFFER if api.startswith("cl") else MemoryKind.PLAIN
    free = names.operation(OperationKind.FREE, 9, api)
    fact = Fact(RuleCode.DOUBLE_FREE, FactVariant.SAME_POINTER, free, allocation=names.memory("d_x", 3, kind))
    (finding,) = findings_of(names, [fact])
    assert finding.contract is not None
    assert finding.contract.source.startswith(source)


def test_what_a_query_seems_to_order_is_a_warning() -> None:
    """Of CUDA's copies of pageable memory it is a note: these may be synchronous."""
    finding = finding_of(107, FactVariant.STATUS_QUERY, MemoryKind.HOST_HEAP)
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        (OperationKind.FREE, Severity.ERROR),
        (OperationKind.STREAM_DESTROY, Severity.ERROR),
        (OperationKind.HANDLE_DESTROY, Severity.WARNING),
    ],
)
def test_a_release_of_memory_under_a_user_event_is_the_graver(kind: OperationKind, severity: Severity) -> None:
    names = HandMade(platform="opencl")
    release = names.operation(kind, 9, "clRelease")
    (finding,) = findings_of(names, [Fact(RuleCode.RELEASE_UNDER_USER_EVENT, FactVariant.NONE, release)])
    assert finding.severity is severity
