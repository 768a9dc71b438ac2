"""The file for Perfetto, read back by Perfetto's own messages: tracks, slices, flows, counters, findings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streamsan.cli.verbs import streamsan

proto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
pytestmark = pytest.mark.deep

TRACES = Path(__file__).parents[1] / "traces" / "pools"
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Read:
    """What stands in a file."""

    def __init__(self, path: Path) -> None:
        trace: Any = proto.Trace()
        trace.ParseFromString(path.read_bytes())
        self.tracks = {each.track_descriptor.uuid: each.track_descriptor for each in trace.packet if _is_track(each)}
        self.events = [each for each in trace.packet if each.HasField("track_event")]
        self.names: dict[tuple[int, int], str] = {}
        for packet in trace.packet:
            for name in packet.interned_data.event_names:
                self.names[packet.trusted_packet_sequence_id, name.iid] = name.name

    def name(self, packet: Any) -> str:
        event = packet.track_event
        return event.name or self.names[packet.trusted_packet_sequence_id, event.name_iid]

    def on(self, word: str) -> list[Any]:
        tracks = {uuid for uuid, track in self.tracks.items() if word in track.name}
        return [each for each in self.events if each.track_event.track_uuid in tracks]


def _is_track(packet: Any) -> bool:
    return bool(packet.HasField("track_descriptor"))


def exported(tmp_path: Path, *inputs: str) -> Read:
    place = tmp_path / "out.pftrace"
    done = CliRunner().invoke(streamsan, ["export", "--to", "perfetto", "-o", str(place), *inputs])
    assert done.exit_code == 0, done.output
    return Read(place)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Read:
    return exported(tmp_path_factory.mktemp("wrong"), str(TRACES / "ss105_bucket.wrong.sst"))


def test_every_event_is_on_a_track_and_every_track_leads_to_a_process(wrong: Read) -> None:
    for packet in wrong.events:
        track = wrong.tracks[packet.track_event.track_uuid]
        while not track.HasField("process"):
            track = wrong.tracks[track.parent_uuid]
        assert "ss105_bucket" in track.process.process_name


def test_slices_are_closed_in_order_on_each_track(wrong: Read) -> None:
    depth: Counter[int] = Counter()
    for packet in sorted(wrong.events, key=lambda each: each.timestamp):
        event = packet.track_event
        depth[event.track_uuid] += {BEGIN: 1, END: -1}.get(event.type, 0)
    assert set(depth.values()) == {0}


def test_work_stands_on_its_stream_where_the_host_issued_it(wrong: Read) -> None:
    streams = [packet for packet in wrong.on("stream") if packet.track_event.type == INSTANT]
    calls = {
        (each.timestamp, _number(each)): wrong.name(each) for each in wrong.on("host") if each.track_event.type == BEGIN
    }
    assert len(streams) > 10
    for packet in streams:
        assert calls[packet.timestamp, _number(packet)] == wrong.name(packet)


def _number(packet: Any) -> int:
    return next(int(each.uint_value) for each in packet.track_event.debug_annotations if each.uint_value)


def test_each_flow_begins_once_and_ends_once_later(wrong: Read) -> None:
    begun = {flow: each.timestamp for each in wrong.events for flow in each.track_event.flow_ids}
    ended = {flow: each.timestamp for each in wrong.events for flow in each.track_event.terminating_flow_ids}
    assert begun.keys() == ended.keys() != set()
    assert all(begun[flow] <= ended[flow] for flow in begun)


def test_memory_is_a_slice_for_each_allocation_and_a_counter(wrong: Read) -> None:
    allocations = [each for each in wrong.on("allocations") if each.track_event.type == BEGIN]
    values = [each.track_event.counter_value for each in wrong.on("(bytes)")]
    assert allocations
    assert max(values) > 0
    assert min(values) >= 0


def test_findings_have_their_message_and_place(wrong: Read) -> None:
    found = wrong.on("findings")
    assert [wrong.name(each) for each in found if "error" in wrong.name(each)] == ["SS105 error"]
    said = [note.string_value for each in found for note in each.track_event.debug_annotations]
    assert any("ss105_bucket.wrong.py:" in words for words in said)


def test_a_right_program_has_no_error(tmp_path: Path) -> None:
    read = exported(tmp_path, str(TRACES / "ss105_bucket.right.sst"))
    assert not [each for each in read.on("findings") if "note" not in read.name(each)]


def test_sources_have_no_times_and_several_inputs_are_several_processes(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "pipeline.cu"
    read = exported(tmp_path, str(example), str(TRACES / "ss105_bucket.wrong.sst"))
    assert len([track for track in read.tracks.values() if track.HasField("process")]) == 2
