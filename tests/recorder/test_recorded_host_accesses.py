"""Accesses of the host to memory that work uses: what `--host-accesses` finds, and that a program does not see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_device import HOST_PROGRAMS, FakeDevice, expected, program_names
from streamsan.trace.reader import read
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import AccessMode, OperationKind

# Each test records processes from their start to their end.
pytestmark = pytest.mark.deep
NAMES = program_names(HOST_PROGRAMS)


def test_every_wrong_program_expects_something_and_no_right_one_does() -> None:
    assert len(NAMES) > 30
    for name in NAMES:
        expectations = expected(name, HOST_PROGRAMS)
        assert bool(expectations.loud or expectations.notes) == name.endswith("_wrong"), name


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_reported_at_its_accesses_and_does_not_see_it(
    name: str, fake_device: FakeDevice, tmp_path: Path
) -> None:
    ran = fake_device.run(tmp_path, [fake_device.host_programs, name], "--host-accesses")
    alone = fake_device.alone(name, program=fake_device.host_programs)
    assert (ran.status, ran.output) == (alone.returncode, alone.stdout), ran.errors
    assert ran.loud == expected(name, HOST_PROGRAMS).loud, ran.errors


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("_wrong")])
def test_without_the_option_the_accesses_are_not_seen(name: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.host_programs, name])
    assert "SS108" not in ran.codes


def _accesses(fake_device: FakeDevice, folder: Path, name: str) -> list[tuple[OperationView, str]]:
    fake_device.run(folder, [fake_device.host_programs, name], "--host-accesses", "-o", "run.sst", checked=False)
    trace = read(folder / "run.sst")
    return [(each, trace.site(each.site).function) for each in iterate(trace) if each.kind is OperationKind.HOST_ACCESS]


def test_an_access_has_its_thread_its_mode_and_its_function(fake_device: FakeDevice, tmp_path: Path) -> None:
    (first, own), (second, of_thread) = _accesses(fake_device, tmp_path, "thread_without_cuda_wrong")
    assert first.references[0].mode is AccessMode.WRITE
    assert own.endswith("thread_without_cuda_wrong")
    assert second.thread == first.thread + 1
    assert "operator()" in of_thread


def test_a_thread_is_one_thread_before_and_after_its_first_call(fake_device: FakeDevice, tmp_path: Path) -> None:
    accesses = _accesses(fake_device, tmp_path, "thread_begins_with_an_access_right")
    trace = read(tmp_path / "run.sst")
    main, other = (each.thread for each in iterate(trace) if each.kind is OperationKind.COPY)
    assert main != other
    assert [each.thread for each, _ in accesses] == [other, other]


def test_an_access_lies_between_the_operations_around_it(fake_device: FakeDevice, tmp_path: Path) -> None:
    fake_device.run(
        tmp_path, [fake_device.host_programs, "read_then_overwritten_wrong"], "--host-accesses", "-o", "run.sst",
        checked=False,
    )  # fmt: skip
    kinds = [each.kind for each in iterate(read(tmp_path / "run.sst"))]
    copies = [index for index, kind in enumerate(kinds) if kind is OperationKind.COPY]
    waits = [index for index, kind in enumerate(kinds) if kind is OperationKind.STREAM_SYNCHRONIZE]
    accesses = [index for index, kind in enumerate(kinds) if kind is OperationKind.HOST_ACCESS]
    assert copies[0] < waits[0] < copies[1] < accesses[0] < accesses[1] < waits[1]


def test_what_is_left_out_of_a_large_buffer_is_said(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.host_programs, "large_buffer_wrong"], "--host-accesses")
    (said,) = (each for each in ran.report["findings"] if each["code"] == "SS603")
    assert "beyond 64 MiB" in said["message"]


def test_what_is_preloaded_already_stays(fake_device: FakeDevice, tmp_path: Path) -> None:
    other = str(fake_device.folder / "lib64" / "libcudart.so.13")
    command = ["sh", "-c", 'echo "$LD_PRELOAD"']
    ran = fake_device.run(tmp_path, command, "--host-accesses", environment={"LD_PRELOAD": other}, checked=False)
    ours, _, theirs = ran.output.strip().partition(":")
    assert Path(ours).name == "libstreamsan_cuda.so"
    assert theirs == other
