"""Edits of traces: what is put where, at which instances, and what the second analysis makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from streamsan.analysis.traces import check_trace
from streamsan.evidence.fix import verified_fixes as fix
from streamsan.evidence.fix.candidates import candidates
from streamsan.evidence.fix.change_steps import FreeBehindUses
from streamsan.evidence.fix.edited_trace import INSERTED, EditableTrace, Edits, operation_at
from streamsan.evidence.fix.order_steps import EventBetween, Place
from streamsan.evidence.fix.steps import pairs
from streamsan.evidence.fix.verification import Verification
from streamsan.findings.finding import Finding
from streamsan.order.facts import Operation
from streamsan.order.rearrangement import rearranged
from streamsan.rules.case import case_of
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.trace.layout import SLOT
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    ExitKind,
    FreeClass,
    MemoryKind,
    OperationKind,
    RelatedRole,
    StreamKind,
)

HOME, WORK, OTHER = 100, 101, 102
BLOCK = 4096


class Program:
    """A trace of one thread: two streams, blocks of pool memory, kernels."""

    def __init__(self, origin: str = "synthetic") -> None:
        self.builder = TraceBuilder("a.cu", origin=origin)
        self.thread = self.builder.thread(0, "main")
        self._put(OperationKind.THREAD_START, 1)
        self._put(OperationKind.MAIN_BEGIN, 1)
        self._put(OperationKind.CONTEXT_CREATE, 1, object=7, detail=ContextKind.PRIMARY)
        self._put(OperationKind.CONTEXT_CURRENT, 1, object=7)
        for line, (stream, name) in enumerate(((HOME, "home"), (WORK, "work"), (OTHER, "other")), 2):
            self._put(OperationKind.STREAM_CREATE, line, name, object=stream, detail=StreamKind.NON_BLOCKING)

    def _put(self, kind: OperationKind, line: int, label: str = "", api: str = "", **values: int) -> int:
        site = self.builder.site(Site("a.cu", line, 5, function="main", label=label))
        return self.builder.append(kind, thread=self.thread, site=site, api=api, **values)  # type: ignore[arg-type]

    def alloc(self, line: int, address: int, generation: int = 0, stream: int = HOME) -> None:
        """Allocate a block."""
        site = self.builder.site(Site("a.cu", line, 5, function="main", label="x"))
        self.builder.append(
            OperationKind.ALLOC,
            thread=self.thread,
            site=site,
            api="cudaMallocAsync" if stream else "cudaMalloc",
            stream=stream,
            detail=MemoryKind.STREAM_ORDERED if stream else MemoryKind.PLAIN,
            references=[Reference(address, BLOCK, generation)],
        )

    def launch(self, line: int, address: int, stream: int = WORK, generation: int = 0) -> None:
        """Launch a kernel that writes a block."""
        site = self.builder.site(Site("a.cu", line, 5, function="main", label="scale"))
        self.builder.append(
            OperationKind.LAUNCH,
            thread=self.thread,
            site=site,
            api="cudaLaunchKernel",
            stream=stream,
            references=[Reference(address, BLOCK, generation, AccessMode.READ_WRITE)],
        )

    def free(self, line: int, address: int, stream: int = HOME, generation: int = 0) -> None:
        """Free a block."""
        site = self.builder.site(Site("a.cu", line, 5, function="main", label="x"))
        self.builder.append(
            OperationKind.FREE,
            thread=self.thread,
            site=site,
            api="cudaFreeAsync" if stream else "cudaFree",
            stream=stream,
            detail=FreeClass.ASYNC if stream else FreeClass.DEVICE,
            references=[Reference(address, 0, generation)],
        )

    def wait(self, line: int, stream: int) -> None:
        """Let the host wait for a stream."""
        self._put(OperationKind.STREAM_SYNCHRONIZE, line, api="cudaStreamSynchronize", stream=stream)

    def order(self, line: int, before: int, behind: int) -> None:
        """Let one stream wait for another."""
        self._put(OperationKind.EVENT_CREATE, line, object=500 + line)
        self._put(OperationKind.EVENT_RECORD, line, api="cudaEventRecord", object=500 + line, stream=before)
        self._put(OperationKind.STREAM_WAIT_EVENT, line, api="cudaStreamWaitEvent", object=500 + line, stream=behind)

    def end(self) -> Trace:
        """Wait for everything, and end."""
        self._put(OperationKind.CONTEXT_SYNCHRONIZE, 90, api="cudaDeviceSynchronize", object=7)
        self._put(OperationKind.MAIN_END, 91)
        self._put(OperationKind.PROCESS_EXIT, 91, detail=ExitKind.NORMAL)
        return self.builder.finish()


def one(trace: Trace, code: str) -> Finding:
    found = [finding for finding in check_trace(trace, "a.cu").findings if finding.code == code]
    assert len(found) == 1, check_trace(trace, "a.cu").findings
    return found[0]


def race(program: Program, blocks: int = 1) -> Program:
    for number in range(blocks):
        address = 0x10000 * (number + 1)
        program.alloc(10, address)
        program.order(11, HOME, WORK)
        program.launch(12, address)
        program.free(13, address)
    return program


def summary(finding: Finding) -> str:
    assert finding.fix is not None
    assert finding.fix.verified, finding.no_fix
    return finding.fix.summary


def test_free_goes_to_the_stream_of_the_last_use() -> None:
    finding = one(race(Program()).end(), "SS102")
    assert summary(finding) == "line 13: cudaFreeAsync(x, work), in the stream of the last use"


def test_event_goes_where_it_brings_up_no_other_finding() -> None:
    program = Program()
    program.alloc(10, 0x10000)
    program.order(11, HOME, WORK)
    program.launch(12, 0x10000)
    program.launch(14, 0x10000, HOME)
    program.free(15, 0x10000)
    findings = {finding.code: finding for finding in check_trace(program.end(), "a.cu").findings}
    # The free in one stream would race with the use in the other; an event before the free alone would leave the two
    # uses unordered.
    event = "cudaEventRecord(event, work); cudaStreamWaitEvent(home, event, 0)"
    assert summary(findings["SS102"]) == f"after line 12: {event}"


def test_event_is_put_in_at_every_turn_of_a_loop() -> None:
    trace = race(Program(), blocks=5).end()
    finding = one(trace, "SS102")
    assert finding.properties["instances"] == 5
    case = case_of(finding)
    assert case is not None
    editable = EditableTrace(trace)
    step = next(
        step for step in candidates(case, editable) if isinstance(step, EventBetween) and step.place is Place.LATER
    )
    edits = Edits(editable)
    assert step.apply(edits)
    edited = edits.applied()
    assert int(np.count_nonzero(edited.slots["kind"] == OperationKind.EVENT_RECORD)) == 5 + 5
    assert Verification(trace).of(edited, finding).good
    assert {edited.site(int(site)).file for site in edited.slots["site"]} == {"a.cu", INSERTED}


def test_each_stream_that_uses_the_memory_is_waited_for() -> None:
    program = Program()
    program.alloc(10, 0x10000)
    program.order(11, HOME, WORK)
    program.order(14, HOME, OTHER)
    for stream in (WORK, OTHER):
        program.launch(12, 0x10000, stream)
    program.free(13, 0x10000)
    trace = program.end()
    found = [finding for finding in check_trace(trace, "a.cu").findings if finding.code == "SS102"]
    case = case_of(found[0])
    assert case is not None
    editable = EditableTrace(trace)
    use = case.first(RelatedRole.USE)
    assert use is not None
    assert [int(editable.slots["stream"][row]) for row, _ in pairs(editable, use, case.operation)] == [WORK, OTHER]
    assert all(finding.fix is not None and finding.fix.verified for finding in found)


def test_free_goes_behind_the_last_use_of_all() -> None:
    program = Program()
    program.alloc(10, 0x10000, stream=WORK)
    program.launch(12, 0x10000)
    program.free(13, 0x10000, WORK)
    program.launch(14, 0x10000)
    program.launch(15, 0x10000)
    trace = program.end()
    findings = [finding for finding in check_trace(trace, "a.cu").findings if finding.code == "SS101"]
    assert {summary(finding) for finding in findings} == {
        "move line 13 (`cudaFreeAsync`) behind line 15 (kernel `scale`)"
    }


def test_an_address_that_was_handed_out_again_is_told_apart_by_its_generation() -> None:
    program = Program("simulation")
    program.alloc(10, 0x10000, 1, stream=WORK)
    program.free(13, 0x10000, WORK, 1)
    program.alloc(16, 0x10000, 2, stream=WORK)
    program.launch(17, 0x10000, WORK, 2)
    program.launch(18, 0x10000, WORK, 1)
    program.free(19, 0x10000, WORK, 2)
    finding = one(program.end(), "SS101")
    assert summary(finding).startswith("move line 13 (`cudaFreeAsync`) behind line 18")


def test_without_generations_the_new_owner_is_not_known() -> None:
    program = Program()
    program.alloc(10, 0x10000, stream=WORK)
    program.free(13, 0x10000, WORK)
    program.alloc(16, 0x10000, stream=WORK)
    program.launch(17, 0x10000)
    editable = EditableTrace(program.end())
    free, use = (
        next(op for op in operations(editable) if op.kind is kind)
        for kind in (OperationKind.FREE, OperationKind.LAUNCH)
    )
    assert not FreeBehindUses(free, use, BLOCK).apply(Edits(editable))


def operations(trace: EditableTrace) -> list[Operation]:
    return [operation_at(trace, row) for row in np.flatnonzero(trace.starts).tolist()]


def test_dominated_waits_are_removed_together_or_not_at_all() -> None:
    program = Program()
    program.alloc(10, 0x10000, stream=WORK)
    program.launch(12, 0x10000)
    program.wait(13, WORK)
    program.wait(14, WORK)
    program.wait(15, WORK)
    program.free(16, 0x10000, WORK)
    findings = [finding for finding in check_trace(program.end(), "a.cu").findings if finding.code == "SS504"]
    assert [finding.location.line for finding in findings] == [14, 15]
    assert [summary(finding) for finding in findings] == [
        f"remove line {line} (`cudaStreamSynchronize`)" for line in (14, 15)
    ]


def test_of_a_long_trace_the_beginning_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "WHOLE", 20)
    monkeypatch.setattr(fix, "BEYOND", 10)
    finding = one(race(Program(), blocks=8).end(), "SS102")
    assert summary(finding).endswith("in the stream of the last use (tried on the first 23 operations)")


def test_where_even_the_beginning_is_long_the_fix_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "WHOLE", 10)
    monkeypatch.setattr(fix, "MOST_SLOTS_OF_ONE", 10)
    finding = one(race(Program()).end(), "SS102")
    assert finding.fix is not None
    assert not finding.fix.verified
    assert finding.no_fix == "the trace is too long to analyse its edits again"


def test_the_budget_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "MOST_SLOTS", 10)
    finding = one(race(Program()).end(), "SS102")
    assert finding.fix is not None
    assert not finding.fix.verified
    assert finding.no_fix == "the trace is too long to analyse more edits again"


def test_of_many_findings_the_gravest_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "MOST_FINDINGS", 1)
    program = race(Program())
    program.alloc(20, 0x50000)
    program.launch(21, 0x50000)
    program.free(22, 0x50000, WORK)
    findings = [each for each in check_trace(program.end(), "a.cu").findings if each.code in ("SS102", "SS103")]
    assert [each.fix is not None and each.fix.verified for each in findings] == [True, False]
    assert findings[1].no_fix.startswith("the fixes of graver findings were tried first")


def test_rearranged_keeps_continuations_with_their_operations() -> None:
    slots = np.zeros(6, SLOT)
    slots["sequence"] = [1, 2, 0, 3, 4, 0]
    slots["kind"] = [1, 64, 240, 49, 64, 240]
    extra = np.zeros(1, SLOT)
    extra["sequence"], extra["kind"] = 9, 34
    result = rearranged(slots, {1: [extra]}, {4: [extra]}, {0}, {3: 4})
    assert result["sequence"].tolist() == [9, 2, 0, 4, 0, 9, 3]
    assert rearranged(slots, {}, {}, set(), {})["sequence"].tolist() == slots["sequence"].tolist()
