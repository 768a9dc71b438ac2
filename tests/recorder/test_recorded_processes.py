"""Whole programs on the fake device, recorded by the installed recorder and checked: what is found, and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fake_device import PROGRAMS, FakeDevice, expected, mark, program_names
from streamsan.recorder.run_files import run_files, settle

# Each test records several processes from their start to their end.
pytestmark = pytest.mark.deep


def test_every_wrong_program_expects_something_and_no_right_one_does() -> None:
    names = program_names()
    assert len(names) > 20
    for name in names:
        expectations = expected(name)
        assert bool(expectations.loud or expectations.notes) == name.endswith("_wrong"), name


@pytest.mark.parametrize("name", [name for name in program_names() if name != "no_cuda_right"])
def test_a_program_is_reported_at_its_lines_and_does_not_see_it(
    name: str, fake_device: FakeDevice, tmp_path: Path
) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, name])
    expectations = expected(name)
    assert ran.loud == expectations.loud, ran.errors
    assert expectations.notes <= ran.notes
    for finding in ran.report["findings"]:
        if mark(finding) in expectations.loud | expectations.notes:
            assert Path(finding["location"]["file"]).name == PROGRAMS.name
    # What crashes cannot close its file; and the call is named in which it did.
    assert len(ran.problems) == (2 if name == "stream_destroyed_twice_wrong" else 0), ran.problems
    alone = fake_device.alone(name)
    assert (ran.status, ran.output) == (alone.returncode, alone.stdout)
    said = [line for line in ran.errors.splitlines() if not line.startswith("streamsan: ")]
    assert said == alone.stderr.splitlines()


def test_a_kept_trace_says_the_same_later_and_elsewhere(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "double_free_wrong"], "-o", "run.sst")
    again = subprocess.run(
        [sys.executable, "-m", "streamsan", "check", "--format", "json", "run.sst"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert again.returncode == 1
    document = json.loads(again.stdout)
    assert document["findings"] == ran.report["findings"]
    assert document["summary"]["operations"] == ran.report["summary"]["operations"]


def test_a_finding_names_the_kernel_and_the_callers(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "use_races_free_wrong"])
    (finding,) = (finding for finding in ran.report["findings"] if finding["code"] == "SS102")
    assert "fill" in finding["message"] + "".join(related["message"] for related in finding["related"])
    assert finding["location"]["function"].endswith("use_races_free_wrong")


def test_processes_of_one_run_are_checked_as_one(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "spawns", "double_free_wrong"], "-o", "run.sst")
    assert ran.loud == expected("double_free_wrong").loud
    files = run_files(str(tmp_path / "run.sst"))
    assert len({file.process for file in files}) == len(files) == 2
    assert ran.problems == []


def test_a_process_that_becomes_another_program_is_recorded_twice(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "execs", "double_free_wrong"], "-o", "run.sst")
    assert ran.loud == expected("double_free_wrong").loud
    assert len(run_files(str(tmp_path / "run.sst"))) == 2


def test_the_first_process_that_uses_cuda_gets_the_name(fake_device: FakeDevice, tmp_path: Path) -> None:
    script = f"{fake_device.programs} double_free_wrong; {fake_device.programs} leak_right; exit 9"
    ran = fake_device.run(tmp_path, ["sh", "-c", script], "-o", "run.sst")
    assert ran.status == 9
    assert ran.loud == expected("double_free_wrong").loud
    names = sorted(path.name for path in tmp_path.glob("*.sst"))
    assert names[-1] == "run.sst"
    assert len(names) == 2


def test_without_sites_the_same_is_found_without_lines(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "double_free_wrong"], "--no-sites")
    assert ran.loud == {(0, "SS201")}


def test_a_forked_child_without_cuda_leaves_no_file(fake_device: FakeDevice, tmp_path: Path) -> None:
    fake_device.run(tmp_path, [fake_device.programs, "fork_without_use_right"], "-o", "run.sst")
    assert [path.name for path in tmp_path.glob("*.sst*")] == ["run.sst"]


def test_what_a_killed_process_was_beginning_is_removed(tmp_path: Path) -> None:
    for name in ("run.sst.999999999.part", "run.12.sst.999999999.part", f"run.sst.{os.getpid()}.part", "run.part"):
        (tmp_path / name).touch()
    settle(str(tmp_path / "run.sst"), "a1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.part", f"run.sst.{os.getpid()}.part"]
