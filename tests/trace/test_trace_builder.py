from __future__ import annotations

import numpy as np
import pytest
from trace_samples import sample, sequences_from, slots_of, views

from streamsan.trace import Reference, Site, Thread, Trace, TraceBuilder
from streamsan.trace.layout import SLOT
from streamsan.trace.references import MOST_FURTHER_REFERENCES
from streamsan.trace.slot_fields import decode_duration, encode_duration
from streamsan.trace.store import MemorySlots
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, OperationKind, SlotFlag


def builder() -> tuple[TraceBuilder, int]:
    made = TraceBuilder("a.cu")
    return made, made.thread(0, "main")


def test_sequences_count_from_one_and_fields_arrive() -> None:
    made, thread = builder()
    site = made.site(Site("a.cu", 3, 5))
    assert made.append(OperationKind.EVENT_RECORD, thread=thread, stream=7, object=9, site=site, status=-1) == 1
    assert made.append(OperationKind.CALL, thread=thread, api="cudaGetDevice", time=5, duration=77, flags=16) == 2
    trace = made.finish()
    first, second = views(trace)
    assert (first.sequence, first.kind, first.stream, first.object, first.status) == (
        1,
        OperationKind.EVENT_RECORD,
        7,
        9,
        -1,
    )
    assert trace.site(first.site) == Site("a.cu", 3, 5)
    assert (trace.apis[second.api], second.time, second.duration, second.flags) == ("cudaGetDevice", 5, 77, 16)
    assert trace.operations == 2
    assert trace.complete
    assert trace.threads == [Thread(0, "main")]


def test_interning() -> None:
    made, _ = builder()
    assert made.site(Site("a.cu", 1)) == made.site(Site("a.cu", 1)) == 1
    assert made.site(Site("a.cu", 2, caller=1)) == 2
    assert made.api("") == 0
    assert made.api("cudaFree") == made.api("cudaFree") == 1
    assert made.thread(0, "worker") != made.thread(0, "worker")
    assert made.finish().site(0).file == ""
    assert made.finish().site(99).file == ""


def test_first_reference_is_in_the_slot_and_the_others_follow() -> None:
    made, thread = builder()
    references = [
        Reference(0x1000 * index, index, index, AccessMode(index % 4), SlotFlag.ASSUMED if index > 1 else 0)
        for index in range(1, 5)
    ]
    made.append(OperationKind.COPY, thread=thread, references=references, flags=SlotFlag.CONDITIONAL)
    slots = slots_of(made.finish())
    assert [int(kind) for kind in slots["kind"]] == [OperationKind.COPY, OperationKind.REFERENCES, 240]
    assert (int(slots["address"][0]), int(slots["size"][0]), int(slots["object"][0])) == (0x1000, 1, 1)
    assert int(slots["flags"][0]) == SlotFlag.CONDITIONAL | AccessMode.READ
    assert views(made.finish())[0].references == tuple(references)


def test_kinds_whose_object_is_a_handle_keep_it() -> None:
    made, thread = builder()
    made.append(OperationKind.HOST_FUNCTION, thread=thread, object=5, references=[Reference(64, 8, 2)])
    (view,) = views(made.finish())
    assert (view.object, view.address, view.references) == (5, 0, (Reference(64, 8, 2),))


def test_more_references_than_an_operation_holds_become_further_operations() -> None:
    made, thread = builder()
    references = [Reference(64 * index) for index in range(1, 1201)]
    assert made.append(OperationKind.LAUNCH, thread=thread, stream=3, references=references) == 1
    assert made.append(OperationKind.CALL, thread=thread) == 4
    found = views(made.finish())
    assert [len(view.references) for view in found] == [MOST_FURTHER_REFERENCES + 1] * 2 + [178, 0]
    assert [reference for view in found for reference in view.references] == references
    assert {view.stream for view in found[:3]} == {3}


@pytest.mark.parametrize(
    "wrong",
    [
        {"stream": 1 << 64},
        {"address": -1},
        {"thread": 1},
        {"thread": -1},
        {"site": 1},
        {"api": 1},
        {"status": 40000},
        {"references": [Reference(1), Reference(-1)]},
        {"references": [Reference(1), Reference(1, generation=1 << 32)]},
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(wrong: dict[str, object]) -> None:
    made, thread = builder()
    made.append(OperationKind.CALL, thread=thread)
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own text
        made.append(OperationKind.LAUNCH, **({"thread": thread} | wrong))  # type: ignore[arg-type]
    assert made.append(OperationKind.CALL, thread=thread) == 2
    assert len(slots_of(made.finish())) == 2


def test_callers_look_back() -> None:
    made, _ = builder()
    with pytest.raises(ValueError, match="caller"):
        made.site(Site("a.cu", 1, caller=1))


@pytest.mark.parametrize("size", [1, 256, 300, 100_000])
def test_chunks_are_bounded_and_cut_no_operation(size: int) -> None:
    trace = sample(2000)
    chunks = list(trace.chunks(size))
    assert max(len(chunk) for chunk in chunks) <= max(size, 256)
    assert all(chunk["kind"][0] < 240 for chunk in chunks)
    assert np.concatenate(chunks).tobytes() == np.concatenate(list(trace.chunks())).tobytes()
    assert chunks[0].dtype == SLOT


def test_an_empty_trace_has_no_chunks() -> None:
    trace = TraceBuilder("a.cu").finish()
    assert list(trace.chunks()) == []
    assert trace.operations == 0


def test_reading_from_an_operation_on() -> None:
    trace = sample(600)
    assert sequences_from(trace, 590) == list(range(590, 601))
    assert list(iterate(trace)) == views(trace)


@pytest.mark.parametrize("nanoseconds", [0, 1, 2047, 2048, 2049, 4095, 123_456_789, 10**12, 2047 << 31])
def test_durations_round_up_by_a_thousandth_at_most(nanoseconds: int) -> None:
    decoded = decode_duration(encode_duration(nanoseconds))
    assert nanoseconds <= decoded <= nanoseconds * 1025 // 1024 + 1


def test_durations_saturate() -> None:
    assert encode_duration((2047 << 31) + 1) == 0xFFFF


def test_text_continuations_and_kinds_of_a_newer_writer() -> None:
    slots = np.zeros(6, SLOT)
    slots["sequence"][[0, 4]] = 1, 2
    slots["kind"] = [200, OperationKind.TEXT, OperationKind.TEXT, 250, OperationKind.LAUNCH, OperationKind.REFERENCES]
    slots["more"][[0, 4]] = 3, 1
    raw = bytearray(slots.tobytes())
    text = "é" * 40
    raw[64 : 64 + 56], raw[120:122] = text.encode()[:56], (56).to_bytes(2, "little")
    raw[128 : 128 + 24], raw[184:186] = text.encode()[56:], (24).to_bytes(2, "little")
    raw[320:328] = (64).to_bytes(8, "little")  # but its count stays 0
    trace = Trace("a.sst", MemorySlots(np.frombuffer(bytes(raw), SLOT)))
    first, second = views(trace)
    assert (first.kind, first.text, first.references) == (200, text, ())
    assert (second.sequence, second.references) == (2, ())
