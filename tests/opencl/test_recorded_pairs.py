"""OpenCL programs in pairs, recorded on PoCL: wrong ones are reported at their line, right ones are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import pair_name
from fake_device import Ran
from opencl_pairs import FOLDER, marks, missing, programs, reasons, recorded
from opencl_runtime import OpenclMachine

QUICK = {"ss109_two_queues", "ss109_sub_buffers"}
"""a pair in C and one in Python: each program is a process or two, the others are marked deep"""


def _programs(kind: str) -> list[object]:
    shown = [path for path in programs(kind) if kind == "right" or pair_name(path) not in reasons("unseen")]
    return [
        pytest.param(path, id=pair_name(path), marks=[] if pair_name(path) in QUICK else [pytest.mark.deep])
        for path in shown
    ]


def run(machine: OpenclMachine, path: Path, folder: Path) -> Ran:
    if what := missing(path):
        pytest.skip(f"there is no {what}")
    return recorded(machine, path, folder)


def test_programs_come_in_pairs() -> None:
    names = [pair_name(path) for path in programs("wrong")]
    assert names == [pair_name(path) for path in programs("right")]
    assert {*reasons("unseen"), *reasons("unread"), *reasons("aborts"), *reasons("chance")} <= set(names)
    assert len(set(names) - set(reasons("unseen"))) >= 50


def test_every_wrong_program_expects_a_finding_and_no_right_one_does() -> None:
    assert [path.name for path in programs("wrong") if not marks(path).loud | marks(path).notes] == []
    assert [path.name for path in programs("right") if marks(path).loud | marks(path).notes] == []


@pytest.mark.parametrize("path", _programs("wrong"))
def test_a_wrong_program_is_reported_at_its_line(path: Path, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    # How it ends is the runtime's: a mistake may crash it, also after it was recorded.
    ran = run(opencl_machine, path, tmp_path)
    expected = marks(path)
    if pair_name(path) in reasons("chance"):
        assert ran.loud <= expected.loud
        return
    assert (ran.loud, expected.notes - ran.notes) == (expected.loud, set()), ran.report.get("findings")


@pytest.mark.parametrize("path", _programs("right"))
def test_a_right_program_is_silent(path: Path, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran = run(opencl_machine, path, tmp_path)
    assert ran.loud == set(), ran.errors
    if pair_name(path) in reasons("aborts"):
        return
    assert ran.status == 0, ran.errors
    if path.parent != FOLDER:
        assert ran.output.splitlines()[-1:] == ["ok"]
