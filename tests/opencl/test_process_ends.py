"""Programs of OpenCL that end in unusual ways: they do the same when they are recorded, and leave a trace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opencl_runtime import OpenclMachine, compile_program
from streamsan.trace import family

SOURCE = Path(__file__).with_name("process_ends.c")


@pytest.fixture(scope="session")
def ends(opencl_machine: OpenclMachine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the binary."""
    output = str(tmp_path_factory.mktemp("ends") / "program")
    compile_program(opencl_machine, SOURCE, output)
    return output


@pytest.mark.deep
@pytest.mark.parametrize("way", ["forked", "threads", "callback", "handler"])
def test_a_program_ends_as_it_does_alone(way: str, ends: str, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    environment = opencl_machine.environment()
    alone = subprocess.run([ends, way], env=environment, capture_output=True, text=True, timeout=60)
    ran = opencl_machine.run(tmp_path, [ends, way], "-o", "run.sst")
    assert (ran.status, ran.output) == (alone.returncode, alone.stdout)
    assert ran.loud == set(), ran.report["findings"]
    trace = family.read(str(tmp_path / "run.sst"))
    assert trace.operations > 5
    assert trace.complete, trace.problems
