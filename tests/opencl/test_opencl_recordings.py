"""Programs of C on PoCL under `streamsan run`: wrong ones are reported at their line, right ones are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_device import Ran
from opencl_runtime import OpenclMachine, expected, program_names
from streamsan.launched_code.program_kernels import given_numbers
from streamsan.recorder.opencl_layer import LAYERS
from streamsan.trace import reader
from streamsan.trace.launch_shapes import LaunchShape

QUICK = {
    "svm_free_wrong",
    "enqueue_after_release_wrong",
    "release_twice_wrong",
    "unordered_queue_wrong",
    "kernels_on_two_queues_wrong",
}
"""Each starts a process or two: the others are marked deep."""


def _programs() -> list[object]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.deep) for name in program_names()]


@pytest.mark.parametrize("name", _programs())
def test_what_a_program_expects_is_found(name: str, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran = opencl_machine.run(tmp_path, [opencl_machine.programs, name])
    marks = expected(name)
    assert (ran.loud, marks.notes - ran.notes) == (marks.loud, set()), ran.report["findings"]
    if name.endswith("_right"):
        assert (ran.status, ran.problems) == (0, [])


@pytest.mark.deep
def test_right_programs_are_silent_and_do_the_same_as_alone(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    alone = opencl_machine.alone("all_right")
    ran = opencl_machine.run(tmp_path, [opencl_machine.programs, "all_right"])
    assert (ran.status, ran.output) == (alone.returncode, alone.stdout) == (0, alone.stdout)
    assert (ran.loud, ran.problems) == (set(), []), ran.report["findings"]


def test_a_release_too_many_is_not_given_to_the_runtime(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran = opencl_machine.run(tmp_path, [opencl_machine.programs, "release_twice_wrong"])
    assert (ran.status, ran.output) == (0, "second release: -38\n")


def recorded_code(machine: OpenclMachine, folder: Path, *options: str) -> tuple[list[str], str]:
    """Record two kernels; return the files of the folder with code, and what is said of kernels."""
    command = [machine.programs, "kernels_on_two_queues_right"]
    ran = machine.run(folder, command, "-o", str(folder / "run.sst"), *options)
    code = folder / "run.code"
    (said,) = (each["message"] for each in ran.report["summary"]["problems"] if "kernels" in each["message"])
    return sorted(file.name for file in code.iterdir()) if code.is_dir() else [], said


def test_the_text_of_kernels_lies_beside_the_trace(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    files, said = recorded_code(opencl_machine, tmp_path)
    assert said == "what kernels read and write was read from the programs' text of 1 kernel"
    (file,) = files
    options, _, text = (tmp_path / "run.code" / file).read_bytes().partition(b"\0")
    assert (file[32:], options) == (".cl", b"-cl-kernel-arg-info")
    assert text.startswith(b"__kernel void add(")


@pytest.mark.parametrize("option", ["--no-code", "--redact"])
def test_no_text_is_kept_where_none_is_wanted(option: str, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    files, said = recorded_code(opencl_machine, tmp_path, option)
    assert files == []
    assert said.endswith(f"for 0 of 2 launches, not for the others: their code was not kept ({option})")


def test_layers_of_the_user_stay_and_ours_is_outermost(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    command = ["sh", "-c", f'echo "${LAYERS}"']
    ran = opencl_machine.run(tmp_path, command, environment={LAYERS: "/opt/a.so:/opt/b.so"}, checked=False)
    first, second, own = ran.output.strip().split(":")
    assert (first, second, Path(own).name) == ("/opt/a.so", "/opt/b.so", "libstreamsan_opencl.so")


def test_a_program_that_only_asks_leaves_nothing(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran = opencl_machine.run(tmp_path, [opencl_machine.programs, "no_such_program"], "-o", "run.sst", checked=False)
    assert (ran.status, "used neither CUDA nor OpenCL" in ran.errors) == (7, True)
    assert list(tmp_path.iterdir()) == []


def recorded_shapes(machine: OpenclMachine, folder: Path, name: str, *options: str) -> tuple[Ran, list[LaunchShape]]:
    """Record a program; return its report, and what its kernels were launched with."""
    ran = machine.run(folder, [machine.programs, name], "-o", str(folder / "run.sst"), *options)
    return ran, list(reader.read(str(folder / "run.sst")).launch_shapes)[1:]


def test_kernels_on_halves_of_a_buffer_are_not_even_noted(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran, shapes = recorded_shapes(opencl_machine, tmp_path, "kernels_with_numbers_on_halves_right")
    assert "SS109" not in {code for _, code in ran.loud | ran.notes}
    assert [given_numbers(shape) for shape in shapes] == [
        {1: (4, 0), 2: (4, 512)},
        {1: (4, 512), 2: (4, 512)},
    ]
    assert {(shape.grid, shape.block) for shape in shapes} == {((1024, 1, 1), (0, 0, 0))}


@pytest.mark.deep
def test_a_redacted_trace_has_no_numbers(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    _, shapes = recorded_shapes(opencl_machine, tmp_path, "kernels_with_numbers_on_halves_right", "--redact")
    assert [dict(given_numbers(shape)) for shape in shapes] == [{}, {}]


@pytest.mark.deep
def test_numbers_that_are_others_each_time_are_left_out_in_time(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    ran, shapes = recorded_shapes(opencl_machine, tmp_path, "kernels_with_many_numbers_right")
    assert ran.loud == set()
    assert len(shapes) == 65
    assert given_numbers(shapes[-1]) == {2: (4, 1)}
