"""What is said of graphs, captures, conflicts, costs and failures, from facts made by hand."""

from __future__ import annotations

import pytest
from hand_made import HandMade
from msgspec.structs import replace

from streamsan.findings.finding import Confidence, Finding, Related, Severity
from streamsan.order.facts import Fact, Operation
from streamsan.rules.pipeline import findings_of
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, SlotFlag

READ, WRITE, SURE = 1, 2, SlotFlag.TOUCHES


class Program(HandMade):
    """A program with the operations that the facts below are about."""

    def __init__(self, origin: str = "source") -> None:
        super().__init__(origin=origin)
        self.s1, self.s2 = self.stream("s1"), self.stream("s2")

    def alloc(self, line: int = 2, name: str = "d_x") -> Operation:
        return self.operation(OperationKind.ALLOC, line, "cudaMallocAsync", label=name, stream_site=self.s1)

    def copy(self, line: int, flags: int, stream: int = 0) -> Operation:
        return self.operation(OperationKind.COPY, line, "cudaMemcpyAsync", stream_site=stream or self.s2, flags=flags)

    def fill(self, line: int, flags: int) -> Operation:
        return self.operation(OperationKind.MEMSET, line, "cudaMemsetAsync", stream_site=self.s1, flags=flags)

    def launch(self, line: int, stream: int = 0) -> Operation:
        return self.operation(OperationKind.GRAPH_LAUNCH, line, "cudaGraphLaunch", stream_site=stream or self.s1)

    def node(self, line: int, api: str = "cudaLaunchKernel", label: str = "scale", flags: int = 0) -> Operation:
        return self.operation(OperationKind.GRAPH_NODE, line, api, label=label, stream=77, flags=flags)

    def instantiate(self, line: int, status: int = 0) -> Operation:
        made = self.operation(OperationKind.GRAPH_INSTANTIATE, line, "cudaGraphInstantiate")
        return replace(made, status=status)

    def free(self, line: int, api: str = "cudaFree", status: int = 0) -> Operation:
        stream = self.s1 if api.endswith("Async") else 0
        return replace(self.operation(OperationKind.FREE, line, api, stream_site=stream), status=status)

    def fact(
        self, code: int, variant: FactVariant, operation: Operation, *related: tuple[RelatedRole, Operation]
    ) -> Fact:
        kind = MemoryKind.GRAPH if code in (301, 304, 305, 402) else MemoryKind.STREAM_ORDERED
        return Fact(code, variant, operation, related, self.memory("d_x", 2, kind))

    def only(self, *facts: Fact) -> Finding:
        (finding,) = findings_of(self, facts)
        return finding

    def codes(self, *facts: Fact) -> list[str]:
        return [finding.code for finding in findings_of(self, facts)]


def conflict(program: Program, earlier: int, later: int) -> Fact:
    return program.fact(
        109,
        FactVariant.CONFLICT_READ_WRITE,
        program.copy(6, later),
        (RelatedRole.ALLOC, program.alloc()),
        (RelatedRole.USE, program.fill(4, earlier)),
    )


def test_a_conflict_that_is_sure() -> None:
    program = Program()
    finding = program.only(conflict(program, WRITE | SURE, READ | SURE))
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.PROVEN)
    assert finding.message == (
        "the copy (`cudaMemcpyAsync`) reads `d_x` while the fill (`cudaMemsetAsync`) may still be writing it"
    )
    assert finding.location.line == 6
    assert finding.related == (
        Related("alloc", "pipeline.cu", 2, "allocated here, in the order of stream `s1`"),
        Related("use", "pipeline.cu", 4, "used here, in the order of stream `s1`"),
        Related(
            "use", "pipeline.cu", 6, "used here, in the order of stream `s2`: nothing orders stream `s2` after the fill"
        ),
    )
    assert finding.fix is not None
    assert finding.fix.summary == "before line 6: cudaEventRecord(event, s1); cudaStreamWaitEvent(s2, event, 0);"


@pytest.mark.parametrize(("earlier", "later"), [(WRITE, READ | SURE), (WRITE | SURE, READ), (SURE, READ | SURE)])
def test_a_conflict_that_is_not_sure_is_a_note_and_blames_no_caller(earlier: int, later: int) -> None:
    program = Program()
    finding = program.only(replace(conflict(program, earlier, later), assumed=True))
    assert (finding.severity, finding.confidence) == (Severity.NOTE, Confidence.POSSIBLE)
    unknown = "" if WRITE in (earlier & 3, later & 3) else " and one of them writes"
    assert finding.message.endswith(f"if they touch the same bytes{unknown}")


def test_a_conflict_that_a_caller_decides() -> None:
    program = Program()
    finding = program.only(replace(conflict(program, WRITE | SURE, READ | SURE), assumed=True))
    assert finding.severity is Severity.NOTE
    assert "caller" in finding.message


@pytest.mark.parametrize(
    ("code", "variant"),
    [
        (102, FactVariant.FREE_ASYNC),
        (103, FactVariant.NONE),
        (304, FactVariant.GRAPH_USE),
    ],
)
def test_a_missing_order_is_said_once(code: int, variant: FactVariant) -> None:
    program = Program()
    both = conflict(program, WRITE | SURE, READ | SURE)
    roles = dict(both.related)
    operation = program.free(8, "cudaFreeAsync") if code == 102 else both.operation
    other = Fact(code, variant, operation, both.related, both.allocation)
    assert program.codes(both, other) == [f"SS{code}"]
    elsewhere = replace(
        other, allocation=program.memory("d_y", 3), related=((RelatedRole.USE, roles[RelatedRole.USE]),)
    )
    if code == 102:
        assert program.codes(both, elsewhere) == ["SS109", "SS102"]


def test_nodes_without_a_path_between_them() -> None:
    program = Program()
    first, second = program.node(4, flags=WRITE | SURE), program.node(5, "cudaMemcpyAsync", "", READ | SURE)
    finding = program.only(program.fact(109, FactVariant.CONFLICT_READ_WRITE, second, (RelatedRole.USE, first)))
    assert finding.message == "the copy (`cudaMemcpyAsync`) reads `d_x` while kernel `scale` may still be writing it"
    assert finding.related[-1].message == "used here: no path of edges connects it with kernel `scale`"
    assert finding.contract is not None
    assert finding.contract.source == "CUDA Programming Guide, CUDA Graphs"


def relaunch(program: Program, **where: int) -> Fact:
    return program.fact(
        301,
        FactVariant.NONE,
        replace(program.launch(9), status=1, **where),
        (RelatedRole.ALLOC, program.alloc()),
        (RelatedRole.USE, program.launch(8)),
        (RelatedRole.CREATE, program.instantiate(7)),
    )


def test_a_relaunch_explains_its_failure_and_the_leak() -> None:
    program = Program()
    fact = relaunch(program)
    failed = Fact(601, FactVariant.UNCHECKED, fact.operation)
    unfreed = program.fact(305, FactVariant.NO_FREE, program.alloc(), (RelatedRole.ALLOC, program.alloc()))
    leaked = program.fact(402, FactVariant.SURVIVES_GRAPH, program.alloc())
    finding = program.only(fact, failed, unfreed, leaked)
    assert finding.message == "the graph is launched again, and its last launch has left `d_x` allocated"
    assert (finding.severity, finding.location.line) == (Severity.ERROR, 9)
    assert finding.fix is not None
    assert "cudaFreeAsync(d_x, s1)" in finding.fix.summary


def test_a_graph_that_nothing_frees_is_one_finding() -> None:
    program = Program()
    unfreed = program.fact(305, FactVariant.NO_FREE, program.alloc(), (RelatedRole.USE, program.launch(8)))
    leaked = program.fact(402, FactVariant.SURVIVES_GRAPH, program.alloc())
    finding = program.only(unfreed, leaked, program.fact(401, FactVariant.LEAK_AT_EXIT, program.alloc()))
    assert (finding.code, finding.severity) == ("SS305", Severity.WARNING)
    assert finding.location.line == 2
    assert finding.message == "the graph allocates `d_x`, and nothing frees it, in the graph or after it"


@pytest.mark.parametrize("variant", [FactVariant.STALE_FREED, FactVariant.STALE_RECYCLED])
def test_a_stale_pointer_outranks_what_follows_from_it(variant: FactVariant) -> None:
    program = Program()
    free, launch = program.free(8), program.launch(9)
    related = (
        (RelatedRole.ALLOC, program.alloc()),
        (RelatedRole.FREE, free),
        (RelatedRole.USE, program.node(5, flags=WRITE)),
        (RelatedRole.OWNER, program.alloc(10, "q")),
    )
    stale = program.fact(303, variant, launch, *related)
    after_free = program.fact(101, FactVariant.AFTER_FREE, launch, (RelatedRole.FREE, free))
    finding = program.only(stale, after_free)
    assert finding.code == "SS303"
    expected = "was freed" if variant is FactVariant.STALE_FREED else "was freed, and its address now belongs to `q`"
    assert finding.message == f"the graph launch writes `d_x`, which {expected}"
    assert [related.role for related in finding.related] == ["alloc", "use", "free", "owner", "use"]


def test_an_address_that_the_graph_was_given_again_is_a_note() -> None:
    program = Program(origin="recording")
    related = (
        (RelatedRole.ALLOC, program.alloc()),
        (RelatedRole.FREE, program.free(8)),
        (RelatedRole.USE, program.node(5, flags=WRITE)),
        (RelatedRole.OWNER, program.alloc(10, "q")),
    )
    fact = program.fact(303, FactVariant.STALE_GIVEN_AGAIN, program.launch(9), *related)
    finding = program.only(replace(fact, assumed=True))
    assert (finding.severity, finding.confidence) == (Severity.NOTE, Confidence.POSSIBLE)
    assert finding.message == (
        "the graph launch writes `d_x`, which was freed; `q`, which another of its nodes was given since, has the "
        "same address by luck, unless the program compared the two"
    )


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (
            FactVariant.GRAPH_USE,
            "the copy (`cudaMemcpyAsync`) reads `d_x`, and nothing orders it after the graph launch that allocates "
            "the memory",
        ),
        (FactVariant.GRAPH_NOT_ALIVE, "the copy (`cudaMemcpyAsync`) uses `d_x` after the graph freed it"),
    ],
)
def test_memory_of_a_graph_outside(variant: FactVariant, message: str) -> None:
    program = Program()
    related = [(RelatedRole.ALLOC, program.alloc()), (RelatedRole.USE, program.launch(5))]
    if variant is FactVariant.GRAPH_NOT_ALIVE:
        related.append((RelatedRole.FREE, program.node(4, "cudaFreeAsync", "")))
    finding = program.only(program.fact(304, variant, program.copy(6, READ), *related))
    assert (finding.message, finding.severity) == (message, Severity.ERROR)


def test_a_launch_that_frees_under_a_use() -> None:
    program = Program()
    use, launch = program.copy(6, READ), program.launch(7)
    finding = program.only(program.fact(304, FactVariant.GRAPH_FREE, launch, (RelatedRole.USE, use)))
    assert finding.message == (
        "the copy (`cudaMemcpyAsync`) may still be reading `d_x` when a launch of the graph frees it"
    )
    assert finding.fix is not None
    assert finding.fix.summary == "before line 7: cudaEventRecord(event, s2); cudaStreamWaitEvent(s1, event, 0);"


def test_what_fails_because_a_capture_broke_is_silent() -> None:
    program = Program()
    wait = replace(program.operation(OperationKind.STREAM_SYNCHRONIZE, 5, "cudaStreamSynchronize"), status=900)
    begin = program.operation(OperationKind.CAPTURE_BEGIN, 3, "cudaStreamBeginCapture", stream_site=program.s1)
    broken = Fact(302, FactVariant.CAPTURE_WAIT, wait, ((RelatedRole.CREATE, begin),))
    following = [
        replace(program.launch(line), status=status) for line, status in ((5, 900), (6, 901), (7, 1), (8, 400))
    ]
    failures = [Fact(601, FactVariant.UNCHECKED, operation) for operation in following]
    finding = program.only(broken, *failures)
    assert finding.message.endswith("does not run, and fails: cudaErrorStreamCaptureUnsupported")
    assert finding.related[0].message == "stream `s1` begins to capture here"
    unrelated = Fact(601, FactVariant.UNCHECKED, replace(program.launch(9), status=2))
    assert program.codes(broken, *failures, unrelated) == ["SS302", "SS601"]


@pytest.mark.parametrize(
    ("api", "variant", "text"),
    [
        ("cudaGraphInstantiate", FactVariant.SECOND_EXEC, "cudaErrorNotSupported"),
        ("cuGraphClone", FactVariant.CLONED, "CUDA_ERROR_NOT_SUPPORTED"),
    ],
)
def test_restrictions_name_the_error_as_their_api_does(api: str, variant: FactVariant, text: str) -> None:
    program = Program()
    call = replace(program.operation(OperationKind.GRAPH_CLONE, 5, api), status=801)
    finding = program.only(program.fact(306, variant, call))
    assert finding.message.endswith(f"and fails: {text}")


@pytest.mark.parametrize(
    ("origin", "severity"),
    [("source", Severity.WARNING), ("simulation", Severity.NOTE), ("recording", Severity.NOTE)],
)
def test_a_failed_call(origin: str, severity: Severity) -> None:
    program = Program(origin)
    call = replace(program.operation(OperationKind.CALL, 5, "cudaSetDevice"), status=101)
    finding = program.only(Fact(601, FactVariant.UNCHECKED, call, ((RelatedRole.USE, program.fill(6, WRITE)),)))
    assert finding.severity is severity
    assert finding.message == "`cudaSetDevice` fails with cudaErrorInvalidDevice, and the program goes on"


def test_a_failure_that_another_finding_explains() -> None:
    program = Program()
    free = program.free(5, status=1)
    failed = Fact(601, FactVariant.UNCHECKED, free)
    twice = program.fact(201, FactVariant.SAME_POINTER, free, (RelatedRole.FREE, program.free(4)))
    assert program.codes(failed, twice) == ["SS201"]
    costs = program.fact(501, FactVariant.NONE, free)
    assert program.codes(failed, costs) == ["SS501", "SS601"]


def test_churn_says_how_often() -> None:
    program = Program()
    memory = program.memory("scratch", 3, MemoryKind.PLAIN)
    made = program.operation(OperationKind.ALLOC, 3, "cudaMalloc", label="scratch")
    related = ((RelatedRole.ALLOC, made), (RelatedRole.FREE, program.free(6)))
    finding = program.only(Fact(502, FactVariant.CHURN, made, related, memory, count=200))
    assert (finding.severity, finding.location.line) == (Severity.NOTE, 3)
    assert finding.message == "`scratch` is allocated and freed 200 times in a loop"


@pytest.mark.parametrize(
    ("exact", "fix"),
    [
        (1, "line 9: cudaStreamSynchronize(s2);"),
        (0, "after line 5: cudaEventRecord(event, s2); line 9: cudaEventSynchronize(event);"),
    ],
)
def test_a_wait_that_is_too_wide(exact: int, fix: str) -> None:
    program = Program()
    wait = program.operation(OperationKind.CONTEXT_SYNCHRONIZE, 9, "cudaDeviceSynchronize")
    needless = program.operation(OperationKind.LAUNCH, 4, label="scale", stream_site=program.s1)
    related = ((RelatedRole.USE, program.copy(5, READ)), (RelatedRole.OTHER, needless))
    finding = program.only(Fact(503, FactVariant.TOO_WIDE, wait, related, extra={"exact": exact}))
    assert finding.message == "`cudaDeviceSynchronize` also waits for kernel `scale`, which nothing after it needs"
    assert finding.fix is not None
    assert finding.fix.summary == fix
