"""`streamsan.sections.check`: a block of a running program, on the fake device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fake_device import SECONDS, FakeDevice, mark
from streamsan.recorder.environment import INJECTION, SETTINGS, Settings
from streamsan.recorder.preconditions import RecordingError
from streamsan.sections import present_recorder

PROGRAM = """\
import ctypes, json, sys
import streamsan.torch
cuda = ctypes.CDLL("libcudart.so.13")
def stream():
    made = ctypes.c_void_p()
    cuda.cudaStreamCreateWithFlags(ctypes.byref(made), 1)
    return made
def step(wrong):
    data = ctypes.c_void_p()
    cuda.cudaMallocAsync(ctypes.byref(data), ctypes.c_size_t(4096), main)
    cuda.cudaStreamSynchronize(main)
    cuda.cudaMemsetAsync(data, 0, ctypes.c_size_t(4096), side)
    if not wrong:
        cuda.cudaStreamSynchronize(side)
    cuda.cudaFreeAsync(data, main)  # expect: SS102
def loud(section):
    return [[each.location.line, each.code] for each in section.findings() if each.severity.value != "note"]
said = {}
if "small" in sys.argv:
    streamsan.torch.prepare(max_bytes=1 << 20)
with streamsan.torch.check() as section:
    pass
said["unused"] = [loud(section), section.report().operations]
with streamsan.torch.check(raises=False) as section:
    main, side = stream(), stream()
    step(False)
    said["so far"] = loud(section)
    step(True)
said["wrong"] = loud(section)
said["verified"] = [each.fix.verified for each in section.findings() if each.code == "SS102"]
step(True)
said["ended"] = loud(section)
with streamsan.torch.check() as section:
    step(False)
said["right"] = loud(section)
said["problems"] = [each.message for each in section.report().problems if not each.remark]
try:
    with streamsan.torch.check():
        step(True)
except AssertionError as error:
    said["message"] = str(error)
try:
    with streamsan.torch.check():
        step(True)
        raise KeyError("own")
except KeyError as error:
    said["notes"] = error.__notes__
waiting = ctypes.c_void_p()
cuda.cudaMallocAsync(ctypes.byref(waiting), ctypes.c_size_t(4096), main)
cuda.cudaStreamSynchronize(main)
cuda.cudaMemsetAsync(waiting, 0, ctypes.c_size_t(4096), side)
with streamsan.torch.check(raises=False) as section:
    cuda.cudaFreeAsync(waiting, main)
said["begun before"] = loud(section)
with streamsan.torch.check(raises=False, select=["SS4"]) as section:
    step(True)
said["not selected"] = loud(section)
if "small" in sys.argv:
    with streamsan.torch.check(raises=False) as section:
        for _ in range(6000):
            step(False)
    said["long"] = [each.message for each in section.report().problems if not each.remark]
    with streamsan.torch.check(raises=False) as section:
        step(True)
    said["after"] = [loud(section), [each.message for each in section.report().problems if not each.remark]]
print(json.dumps(said))
"""
PYTEST = """\
import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
def step(wrong):
    data, streams = ctypes.c_void_p(), [ctypes.c_void_p(), ctypes.c_void_p()]
    for each in streams:
        cuda.cudaStreamCreateWithFlags(ctypes.byref(each), 1)
    main, side = streams
    cuda.cudaMallocAsync(ctypes.byref(data), ctypes.c_size_t(4096), main)
    cuda.cudaStreamSynchronize(main)
    cuda.cudaMemsetAsync(data, 0, ctypes.c_size_t(4096), side)
    if not wrong:
        cuda.cudaStreamSynchronize(side)
    cuda.cudaFreeAsync(data, main)
#AT_IMPORT
def test_unwatched(): step(True)
def test_wrong(streamsan_check): step(True)
def test_right(streamsan_check): step(False)
def test_looks(streamsan_check):
    step(False)
    assert not [each for each in streamsan_check.findings() if each.severity.value != "note"]
def test_fails_by_itself(streamsan_check):
    step(True)
    assert False
"""


def python(device: FakeDevice, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the fake device."""
    return subprocess.run(
        [sys.executable, *words],
        env=device.environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


FREE = [line_of("expect: SS102"), "SS102"]
BEFORE = [line_of("cudaFreeAsync(waiting"), "SS102"]


def said_by(output: str) -> dict[str, Any]:
    said = json.loads(output)
    assert said["unused"] == [[], 0]
    assert (said["so far"], said["wrong"], said["ended"], said["right"]) == ([], [FREE], [FREE], [])
    assert said["verified"] == [True]
    assert said["problems"] == []
    assert "error[SS102]" in said["message"]
    assert "program.py" in said["message"]
    assert "error[SS102]" in said["notes"][0]
    assert said["begun before"] == [BEFORE]
    assert said["not selected"] == []
    return dict(said)


def test_blocks_are_judged_where_they_stand(fake_device: FakeDevice, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = python(fake_device, tmp_path, "program.py")
    assert (ran.returncode, ran.stderr) == (0, "")
    said_by(ran.stdout)


def test_under_run_the_whole_program_is_judged_as_well(fake_device: FakeDevice, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = fake_device.run(tmp_path, [sys.executable, "program.py"])
    said_by(ran.output)
    assert {mark(each) for each in ran.report["findings"] if each["code"] == "SS102"} == {tuple(FREE), tuple(BEFORE)}


def test_a_block_that_outgrows_the_recording_says_so(fake_device: FakeDevice, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = python(fake_device, tmp_path, "program.py", "small")
    assert ran.returncode == 0, ran.stderr
    said = said_by(ran.stdout)
    assert [line for line in said["long"] if "only its end was checked" in line]
    assert said["after"] == [[FREE], []]


def test_too_late_is_one_line(fake_device: FakeDevice, tmp_path: Path) -> None:
    words = "import ctypes, streamsan\nctypes.CDLL('libcuda.so.1').cuInit(0)\nwith streamsan.torch.check(): pass\n"
    ran = python(fake_device, tmp_path, "-c", words)
    assert ran.stderr.splitlines()[-1].endswith(f"RecordingError: {present_recorder.TOO_LATE}")


def test_another_tool_keeps_its_place(fake_device: FakeDevice, tmp_path: Path) -> None:
    words = "import streamsan\nstreamsan.torch.prepare()\n"
    ran = subprocess.run(
        [sys.executable, "-c", words],
        env=fake_device.environment(**{INJECTION: "/opt/nsight/libtool.so"}),
        capture_output=True,
        text=True,
    )
    assert "is set to another tool, /opt/nsight/libtool.so" in ran.stderr.splitlines()[-1]


def test_a_tool_that_has_cupti_is_named(fake_device: FakeDevice, tmp_path: Path) -> None:
    words = "import ctypes, streamsan\nwith streamsan.torch.check():\n    ctypes.CDLL('libcuda.so.1').cuInit(0)\n"
    ran = subprocess.run(
        [sys.executable, "-c", words],
        env=fake_device.environment(FAKE_CUPTI_TAKEN="kineto"),
        capture_output=True,
        text=True,
    )
    assert "another tool (kineto) uses CUPTI" in ran.stderr.splitlines()[-1]


def test_without_a_driver_there_is_no_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(present_recorder, "has_driver", lambda: False)
    monkeypatch.delenv(SETTINGS, raising=False)
    monkeypatch.delenv(INJECTION, raising=False)
    with pytest.raises(present_recorder.NoDriverError, match="no CUDA driver"):
        present_recorder.recorder_of_this_process()
    assert issubclass(present_recorder.NoDriverError, RecordingError)
    assert SETTINGS not in os.environ


def test_what_the_recorder_is_told_is_read_back() -> None:
    settings = Settings("/a\\n/b\nc.sst", "/counter", "run", "/omissions", max_bytes=7)
    assert Settings.unpacked(settings.packed(1)) == settings
    assert Settings.unpacked("\nno\n=\nmax_bytes=-1").max_bytes == 0


@pytest.mark.parametrize("early", [False, True])
def test_the_fixture_fails_tests_on_what_is_wrong(fake_device: FakeDevice, tmp_path: Path, early: bool) -> None:
    at_import = "step(True)" if early else ""
    (tmp_path / "test_inner.py").write_text(PYTEST.replace("#AT_IMPORT", at_import))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    words = ("-m", "pytest", "-q", "-rN", "-p", "no:cacheprovider", "-p", "streamsan.testing.pytest_plugin")
    options = ("--disable-plugin-autoload", *(["--streamsan-check"] if early else []))
    ran = python(fake_device, tmp_path, *words, *options)
    assert "2 failed, 3 passed" in ran.stdout, ran.stdout + ran.stderr
    assert ran.stdout.count("error[SS102]") == 2
    assert "AssertionError: streamsan found in this block" in ran.stdout


def test_the_fixture_says_why_it_cannot(fake_device: FakeDevice, tmp_path: Path) -> None:
    (tmp_path / "test_inner.py").write_text(PYTEST.replace("#AT_IMPORT", "step(True)"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    plain = ("-p", "no:cacheprovider", "-p", "streamsan.testing.pytest_plugin", "--disable-plugin-autoload")
    ran = python(fake_device, tmp_path, "-m", "pytest", "-q", *plain, "-k", "right")
    assert "streamsan: nothing is recorded: CUDA was in use" in ran.stdout
    assert "1 error" in ran.stdout
