"""Many traces, one report: a cause is told once, with in how many traces, runs and ranks it was found."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from checking.fleets import InProcess, checked_by, fleet_traces, same
from streamsan.analysis.inputs import analyse_path
from streamsan.checking.gathered_traces import GatheredTraces
from streamsan.cli import main
from streamsan.findings.spread import InRun, Spread
from streamsan.trace import TraceBuilder
from streamsan.trace.references import Reference
from streamsan.trace.writer import write
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind

TRACES, STEPS = 24, 3
RANKS = TRACES // len(fleet_traces.RUNS)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    fleet_traces.make(folder, TRACES, STEPS)
    return folder


def expected_runs(mistake: str) -> dict[str, list[int]]:
    """Return the ranks by run that make a mistake."""
    found: dict[str, list[int]] = {}
    for run in fleet_traces.RUNS:
        for rank in range(RANKS):
            if mistake in fleet_traces.mistakes_of(rank, RANKS, run):
                found.setdefault(run, []).append(rank)
    return found


def ranks_of(run: dict[str, Any]) -> list[int]:
    return [rank for first, last in run["ranks"] for rank in range(first, last + 1)]


def test_each_mistake_is_one_finding_with_where_it_was_found(fleet: Path) -> None:
    report, _ = checked_by(fleet, None)
    loud = {each["code"]: each for each in report["findings"] if each["severity"] != "note"}
    assert sorted(loud) == sorted(fleet_traces.CODES.values())
    for mistake in fleet_traces.MISTAKES:
        finding, runs = loud[fleet_traces.CODES[mistake]], expected_runs(mistake)
        traces = finding["traces"]
        assert (traces["found"], traces["checked"]) == (sum(map(len, runs.values())), TRACES)
        assert {each["run"]: ranks_of(each) for each in traces["runs"]} == runs
        assert {each["run"]: each["traces"] for each in traces["runs"]} == {run: len(runs[run]) for run in runs}
        assert finding["ranks"] == sorted({rank for ranks in runs.values() for rank in ranks})
        first, ranks = next(iter(runs.items()))
        assert traces["shown"] == str(fleet / first / f"rank-{ranks[0]:04}.sst")
    assert report["summary"]["files"] == TRACES
    assert len(report["summary"]["problems"]) == len({each["message"] for each in report["summary"]["problems"]})


@pytest.mark.parametrize("seed", range(4))
def test_who_is_faster_changes_nothing(seed: int, fleet: Path) -> None:
    assert same(checked_by(fleet, InProcess(seed))[0], checked_by(fleet, None)[0])


def test_what_is_kept_does_not_grow_with_how_often_it_is_found(fleet: Path) -> None:
    paths = [str(fleet / "b" / f"rank-{rank:04}.sst") for rank in range(RANKS)]
    results = [analyse_path(path) for path in paths]
    together = GatheredTraces(["a"] * 4000)

    def add(first: int, end: int) -> int:
        for number in range(first, end):
            result = results[number % RANKS]
            together.add(number, replace(result, path=f"{number}.sst"))
        return len(pickle.dumps(together))

    few, found = add(0, 400), together.found()
    many = add(400, 4000)
    assert together.found() == found
    assert many - few < 3600  # less than a byte for each trace
    assert together.checked().findings[0].spread == Spread(4000, 4000, "0.sst", (InRun("a", 4000, ((0, RANKS - 1),)),))


def test_people_are_told_where_and_which_one_is_shown(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(fleet)]) == 1
    out = capsys.readouterr().out
    assert f"(in {TRACES - 2} of {TRACES} traces: ranks 0-{RANKS - 1}, runs a, b, c, d)\n" in out
    assert f"= trace: {fleet}/a/rank-0001.sst (the others are like it)\n" in out
    assert f"(in 1 of {TRACES} traces: rank {RANKS - 1}, run c)\n" in out
    assert f"= trace: {fleet}/c/rank-{RANKS - 1:04}.sst\n" in out
    assert f" in {TRACES} files, " in out


def test_one_trace_is_as_it_was(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(fleet / "b" / "rank-0000.sst"), "--format", "json"]) == 1
    assert {each["traces"] is None for each in json.loads(capsys.readouterr().out)["findings"]} == {True}


def test_runs_of_one_folder_have_no_names(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(fleet / "b"), "--select", "SS102"]) == 1
    assert f"(in {RANKS} of {RANKS} traces: ranks 0-{RANKS - 1})\n" in capsys.readouterr().out


def test_of_many_runs_the_first_are_named() -> None:
    runs = tuple(InRun(f"job{number}", 1) for number in range(10))
    spread = Spread(10, 12, "job0/run.sst", runs)
    named = "job0, job1, job2, job3, job4, job5, job6, job7"
    assert spread.words(()) == f"in 10 of 12 traces: runs {named} and 2 more"


def _without_sites(path: Path) -> None:
    """Write the trace of a program without call sites that frees memory twice."""
    builder = TraceBuilder("app", origin="recording")
    thread = builder.thread(0, "main")
    block = Reference(0x7000_0000, 4096, 1, AccessMode.WRITE)
    builder.append(OperationKind.ALLOC, thread=thread, api="cudaMalloc", references=[block], detail=MemoryKind.PLAIN)
    for status in (0, 1):
        builder.append(
            OperationKind.FREE,
            thread=thread,
            api="cudaFree",
            references=[block],
            detail=FreeClass.DEVICE,
            status=status,
        )
    write(builder.finish(), path)


def test_of_calls_without_a_line_the_words_are_the_cause(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        _without_sites(tmp_path / f"{name}.sst")
    report, _ = checked_by(tmp_path, None)
    (finding,) = (each for each in report["findings"] if each["code"] == "SS201")
    assert finding["traces"]["found"] == 3
    assert finding["location"]["file"] == finding["traces"]["shown"] == str(tmp_path / "one.sst")


def test_a_report_that_is_made_of_a_json_report_says_where_as_well(fleet: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "findings.json", tmp_path / "again.json"
    assert main(["check", str(fleet), "--format", "json", "--report", str(first)]) == 1
    assert main(["report", str(first), "--format", "json", "-o", str(second)]) == 0
    written, again = (json.loads(file.read_text())["findings"] for file in (first, second))
    assert [each["traces"] for each in again] == [each["traces"] for each in written]
