"""The file for Perfetto, asked of Perfetto's own trace processor: tracks, slices, flows, counters, findings."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from trace_processor import TraceProcessor, trace_processor

from forked import streamsan as run_streamsan
from opencl_runtime import OpenclMachine
from streamsan.analysis.inputs import analyse_path
from streamsan.cli.verbs import streamsan
from streamsan.evidence.proofs import Proofs
from streamsan.exports.exported_run import ExportedRun, exported_runs
from streamsan.timeline.drawn_edges import REASON_WORDS, EdgeReason
from streamsan.timeline.lanes import LaneKind

pytest.importorskip("perfetto")
pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests" / "traces"
RANKS = "pools/ss109_nccl_hook_stream.wrong.sst"
RECORDED = (
    RANKS,
    "accesses/ss109_column_tiles_grade.right.plain.sst",  # two streams `s`
    "pools/ss105_bucket.wrong.sst",  # PyTorch's pool
    "h200/ss301_captured_step.wrong.sst",  # a graph
    "h200/ss502_scratch_per_frame.wrong.sst",  # long waits
)
QUERIES = re.findall(
    r"^```sql\n(.*?)^```",
    (ROOT / "docs" / "exports.md").read_text(encoding="utf-8").partition("## Perfetto")[2].partition("## Parquet")[0],
    re.MULTILINE | re.DOTALL,
)
EVENTS = """select track.name as track, slice.name, ts, dur,
    extract_arg(slice.arg_set_id, 'debug.operation') as operation,
    extract_arg(slice.arg_set_id, 'debug.status') as status,
    extract_arg(slice.arg_set_id, 'source.file_name') as file,
    extract_arg(slice.arg_set_id, 'source.line_number') as line
    from slice join process_track track on track.id = slice.track_id"""


@dataclass(frozen=True)
class Exported:
    """What was exported, and who answers for it."""

    run: ExportedRun
    perfetto: TraceProcessor

    def calls(self) -> list[dict[str, Any]]:
        return [event for event in self.perfetto.query(EVENTS) if event["operation"] is not None]

    def lane(self, number: int) -> str:
        lane = self.run.timeline.lanes[number]
        return f"graph: {lane.name}" if lane.kind is LaneKind.GRAPH else lane.name


def export(place: Path, *inputs: str) -> Path:
    done = CliRunner().invoke(streamsan, ["export", "--to", "perfetto", "-o", str(place), *inputs])
    assert done.exit_code == 0, done.output
    return place


@pytest.fixture(scope="module", params=[*RECORDED, "source", "simulation", "pocl"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    folder = tmp_path_factory.mktemp("exported")
    trace = str(folder / "run.sst")
    if request.param == "source":
        trace = str(ROOT / "examples" / "pipeline.cu")
    elif request.param == "simulation":
        run_streamsan(ROOT, "sim", "-o", trace, "examples/pipeline.py")
    elif request.param == "pocl":
        pytest.importorskip("pyopencl")
        machine: OpenclMachine = request.getfixturevalue("opencl_machine")
        command = (sys.executable, "examples/pipeline_cl.py")
        run_streamsan(ROOT, "run", "-o", trace, "--", *command, environment=machine.environment())
    else:
        trace = str(TRACES / request.param)
    (run,) = exported_runs(analyse_path(trace, proofs=Proofs(lambda _: False, fixes=False, drawn=True)))
    with trace_processor(export(folder / "out.pftrace", trace)) as perfetto:
        yield Exported(run, perfetto)


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceProcessor]:
    place = tmp_path_factory.mktemp("ranks") / "out.pftrace"
    with trace_processor(export(place, str(TRACES / RANKS))) as perfetto:
        yield perfetto


def test_nothing_was_lost_or_misread(exported: Exported) -> None:
    losses = (
        "select name, value from stats where value > 0 and (severity in ('error', 'data_loss') or name glob 'flow*')"
    )
    assert exported.perfetto.query(losses) == []
    assert exported.perfetto.query("select id from slice where dur < 0") == []


def test_each_operation_stands_on_the_thread_that_asked_and_where_it_runs(exported: Exported) -> None:
    timeline, expected = exported.run.timeline, Counter[tuple[int, str, str]]()
    for index, sequence in enumerate(timeline.sequence.tolist()):
        for lane in {int(timeline.issuer[index]), int(timeline.lane[index])}:
            expected[sequence, exported.lane(lane), timeline.calls[timeline.call[index]].name] += 1
    assert Counter((each["operation"], each["track"], each["name"]) for each in exported.calls()) == expected


def test_lanes_of_one_name_are_tracks_of_their_own(exported: Exported) -> None:
    timeline = exported.run.timeline
    used = {*timeline.lane.tolist(), *timeline.issuer.tolist()}
    tracks = exported.perfetto.query(
        "select distinct track.id, track.name from slice join process_track track on track.id = slice.track_id"
    )
    drawn = Counter(row["name"] for row in tracks if not re.search("allocations$|^findings$", row["name"]))
    assert drawn == Counter(map(exported.lane, used))


def test_calls_begin_when_they_were_made_and_take_as_long_as_they_took(exported: Exported) -> None:
    timeline = exported.run.timeline
    hosts = {exported.lane(number) for number, lane in enumerate(timeline.lanes) if lane.kind is LaneKind.HOST}
    rows = {each["operation"]: each for each in exported.calls() if each["track"] in hosts}
    lasting = 0
    for index, sequence in enumerate(timeline.sequence.tolist()):
        row, took = rows[sequence], int(timeline.duration[index])
        if timeline.timed:
            assert row["ts"] == timeline.time[index]
            # A duration that was rounded up ends where the next call begins.
            assert took - took // 1024 - 1 <= row["dur"] <= took
            lasting += took > 0
        else:
            assert (row["ts"], row["dur"]) == (1000 * index, 500)
    assert (lasting > 0) == timeline.timed


def test_calls_say_their_line_and_what_failed(exported: Exported) -> None:
    timeline, rows = exported.run.timeline, exported.calls()
    calls = {number: timeline.calls[call] for number, call in zip(timeline.sequence, timeline.call, strict=True)}
    for row in rows:
        call = calls[row["operation"]]
        assert (row["file"], row["line"]) == ((call.file, call.line) if call.line else (None, None))
    failed = {int(timeline.sequence[index]) for index in range(timeline.operations) if timeline.status[index] > 0}
    assert {row["operation"] for row in rows if row["status"]} == failed


def test_flows_are_the_edges_with_their_reasons(exported: Exported) -> None:
    timeline, edges = exported.run.timeline, exported.run.timeline.edges
    expected = Counter(
        (int(timeline.sequence[source]), int(timeline.sequence[target]))
        for source, target in zip(edges.source, edges.target, strict=True)
    )
    flows = exported.perfetto.query(
        """select extract_arg(a.arg_set_id, 'debug.operation') as source, a.ts <= b.ts as forward,
        extract_arg(b.arg_set_id, 'debug.operation') as target, extract_arg(b.arg_set_id, 'debug.reason') as reason
        from flow join slice a on a.id = slice_out join slice b on b.id = slice_in"""
    )
    assert Counter((row["source"], row["target"]) for row in flows) == expected
    assert all(row["forward"] for row in flows)
    reasons = {REASON_WORDS[EdgeReason(reason)] for reason in edges.reason}
    assert {word for row in flows for word in row["reason"].split(", ")} == reasons


def test_memory_is_a_slice_for_each_allocation_and_a_counter_of_what_is_alive(exported: Exported) -> None:
    bars = exported.run.timeline.memory
    slices = exported.perfetto.query(
        """select track.name, extract_arg(slice.arg_set_id, 'debug.bytes') as bytes, upid, ts, ts + dur as until,
        extract_arg(slice.arg_set_id, 'debug.allocated') as place
        from slice join process_track track on track.id = slice.track_id where track.name glob '*: allocations'"""
    )
    pools = [f"{bars.pools[pool]}: allocations" for pool in bars.pool]
    assert Counter((row["name"], row["bytes"]) for row in slices) == Counter(
        zip(pools, bars.size.tolist(), strict=True)
    )
    counted = exported.perfetto.query(
        """select replace(track.name, ' (bytes)', ': allocations') as name, upid, ts, value
        from counter join process_counter_track track on track.id = track_id"""
    )
    assert counted
    for row in counted:
        alive = [each for each in slices if (each["name"], each["upid"]) == (row["name"], row["upid"])]
        assert row["value"] == sum(each["bytes"] for each in alive if each["ts"] <= row["ts"] < each["until"])


def test_findings_have_their_message_and_place(exported: Exported) -> None:
    found = exported.perfetto.query(
        """select slice.name, extract_arg(slice.arg_set_id, 'debug.message') as message,
        extract_arg(slice.arg_set_id, 'debug.place') as place
        from slice join track on track.id = slice.track_id where track.name = 'findings'"""
    )
    assert Counter((row["name"], row["message"], row["place"]) for row in found) == Counter(
        (f"{each.code} {each.severity.value}", each.headline, f"{each.location.file}:{each.location.line}")
        for each in exported.run.findings
    )


@pytest.mark.parametrize("query", QUERIES)
def test_the_queries_of_the_page_answer(two_ranks: TraceProcessor, query: str) -> None:
    assert two_ranks.query(query)


def test_each_rank_is_a_process(two_ranks: TraceProcessor) -> None:
    named = [row["name"] for row in two_ranks.query("select name from process where pid > 0 order by pid")]
    assert [name.rpartition(": ")[2] for name in named] == ["rank 0", "rank 1"]
    streams = "select upid, count(*) as n from process_track where name = 'default stream' group by upid"
    assert [row["n"] for row in two_ranks.query(streams)] == [1, 1]


def test_several_inputs_are_several_processes(tmp_path: Path) -> None:
    inputs = [str(ROOT / "examples" / "pipeline.cu"), str(TRACES / RECORDED[2])]
    with trace_processor(export(tmp_path / "out.pftrace", *inputs)) as perfetto:
        named = [row["name"] for row in perfetto.query("select name from process where pid > 0 order by pid")]
        assert named == [f"{inputs[0]}: main, path 1", inputs[1]]
        each = "select distinct upid from slice join process_track track on track.id = slice.track_id"
        assert len(perfetto.query(each)) == 2
