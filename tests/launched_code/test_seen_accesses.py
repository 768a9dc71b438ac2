"""What was seen on the device takes the place of a launch's own references."""

from __future__ import annotations

from collections.abc import Container

import pytest

from streamsan.launched_code import seen_accesses
from streamsan.launched_code.seen_accesses import SlotsWithSeenAccesses
from streamsan.trace import Reference, Trace, TraceBuilder
from streamsan.trace.layout import REFERENCES, ROWS
from streamsan.trace.rows import Rows
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND
from streamsan.trace.store import MemorySlots, Slots
from streamsan.vocabulary import AccessMode, OperationKind, SeenAccesses, SlotFlag

BASE = 0x7F0000000000
STREAM = 0x55
BOTH = AccessMode.READ_WRITE


def trace_of(own: list[Reference], seen: list[Reference], detail: SeenAccesses) -> Trace:
    """Return a trace with one launch, of which something was seen."""
    builder = TraceBuilder("seen.sst", origin="recording")
    thread = builder.thread(0, "main")
    builder.append(OperationKind.LAUNCH, thread=thread, stream=STREAM, references=own)
    launch = builder.operations
    builder.append(OperationKind.LAUNCH_ACCESSES, thread=thread, object=launch, detail=detail, references=seen)
    return builder.finish()


def launched(trace: Trace, talkers: Container[int] = ()) -> list[tuple[int, int, int]]:
    """Return address, size and mode byte of the references of the trace's launch."""
    found: list[tuple[int, int, int]] = []
    for chunk in SlotsWithSeenAccesses(trace.slots, 1000, talkers).chunks(1000, 0):
        inside = False
        for slot in chunk:
            kind = int(slot["kind"])
            if kind < FIRST_CONTINUATION_KIND:
                inside = kind == OperationKind.LAUNCH
                if inside and int(slot["address"]):
                    mask = AccessMode.READ_WRITE | SlotFlag.ATOMIC | SlotFlag.TOUCHES
                    found.append((int(slot["address"]), int(slot["size"]), int(slot["flags"]) & mask))
            elif inside and kind == OperationKind.REFERENCES:
                pair = slot.view(REFERENCES)
                names = ("first", "second")[: int(pair["count"])]
                found += [tuple(int(pair[f"{name}_{part}"]) for part in ("address", "size", "mode")) for name in names]
    return found


def reference(offset: int, size: int = 0, mode: AccessMode = AccessMode.OPAQUE, rows: Rows | None = None) -> Reference:
    return Reference(BASE + offset, size, 0, mode, 0, rows)


def test_what_was_seen_replaces_the_own_references() -> None:
    seen = [reference(64, 128, AccessMode.WRITE), reference(4096, 8, AccessMode.READ)]
    trace = trace_of([reference(0), reference(4096), reference(8192)], seen, SeenAccesses.ALL)
    assert launched(trace) == [(BASE + 64, 128, AccessMode.WRITE), (BASE + 4096, 8, AccessMode.READ)]


def test_beside_them_where_not_all_was_seen() -> None:
    trace = trace_of([reference(0)], [reference(64, 128, AccessMode.WRITE)], SeenAccesses.SOME)
    assert launched(trace) == [(BASE, 0, 0), (BASE + 64, 128, AccessMode.WRITE)]


def test_a_kernel_that_touched_nothing_has_no_references() -> None:
    assert launched(trace_of([reference(0)], [], SeenAccesses.ALL)) == []


def test_a_mode_that_was_not_told_is_that_of_the_own_reference() -> None:
    own = [reference(0, mode=AccessMode.READ), reference(64, mode=AccessMode.WRITE), reference(96, mode=BOTH)]
    trace = trace_of(own, [reference(64), reference(0), reference(96), reference(128)], SeenAccesses.ALL)
    writes, reads = AccessMode.WRITE | SlotFlag.TOUCHES, AccessMode.READ | SlotFlag.TOUCHES
    assert launched(trace) == [(BASE + 64, 0, writes), (BASE, 0, reads), (BASE + 96, 0, BOTH), (BASE + 128, 0, 0)]


def test_of_a_kernel_that_may_poll_a_word_is_no_more_known_than_its_mode() -> None:
    trace = trace_of([reference(0, mode=AccessMode.READ)], [reference(0)], SeenAccesses.ALL)
    assert launched(trace, talkers={0}) == [(BASE, 0, AccessMode.READ)]


@pytest.mark.parametrize("detail", SeenAccesses)
def test_rows_stay_with_their_reference(detail: SeenAccesses) -> None:
    tile = reference(64, 1024 + 48, AccessMode.WRITE, Rows(48, 1024, 2))
    trace = trace_of([reference(0), reference(4096)], [reference(0, 16, AccessMode.READ), tile], detail)
    (chunk,) = SlotsWithSeenAccesses(trace.slots, 1000).chunks(1000, 0)
    rows = [slot.view(ROWS) for slot in chunk if int(slot["kind"]) == OperationKind.ROWS]
    # Counted as in a launch, whose own slot has the first, if only an empty one.
    expected = 3 if detail == SeenAccesses.SOME else 2
    assert [int(row["reference"]) for row in rows[:1]] == [expected]


def test_the_report_says_of_how_many_launches() -> None:
    trace = trace_of([reference(0)], [], SeenAccesses.ALL)
    assert SlotsWithSeenAccesses(trace.slots, 1000).remarks() == ["what kernels touch was seen on the device"]
    builder = TraceBuilder("unseen.sst", origin="recording")
    builder.append(OperationKind.LAUNCH, thread=builder.thread(0, "main"), stream=STREAM, references=[reference(0)])
    assert SlotsWithSeenAccesses(builder.finish().slots, 1000).remarks() == [
        "what kernels touch was seen on the device for 0 of 1 launches"
    ]


def test_the_report_says_what_was_not_seen() -> None:
    builder = TraceBuilder("some.sst", origin="recording")
    thread = builder.thread(0, "main")
    for detail in SeenAccesses.ALL, SeenAccesses.LEARNED, SeenAccesses.LEARNED, SeenAccesses.SOME:
        builder.append(OperationKind.LAUNCH, thread=thread, stream=STREAM, references=[reference(0)])
        builder.append(OperationKind.LAUNCH_ACCESSES, thread=thread, object=builder.operations, detail=detail)
    (said,) = SlotsWithSeenAccesses(builder.finish().slots, 1000).remarks()
    assert said == (
        "what kernels touch was seen on the device for 2 of 4 launches and trusted to be the same for 2; for 1 not all "
        "of it: copies of tensors, or more than there was room for"
    )


def test_operations_are_not_cut_and_none_is_lost() -> None:
    trace = trace_of(
        [reference(0)], [reference(64 * each, 8, AccessMode.READ) for each in range(100)], SeenAccesses.ALL
    )
    slots = SlotsWithSeenAccesses(trace.slots, 1)
    chunks = list(slots.chunks(1, 0))
    assert all(int(chunk["kind"][0]) < FIRST_CONTINUATION_KIND for chunk in chunks)
    kinds = [int(kind) for chunk in chunks for kind in chunk["kind"] if kind < FIRST_CONTINUATION_KIND]
    assert kinds == [OperationKind.LAUNCH, OperationKind.LAUNCH_ACCESSES]
    assert (slots.count(), len(slots)) == (2, 1)


def test_a_damaged_number_of_slots_takes_no_other_operation() -> None:
    trace = trace_of([], [reference(64, 8, AccessMode.READ)], SeenAccesses.ALL)
    (whole,) = SlotsWithSeenAccesses(trace.slots, 1000).chunks(1000, 0)
    (damaged,) = (chunk.copy() for chunk in trace.slots.chunks(1000, 0))
    damaged["more"][damaged["kind"] < FIRST_CONTINUATION_KIND] = 255
    (slots,) = SlotsWithSeenAccesses(MemorySlots(damaged), 1000).chunks(1000, 0)
    assert slots["kind"].tolist() == whole["kind"].tolist()
    assert (slots["object"] == whole["object"]).all()


def test_a_storm_of_launches_is_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = TraceBuilder("storm.sst", origin="recording")
    thread = builder.thread(0, "main")
    for number in range(240):
        # Of every third the device told no mode: it is that of the launch's own reference.
        mode = AccessMode.OPAQUE if number % 3 == 0 else AccessMode.READ
        own = [reference(0, mode=AccessMode.WRITE)] * (1 + number % 2)
        builder.append(OperationKind.LAUNCH, thread=thread, stream=STREAM, references=own)
        builder.append(
            OperationKind.LAUNCH_ACCESSES,
            thread=thread,
            object=builder.operations,
            detail=SeenAccesses.ALL,
            references=[reference(0, 8, mode), reference(64 * (number % 5), 8, AccessMode.READ)],
        )
    asked = 0
    once = seen_accesses._with_seen

    def counted(launch: Slots, is_all: bool, seen: Slots, may_poll: bool) -> tuple[Slots, bool]:
        nonlocal asked
        asked += 1
        return once(launch, is_all, seen, may_poll)

    monkeypatch.setattr(seen_accesses, "_with_seen", counted)
    found = launched(builder.finish())
    assert asked == 10  # those without a mode: two numbers of own references, five of what was seen
    assert len(found) == 480
    assert found[:4] == [
        (BASE, 8, AccessMode.WRITE | SlotFlag.TOUCHES),
        (BASE, 8, AccessMode.READ),
        (BASE, 8, AccessMode.READ),
        (BASE + 64, 8, AccessMode.READ),
    ]


def test_which_words_a_kernel_polls_stays_known() -> None:
    polled = Reference(BASE + 512, 0, 0, AccessMode.OPAQUE, SlotFlag.ATOMIC)
    trace = trace_of([reference(0), polled], [reference(64, 8, AccessMode.READ)], SeenAccesses.ALL)
    assert launched(trace) == [(BASE + 64, 8, AccessMode.READ), (BASE + 512, 0, SlotFlag.ATOMIC)]
