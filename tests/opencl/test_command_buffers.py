"""A program with a command buffer, on runtimes that have them: what its commands use is known at each enqueue."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from opencl_runtime import OpenclMachine, compile_program

SOURCE = Path(__file__).with_name("command_buffer.c")


def expected(wrong: str) -> set[tuple[int, str]]:
    lines = enumerate(SOURCE.read_text().splitlines(), 1)
    marks = ((number, re.search(r"expect of (.*): (SS\d+)", line)) for number, line in lines)
    return {(number, mark[2]) for number, mark in marks if mark is not None and wrong in mark[1].split(", ")}


@pytest.fixture(scope="session")
def program(opencl_machine: OpenclMachine, tmp_path_factory: pytest.TempPathFactory) -> tuple[OpenclMachine, str]:
    """Return a machine whose runtime has command buffers, and the program for it."""
    machines = [opencl_machine]
    if any(Path("/etc/OpenCL/vendors").glob("*.icd")):
        machines.append(replace(opencl_machine, home="", loader=Path("libOpenCL.so.1")))
    for machine in machines:
        output = str(tmp_path_factory.mktemp("buffers") / "program")
        compile_program(machine, SOURCE, output)
        if subprocess.run([output], env=machine.environment(), capture_output=True).returncode == 0:
            return machine, output
    pytest.skip("no runtime with cl_khr_command_buffer")


@pytest.mark.deep
@pytest.mark.parametrize("wrong", ["", "argument", "copy", "kernel"])
def test_what_a_command_buffer_uses_is_known(wrong: str, program: tuple[OpenclMachine, str], tmp_path: Path) -> None:
    machine, binary = program
    ran = machine.run(tmp_path, [binary, wrong])
    assert ran.loud == expected(wrong), ran.report["findings"]
    assert ran.status == 0
    if wrong != "argument":
        assert ran.output == "0 3\n"
