"""What a race says of its two sides: what each does, to which bytes, and from where that is known."""

from __future__ import annotations

import pytest
from hand_made import HandMade
from msgspec.structs import replace

from streamsan.findings.access import Deed, KnownFrom
from streamsan.findings.finding import Finding
from streamsan.order.facts import Fact, Operation, Touch
from streamsan.rules.pipeline import findings_of
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode, SlotFlag

READ, WRITE, READ_WRITE = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE
BASE = 0x7000
SURE = SlotFlag.TOUCHES


class Race:
    """A kernel `later` behind the operation `earlier`, on two streams, and the memory `d_x` of 4096 bytes."""

    def __init__(self, origin: str = "recording") -> None:
        self.names = HandMade(origin=origin)
        self.one, self.other = self.names.stream("s1"), self.names.stream("s2")
        self.earlier = self.work(4, "produce", self.one, WRITE | SURE)
        self.later = self.work(6, "consume", self.other, READ | SURE)
        self.touches: list[Touch] = [Touch(BASE, BASE + 4096, surely=True), Touch(BASE, BASE + 4096, surely=True)]
        self.assumed = False
        self.kind = MemoryKind.PLAIN

    def work(self, line: int, label: str, stream: int, flags: int, api: str = "cuLaunchKernel") -> Operation:
        kind = OperationKind.LAUNCH if api == "cuLaunchKernel" else OperationKind.COPY
        return self.names.operation(kind, line, api, label=label, stream_site=stream, flags=flags)

    def reads_code(self, *operations: Operation) -> None:
        self.names.read_kernels = tuple(each.site for each in operations)

    def finding(self, code: int = RuleCode.UNORDERED_CONFLICT) -> Finding:
        memory = self.names.memory("d_x", 2, self.kind)
        alloc = self.names.operation(OperationKind.ALLOC, 2, "cudaMalloc", label="d_x")
        related = ((RelatedRole.ALLOC, alloc), (RelatedRole.USE, self.earlier))
        variant = FactVariant.CONFLICT_READ_WRITE if code == 109 else FactVariant.HOST_WRITE
        fact = Fact(RuleCode(code), variant, self.later, related, memory, assumed=self.assumed)
        (finding,) = findings_of(self.names, [replace(fact, touches=(self.touches[1], self.touches[0]))])
        return finding


def said(finding: Finding, line: int) -> str:
    (message,) = (each.message for each in finding.related if each.line == line)
    return message


def test_each_side_says_what_it_does_to_which_bytes_and_from_where_that_is_known() -> None:
    race = Race()
    race.reads_code(race.earlier)
    race.names.seen_launches = (race.later.sequence,)
    race.touches[1] = Touch(BASE + 1024, BASE + 2048, surely=True)
    finding = race.finding()
    assert finding.message == "kernel `consume` reads `d_x` while kernel `produce` may still be writing it"
    assert said(finding, 4) == "used here, in the order of stream `s1`: it writes all of `d_x` (from its machine code)"
    later = "used here, in the order of stream `s2`: it reads bytes 1,024 to 2,047 of `d_x` (seen on the device); "
    assert said(finding, 6) == later + "nothing orders stream `s2` after the kernel"
    assert finding.overlap is not None
    assert finding.overlap.words == "both touch bytes 1,024 to 2,047 of `d_x`"
    assert [(each.line, each.work, each.deed, each.known_from) for each in finding.accesses] == [
        (4, "kernel `produce`", Deed.WRITE, KnownFrom.MACHINE_CODE),
        (6, "kernel `consume`", Deed.READ, KnownFrom.DEVICE),
    ]


def test_a_copy_is_known_from_its_arguments_and_rows_are_told_as_rows() -> None:
    race = Race()
    race.earlier = race.work(4, "", race.one, WRITE | SURE, "cudaMemcpy2DAsync")
    race.touches = [
        Touch(BASE + 512, BASE + 512 + 3 * 512 + 64, Rows(64, 512, 4), surely=True),
        Touch(BASE, BASE + 1024, surely=True),
    ]
    finding = race.finding()
    rows = "rows of 512 bytes"
    assert f"it writes bytes 0 to 63 of rows 1 to 4 of `d_x`, {rows} (from its arguments)" in said(finding, 4)
    assert f"it reads rows 0 to 1 of `d_x`, {rows} (from its signature)" in said(finding, 6)
    assert finding.overlap is not None
    assert finding.overlap.words == f"both touch bytes 0 to 63 of row 1 of `d_x`, {rows}"


@pytest.mark.parametrize(
    ("flags", "atomic", "verb", "gerund", "words"),
    [
        (READ_WRITE, False, "reads and writes", "reading and writing", "it reads and writes all of `d_x`"),
        (READ_WRITE, True, "updates", "updating", "it updates all of `d_x` by atomic operations"),
        (AccessMode.OPAQUE, False, "accesses", "using", "it may read or write all of `d_x`"),
        (WRITE | SlotFlag.ASSUMED, False, "writes", "writing", "it may write all of `d_x`"),
    ],
)
def test_what_a_side_does(flags: int, atomic: bool, verb: str, gerund: str, words: str) -> None:
    for earlier in (False, True):
        race = Race("source")
        if earlier:
            race.earlier = replace(race.earlier, flags=flags)
        else:
            race.later = replace(race.later, flags=flags)
        race.touches[not earlier] = replace(race.touches[not earlier], atomic=atomic)
        finding = race.finding()
        assert (f"may still be {gerund} it" if earlier else f"consume` {verb} `d_x`") in finding.message
        assert words in said(finding, 4 if earlier else 6)


def test_bounds_are_no_bytes_that_are_touched() -> None:
    race = Race()
    race.touches[0] = Touch(BASE, BASE + 4096, surely=False)
    finding = race.finding()
    assert "it writes some of `d_x`" in said(finding, 4)
    assert finding.overlap is None
    race.touches[0] = Touch(BASE + 512, 0, surely=True)
    finding = race.finding()
    assert "it writes `d_x` from byte 512 on" in said(finding, 4)
    assert finding.overlap is None


def test_a_side_of_which_nothing_is_known_says_nothing() -> None:
    race = Race()
    race.touches.clear()
    race.touches += [None, Touch(BASE, 0)]  # type: ignore[list-item]
    finding = race.finding()
    assert said(finding, 4) == "used here, in the order of stream `s1`"
    assert [each.line for each in finding.accesses] == [6]


def test_of_a_graph_s_launch_the_node_is_named() -> None:
    race = Race()
    launch = race.names.operation(OperationKind.GRAPH_LAUNCH, 4, "cudaGraphLaunch", stream_site=race.one, flags=WRITE)
    node = race.names.operation(OperationKind.GRAPH_NODE, 20, "cuLaunchKernel", label="peaks")
    race.earlier = launch
    race.reads_code(node)
    race.touches[0] = replace(race.touches[0], node=node)
    finding = race.finding()
    words = "kernel `peaks` of the graph (line 20) writes all of `d_x` (from its machine code)"
    assert said(finding, 4) == f"launched here, in the order of stream `s1`: {words}"
    assert finding.accesses[0].work == "kernel `peaks`"


def test_the_host_s_access_is_the_first_that_was_noted() -> None:
    race = Race()
    race.later = race.names.operation(OperationKind.HOST_ACCESS, 6, flags=WRITE)
    race.touches[1] = Touch(BASE + 16, BASE + 17, surely=True)
    finding = race.finding(108)
    words = "overwritten here: it first writes byte 16 of `d_x` (seen as it happened); nothing makes the host wait"
    assert said(finding, 6).startswith(words)
    assert finding.accesses[1].known_from is KnownFrom.HOST


def test_what_a_recorded_kernel_does_to_a_variable_is_known_from_its_machine_code() -> None:
    for origin, known in (("recording", KnownFrom.MACHINE_CODE), ("source", KnownFrom.SOURCE)):
        race = Race(origin)
        race.kind = MemoryKind.DEVICE_SYMBOL
        finding = race.finding()
        assert [each.known_from for each in finding.accesses] == [known, known]
        met = "met" if origin == "recording" else "declared"
        assert said(finding, 2) == f"{met} here, a variable of the device"
