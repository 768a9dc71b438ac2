"""The folder with machine code that `streamsan run` makes beside a trace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fake_device import FakeDevice
from streamsan.recorder.code_folder import make_code_folder, remove_images
from streamsan.trace import Trace
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.reader import read
from streamsan.trace.view import iterate
from streamsan.vocabulary import OperationKind

PROGRAM = "use_after_free_right"
IMAGE = "0123456789abcdef" * 2 + ".cubin"


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def record(device: FakeDevice, folder: Path, *options: str, code: bool = True) -> None:
    environment = {"FAKE_CODE": "1"} if code else {}
    command = [str(device.folder / "bin" / "programs"), PROGRAM]
    ran = device.run(folder, command, "-o", "run.sst", "--no-check", *options, environment=environment, checked=False)
    assert (ran.status, ran.errors) == (0, "")


def launched(trace: Trace) -> list[LaunchShape]:
    return [trace.launch_shapes[view.shape] for view in iterate(trace) if view.kind is OperationKind.LAUNCH]


def test_the_code_of_kernels_lies_beside_the_trace(fake_device: FakeDevice, tmp_path: Path) -> None:
    record(fake_device, tmp_path)
    trace = read(tmp_path / "run.sst")
    assert trace.metadata["code"] == "run.code"
    assert "code_left_out" not in trace.metadata
    ((name,),) = {shape.code for shape in launched(trace)}
    assert files(tmp_path / "run.code") == [f"{name}.cubin"]
    assert (tmp_path / "run.code").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("option", ["--no-code", "--redact"])
def test_an_option_leaves_it_out_and_what_an_earlier_run_left_goes(
    option: str, fake_device: FakeDevice, tmp_path: Path
) -> None:
    record(fake_device, tmp_path)
    record(fake_device, tmp_path, option)
    trace = read(tmp_path / "run.sst")
    assert "code" not in trace.metadata
    assert trace.metadata["code_left_out"] == option
    assert files(tmp_path) == ["run.sst"]
    values = {shape.arguments != b"" for shape in launched(trace)}
    assert values == {option == "--no-code"}


def test_a_program_without_code_leaves_no_folder(fake_device: FakeDevice, tmp_path: Path) -> None:
    record(fake_device, tmp_path, code=False)
    assert files(tmp_path) == ["run.sst"]


def test_what_is_in_the_way_is_left_alone(fake_device: FakeDevice, tmp_path: Path) -> None:
    (tmp_path / "run.code").write_text("notes")
    record(fake_device, tmp_path)
    assert (tmp_path / "run.code").read_text() == "notes"
    assert read(tmp_path / "run.sst").metadata["code_left_out"] == "run.code is in the way"


def test_only_images_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run.code"
    folder.mkdir()
    for name in (IMAGE, IMAGE + ".4711.part", "notes.txt", "ABC.cubin"):
        (folder / name).write_text("")
    remove_images(str(folder), unfinished=True)
    assert files(folder) == sorted([IMAGE, "notes.txt", "ABC.cubin"])
    assert make_code_folder(str(folder)) == ""
    assert files(folder) == sorted(["notes.txt", "ABC.cubin"])


def test_no_link_is_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / IMAGE).write_text("")
    (tmp_path / "run.code").symlink_to(elsewhere)
    assert make_code_folder(str(tmp_path / "run.code")) == "run.code is in the way"
    assert files(elsewhere) == [IMAGE]


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "run.code"
    folder.mkdir()
    (folder / "notes.txt").write_text("")
    folder.chmod(0o777)
    assert make_code_folder(str(folder)) == "run.code is in the way"
