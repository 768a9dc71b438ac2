"""Workers that die, clusters that are lost, Ctrl-C: what was checked is reported, and what was not is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checking.fleets import InProcess, checked_by, fleet_traces, same
from streamsan.analysis.checked import Checked
from streamsan.analysis.inputs import analyse_path
from streamsan.checking.engines.lost_workers import MOST_DEATHS, outcomes
from streamsan.checking.engines.worker_engine import ClusterLostError, WorkerLost
from streamsan.cli import main

TRACES = 8


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    fleet_traces.make(folder, TRACES, 2)
    return folder


@pytest.mark.parametrize("deaths", range(MOST_DEATHS))
def test_what_a_dead_worker_had_is_tried_again(deaths: int, fleet: Path) -> None:
    engine = InProcess(deaths={"a/rank-0001.sst": deaths, "d/rank-0000.sst": deaths})
    report, _ = checked_by(fleet, engine)
    assert same(report, checked_by(fleet, None)[0])


def test_who_kills_each_worker_is_named_and_the_rest_is_whole(fleet: Path, tmp_path: Path) -> None:
    report, checked = checked_by(fleet, InProcess(deaths={"b/rank-0001.sst": MOST_DEATHS}))
    (problem,) = checked.unreadable
    assert problem.file == str(fleet / "b" / "rank-0001.sst")
    assert problem.message == ("not checked: 3 processes that checked it ended, the last one was ended by a test")
    assert report["summary"]["files"] == TRACES - 1
    assert checked.unread.unchecked == frozenset()


def test_the_last_try_has_nothing_beside_it() -> None:
    engine = InProcess(deaths={"1": MOST_DEATHS, "4": MOST_DEATHS - 1})
    found = dict(outcomes(engine, str.upper, ["a1", "b", "c4"]))
    assert found == {"a1": WorkerLost("was ended by a test", MOST_DEATHS), "b": "B", "c4": "C4"}
    assert [sorted(batch) for batch in engine.batches] == [["a1", "b", "c4"], ["a1", "c4"], ["a1"], ["c4"]]


@dataclass
class Ends:
    """An engine that ends after so many outcomes."""

    after: int
    error: BaseException

    def outcomes(self, task: Callable[[str], Any], paths: Sequence[str]) -> Iterator[tuple[str, Any]]:
        yield from ((path, task(path)) for path in paths[: self.after])
        raise self.error


def test_what_was_checked_before_a_cluster_was_lost_is_reported(fleet: Path) -> None:
    report, checked = checked_by(fleet, Ends(5, ClusterLostError("the scheduler is gone")))
    assert [problem.message for problem in checked.unreadable] == ["the scheduler is gone: 5 of 8 inputs were checked"]
    assert not checked.interrupted
    assert report["summary"]["files"] == 5
    assert len(report["summary"]["unread"]["inputs_not_checked"]) == 3
    assert {each["traces"]["checked"] for each in report["findings"]} == {5}


def _interrupted_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let Ctrl-C come while the input with this number, from 0, is checked."""
    begun = iter(range(TRACES))

    def analysed(*given: Any) -> Checked:
        if next(begun) == number:
            raise KeyboardInterrupt
        return analyse_path(*given)

    monkeypatch.setattr("streamsan.checking.every_input.analyse_path", analysed)


def test_what_was_checked_before_ctrl_c_is_reported_as_a_part(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _interrupted_at(monkeypatch, 3)
    assert main(["check", str(fleet), "--jobs", "1", "--format", "json"]) == 130
    said = capsys.readouterr()
    assert said.err == "streamsan: interrupted: 3 of 8 inputs were checked\n"
    summary = json.loads(said.out)["summary"]
    assert (summary["files"], len(summary["unread"]["inputs_not_checked"])) == (3, 5)


def test_the_counts_say_that_it_is_a_part(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _interrupted_at(monkeypatch, 7)
    assert main(["check", str(fleet), "--jobs", "1"]) == 130
    assert " operations; 1 input not checked\n" in capsys.readouterr().out


def test_ctrl_c_before_anything_was_checked_is_one_line(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _interrupted_at(monkeypatch, 0)
    assert main(["check", str(fleet), "--jobs", "1"]) == 130
    said = capsys.readouterr()
    assert (said.out, said.err.strip()) == ("", "streamsan: interrupted")
