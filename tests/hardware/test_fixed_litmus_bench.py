"""What bench/fixed_litmus.py says of fixed programs beside their right twins. The programs here are scripts."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"
Compared = Callable[..., int]
BLOCK = 'echo "plain 64 0a" > $OBSERVED; echo "end cudaSuccess" >> $OBSERVED'
OTHER = 'echo "plain 64 0b" > $OBSERVED; echo "end cudaSuccess" >> $OBSERVED'
VARIES = 'echo "plain 64 0$DELAYS" > $OBSERVED; echo "end cudaSuccess" >> $OBSERVED'


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCH))
    module = importlib.import_module("fixed_litmus")
    monkeypatch.setattr(module, "require_device", lambda: None)
    monkeypatch.setattr(module, "card", lambda: "this machine")
    yield module
    for name in set(sys.modules) - known:
        if name.startswith("fixed_"):
            del sys.modules[name]


@pytest.fixture
def compared(bench: ModuleType, tmp_path: Path) -> Compared:
    """Returns the status of a comparison of what `pair` made; options as on the command line."""

    def run(**given: str | float) -> int:
        pairs = [bench.Pair(path.stem, "SS109", "an edit") for path in sorted(tmp_path.glob("fixed/*.cu"))]
        (tmp_path / bench.MANIFEST).write_text(json.dumps([asdict(pair) for pair in pairs]), encoding="utf-8")
        options = {"names": [], "jobs": 2, "within": 100.0, "known": "", "verdicts": "", "report": "", "compile": False}
        return int(bench.compare(argparse.Namespace(**{**options, **given}), tmp_path))

    return run


def pair(folder: Path, name: str, **bodies: str) -> None:
    """Make the programs of a pair, which note down that they ran."""
    for variant, body in bodies.items():
        program = folder / variant / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {variant} {name} >> {folder}/ran\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
        program.with_suffix(".cu").write_text(body, encoding="utf-8")


def runs(folder: Path) -> list[str]:
    """Return what ran since the last call, sorted."""
    ran = folder / "ran"
    lines = sorted(ran.read_text(encoding="utf-8").splitlines()) if ran.exists() else []
    ran.unlink(missing_ok=True)
    return lines


def test_a_fixed_program_that_does_what_the_right_one_does(
    compared: Compared, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair(tmp_path, "one", fixed=BLOCK, right=BLOCK, wrong=OTHER)
    assert compared() == 0
    output = capsys.readouterr().out
    assert "| one | SS109 | differs | as the right twin | 1 blocks | this machine |" in output
    assert output.endswith("1 of 1 fixed programs do what their right twins do\n")
    assert runs(tmp_path) == ["fixed one", "fixed one", "right one", "wrong one"]


def test_a_right_program_runs_again_only_where_the_fixed_one_differs(
    compared: Compared, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair(tmp_path, "other", fixed=OTHER, right=BLOCK)
    pair(tmp_path, "varies", fixed=OTHER, right=VARIES)
    assert compared() == 1
    output = capsys.readouterr().out
    assert "memory in 2 of 2 runs: ['plain 64 0b'] instead of ['plain 64 0a']" in output
    assert "| varies | SS109 | not run | as the right twin | status only | this machine |" in output
    assert runs(tmp_path).count("right other") == 3


def test_work_that_the_right_twin_alone_does_is_not_compared(
    compared: Compared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = {"other": {"memory": "why"}, "varies": {"memory": "why"}}
    monkeypatch.setattr(sys.modules["fixed_litmus_runs"], "other_work", lambda: table)
    pair(tmp_path, "other", fixed=OTHER, right=BLOCK)
    pair(tmp_path, "varies", fixed=VARIES, right=BLOCK)
    assert compared() == 1
    output = capsys.readouterr().out
    assert "| other | SS109 | not run | as the right twin |" in output
    assert "memory varies" in output


def test_what_was_judged_is_judged_again_only_with_another_program(
    compared: Compared, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair(tmp_path, "one", fixed=BLOCK, right=BLOCK)
    pair(tmp_path, "two", fixed=BLOCK, right=BLOCK)
    verdicts = str(tmp_path / "verdicts.jsonl")
    assert compared(verdicts=verdicts) == 0
    runs(tmp_path)
    pair(tmp_path, "two", fixed=OTHER, right=OTHER)
    assert compared(known=verdicts, verdicts=verdicts) == 0
    assert runs(tmp_path) == ["fixed two", "fixed two", "right two"]
    assert capsys.readouterr().out.endswith("2 of 2 fixed programs do what their right twins do\n")


def test_without_time_nothing_is_judged(compared: Compared, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair(tmp_path, "one", fixed=BLOCK, right=BLOCK)
    verdicts = tmp_path / "verdicts.jsonl"
    assert compared(within=0.0, verdicts=str(verdicts)) == 0
    assert "not judged: 1: one\n" in capsys.readouterr().out
    assert not verdicts.read_text(encoding="utf-8")


def test_the_kept_verdicts_and_the_table_name_litmus_programs(bench: ModuleType) -> None:
    names = {path.name.split(".")[0] for folder in bench.FOLDERS for path in folder.glob("*.wrong.cu")}
    kept = bench.read_verdicts(BENCH / "fixed_litmus_verdicts.jsonl")
    assert {each.pair for each in kept} | set(sys.modules["fixed_litmus_runs"].other_work()) <= names
    assert all(each.is_right for each in kept)
