"""A trace for ui.perfetto.dev: tracks of threads, streams and memory, flows between them, counters, and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from streamsan.exports.exported_run import ExportedRun
from streamsan.exports.memory_rows import alive, rows_of
from streamsan.exports.nested_calls import nested_calls
from streamsan.findings.finding import Finding
from streamsan.timeline.drawn_edges import REASON_WORDS, EdgeReason
from streamsan.timeline.lanes import Lane, LaneKind
from streamsan.timeline.timeline import Timeline
from streamsan.vocabulary import MemoryKind

PLACE, SUFFIX = "file", ".pftrace"

_TICK = 1000
"""ns that an operation has in a trace without times"""
_DETAILS = ("operation", "status", "reason", "bytes", "address", "kind", "allocated", "message", "place")
"""what is said of events, by names that are numbered from 1"""
_AT_ONCE = 20_000
"""packets that are written together"""
_EVENT: Any = proto.TrackEvent
_PACKET: Any = proto.TracePacket
_DESCRIPTOR: Any = proto.TrackDescriptor


def export(runs: Sequence[ExportedRun], place: str) -> None:
    """Write all runs into one file, by their clocks where all have one. Raises OSError."""
    known = [run.timeline.began for run in runs]
    first = min(known, default=0)
    with open(place, "wb") as file:
        writer = _Writer(file)
        for number, run in enumerate(runs):
            later = run.timeline.began - first if all(known) else 0
            _Export(run, number + 1, later, writer).write()
        writer.flush()


class _Writer:
    """Writes packets, many together."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._trace: Any = proto.Trace()
        self.tracks = 0
        self.processes = 0

    def packet(self) -> Any:
        if len(self._trace.packet) >= _AT_ONCE:
            self.flush()
        return self._trace.packet.add()

    def flush(self) -> None:
        # A file of one message in parts is the parts of the file behind each other.
        self._file.write(self._trace.SerializeToString())
        self._trace = proto.Trace()

    def new_track(self) -> int:
        self.tracks += 1
        return self.tracks

    def new_process(self) -> int:
        self.processes += 1
        return self.processes


class _Export:
    """Writes one run as a sequence of packets of its own, for names are numbered in each sequence."""

    def __init__(self, run: ExportedRun, number: int, later: int, writer: _Writer) -> None:
        self._run = run
        self._timeline = run.timeline
        self._number = number
        self._writer = writer
        self._later = later
        self._flows = number << 40  # unique in the file
        timeline = self._timeline
        if timeline.timed:
            self._begin = timeline.time + np.uint64(later)
            self._duration = timeline.duration
        else:
            self._begin = np.arange(timeline.operations, dtype=np.uint64) * np.uint64(_TICK)
            self._duration = np.full(timeline.operations, _TICK // 2, np.uint64)
        self._processes = self._process_tracks()

    def write(self) -> None:
        lanes = [self._lane_track(lane) for lane in self._timeline.lanes]
        self._names()
        self._operations(lanes)
        self._memory()
        self._findings()

    # Tracks

    def _process_tracks(self) -> dict[int, int]:
        """Write the processes of the run; return the track of each. The first one says what the run is."""
        timeline = self._timeline
        ranks = {lane.process: lane.rank for lane in timeline.lanes} or {0: -1}
        tracks: dict[int, int] = {}
        for process, rank in sorted(ranks.items()):
            tracks[process] = self._writer.new_track()
            descriptor = self._writer.packet().track_descriptor
            descriptor.uuid = tracks[process]
            descriptor.process.pid = self._writer.new_process()
            descriptor.process.process_name = timeline.title
            if len(ranks) > 1:
                whose = f"process {process}" if rank < 0 else f"rank {rank}"
                descriptor.process.process_name = f"{timeline.title}: {whose}"
            if len(tracks) == 1:
                what = f"recorded by streamsan ({timeline.origin}, {timeline.platform})"
                descriptor.description = "; ".join([what, *timeline.notes])
        return tracks

    def _lane_track(self, lane: Lane) -> int:
        name = f"{lane.kind.value}: {lane.name}" if lane.kind is LaneKind.GRAPH else lane.name
        return self._track(name, self._processes[lane.process], _DESCRIPTOR.SIBLING_MERGE_BEHAVIOR_NONE)

    def _track(self, name: str, parent: int, alike: int = _DESCRIPTOR.SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME) -> int:
        """Write a track; `alike` says whether those of one parent that have the same name are drawn as one."""
        uuid = self._writer.new_track()
        descriptor = self._writer.packet().track_descriptor
        descriptor.uuid, descriptor.parent_uuid, descriptor.name = uuid, parent, name
        descriptor.sibling_merge_behavior = alike
        return uuid

    # Events

    def _names(self) -> None:
        packet = self._writer.packet()
        packet.trusted_packet_sequence_id = self._number
        packet.sequence_flags = _PACKET.SEQ_INCREMENTAL_STATE_CLEARED
        for number, name in enumerate(_DETAILS):
            packet.interned_data.debug_annotation_names.add(iid=number + 1, name=name)
        for number, call in enumerate(self._timeline.calls):
            packet.interned_data.event_names.add(iid=number + 1, name=call.name)
            if call.line:
                packet.interned_data.source_locations.add(
                    iid=number + 1, file_name=call.file, function_name=call.function, line_number=call.line
                )

    def _event(self, moment: int, track: int, kind: int) -> Any:
        packet = self._writer.packet()
        packet.timestamp = moment
        packet.trusted_packet_sequence_id = self._number
        packet.sequence_flags = _PACKET.SEQ_NEEDS_INCREMENTAL_STATE
        event = packet.track_event
        event.track_uuid, event.type = track, kind
        return event

    def _operations(self, lanes: Sequence[int]) -> None:
        """Write each call on the thread that made it, and what it asks of a stream there, where it was issued.

        When the device began or ended it is known from recordings with times only: else it is an instant.
        """
        timeline = self._timeline
        leading, coming = self._flows_of()
        has_line = [call.line > 0 for call in timeline.calls]
        columns = (timeline.lane, timeline.issuer, timeline.call, timeline.sequence, timeline.status)
        lane_of, issuer_of, call_of, sequence_of, status_of = (column.tolist() for column in columns)
        for index, begins, moment in nested_calls(timeline.issuer, self._begin, self._duration):
            lane, issuer, call = lane_of[index], issuer_of[index], call_of[index]
            if not begins:
                self._event(moment, lanes[issuer], _EVENT.TYPE_SLICE_END)
                continue
            called = self._event(moment, lanes[issuer], _EVENT.TYPE_SLICE_BEGIN)
            told = [called]
            if lane != issuer:
                told.append(self._work(index, moment, lanes[lane]))
            for event in told:
                event.name_iid = call + 1
                if has_line[call]:
                    event.source_location_iid = call + 1
                event.debug_annotations.add(name_iid=_detail("operation"), uint_value=sequence_of[index])
            if status_of[index] > 0:
                called.debug_annotations.add(name_iid=_detail("status"), int_value=status_of[index])
            stands = told[-1]
            stands.flow_ids.extend(leading.get(index, ()))
            if index in coming:
                flows, reasons = coming[index]
                stands.terminating_flow_ids.extend(flows)
                stands.debug_annotations.add(name_iid=_detail("reason"), string_value=", ".join(dict.fromkeys(reasons)))

    def _work(self, index: int, called: int, track: int) -> Any:
        """Write what an operation asks of a stream; return its event, which stands where it began or was called."""
        took = int(self._timeline.ran_for[index])
        if not took:
            return self._event(called, track, _EVENT.TYPE_INSTANT)
        began = int(self._timeline.ran_at[index]) + self._later
        self._event(began + took, track, _EVENT.TYPE_SLICE_END)
        return self._event(began, track, _EVENT.TYPE_SLICE_BEGIN)

    def _flows_of(self) -> tuple[dict[int, list[int]], dict[int, tuple[list[int], list[str]]]]:
        """Return by operation the edges that lead away from it, and those that lead to it with their reasons."""
        leading: dict[int, list[int]] = {}
        coming: dict[int, tuple[list[int], list[str]]] = {}
        edges = self._timeline.edges
        rows = zip(*(column.tolist() for column in (edges.source, edges.target, edges.reason)), strict=True)
        for flow, (source, target, reason) in enumerate(rows, self._flows):
            leading.setdefault(source, []).append(flow)
            flows, reasons = coming.setdefault(target, ([], []))
            flows.append(flow)
            reasons.append(REASON_WORDS[EdgeReason(reason)])
        return leading, coming

    # Memory

    def _memory(self) -> None:
        """Write allocations as slices, on as many tracks as are alive at once, and how much there is as counters."""
        timeline, bars = self._timeline, self._timeline.memory
        if not len(bars.begin):
            return
        last = int((self._begin + self._duration).max())
        begin = self._begin[bars.begin]
        end = np.where(bars.end >= 0, self._begin[np.maximum(bars.end, 0)], np.uint64(last))
        end = np.maximum(end, begin)
        process = np.array([lane.process for lane in timeline.lanes])[timeline.issuer[bars.begin]]
        for whose, parent in self._processes.items():
            for pool, name in enumerate(bars.pools):
                own = np.flatnonzero((bars.pool == pool) & (process == whose))
                if len(own):
                    self._pool(name, parent, own, begin[own], end[own])

    def _pool(
        self, name: str, parent: int, bars: NDArray[np.int64], begin: NDArray[np.uint64], end: NDArray[np.uint64]
    ) -> None:
        timeline, memory = self._timeline, self._timeline.memory
        group = self._track(f"memory: {name}", parent)
        self._counter(f"{name} (bytes)", group, *alive(begin, end, memory.size[bars]))
        tracks: list[int] = []
        rows = zip(bars.tolist(), begin.tolist(), end.tolist(), rows_of(begin, end), strict=True)
        for index, first, last, row in rows:
            if row == len(tracks):
                tracks.append(self._track(f"{name}: allocations", group))
            call = timeline.calls[int(timeline.call[memory.begin[index]])]
            event = self._event(first, tracks[row], _EVENT.TYPE_SLICE_BEGIN)
            event.name = call.memory or f"{int(memory.size[index]):,} bytes"
            event.debug_annotations.add(name_iid=_detail("bytes"), uint_value=int(memory.size[index]))
            event.debug_annotations.add(name_iid=_detail("address"), pointer_value=int(memory.address[index]))
            event.debug_annotations.add(name_iid=_detail("kind"), string_value=_kind(int(memory.kind[index])))
            event.debug_annotations.add(name_iid=_detail("allocated"), string_value=f"{call.file}:{call.line}")
            self._event(last, tracks[row], _EVENT.TYPE_SLICE_END)

    def _counter(self, name: str, parent: int, moments: NDArray[np.uint64], values: NDArray[np.int64]) -> None:
        uuid = self._writer.new_track()
        descriptor = self._writer.packet().track_descriptor
        descriptor.uuid, descriptor.parent_uuid, descriptor.name = uuid, parent, name
        descriptor.counter.unit = proto.CounterDescriptor.UNIT_SIZE_BYTES
        for moment, value in zip(moments.tolist(), values.tolist(), strict=True):
            self._event(moment, uuid, _EVENT.TYPE_COUNTER).counter_value = value

    # Findings

    def _findings(self) -> None:
        """Write each finding where its scene shows it, else at the first operation of its line, else at the begin."""
        timeline = self._timeline
        if not timeline.operations:
            return
        first = _first_at_lines(timeline)
        tracks: dict[int, int] = {}
        for finding in self._run.findings:
            place = _place_of(finding, first)
            process = timeline.lanes[int(timeline.issuer[place])].process
            if process not in tracks:
                tracks[process] = self._track("findings", self._processes[process])
            event = self._event(int(self._begin[place]), tracks[process], _EVENT.TYPE_INSTANT)
            event.name = f"{finding.code} {finding.severity.value}"
            event.debug_annotations.add(name_iid=_detail("message"), string_value=finding.headline)
            event.debug_annotations.add(
                name_iid=_detail("place"), string_value=f"{finding.location.file}:{finding.location.line}"
            )


def _first_at_lines(timeline: Timeline) -> dict[tuple[str, int], int]:
    """Return the first operation of each line that makes calls."""
    found: dict[tuple[str, int], int] = {}
    numbers, places = np.unique(timeline.call, return_index=True)
    for number, place in sorted(zip(numbers.tolist(), places.tolist(), strict=True), key=lambda each: each[1]):
        if number >= 0:
            call = timeline.calls[number]
            found.setdefault((call.file, call.line), place)
    return found


def _place_of(finding: Finding, first: Mapping[tuple[str, int], int]) -> int:
    if finding.scene is not None:
        for operation in finding.scene.operations:
            if operation.role == "reported" and operation.place >= 0:
                return operation.place
    return first.get((finding.location.file, finding.location.line), 0)


def _detail(name: str) -> int:
    return _DETAILS.index(name) + 1


def _kind(number: int) -> str:
    return MemoryKind(number).name.lower().replace("_", " ")
