"""A program that is recorded while it is watched: an OpenCL pipeline on PoCL, which needs no GPU."""

from __future__ import annotations

import io
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from streamsan.recorder.run_files import run_files
from streamsan.watching.rechecks import Rechecks, start_check
from streamsan.watching.watched_program import WatchedProgram
from streamsan.watching.watched_run import WatchedRun

pytestmark = pytest.mark.deep  # a program is built for the device, recorded, and checked twice

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline_cl.py"


def test_a_run_is_followed_from_its_first_operation_to_its_report(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    trace = tmp_path / "a.sst"
    program = WatchedProgram(["run", "-o", str(trace), "--", sys.executable, str(EXAMPLE)], str(tmp_path))
    rechecks = Rechecks(time.monotonic, partial(start_check, ["--ignore=SS5"]))
    run = WatchedRun(program, lambda: [file.path for file in run_files(str(trace))], rechecks)
    try:
        while not program.is_over:
            run.look()
        run.look()
        while rechecks.checked != run.live.operations:
            run.look()
        assert [each.code for each in run.findings] == ["SS109"]
        output, errors = io.BytesIO(), io.BytesIO()
        assert program.forward(output, errors) == 0
    finally:
        program.end()
        rechecks.stop()
    report = errors.getvalue().decode()
    assert "error[SS109]" in report
    assert f"{run.live.operations} operations" in report
    assert sorted(row.cells[0][:8] for row in run.stream_rows()) == ["queue 0x"] * 2
    assert {row.cells[0] for row in run.memory_rows()} >= {"all cl-buffer", "pipeline_cl.py:22 clCreateBuffer"}
    assert "pipeline_cl.py:31 clWaitForEvents" in {row.cells[0] for row in run.wait_rows()}
