"""What a default run of `streamsan sim` fails for stands in its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forked import streamsan

PRELUDE = """\
import numpy as np
from cuda.bindings import runtime

def ok(result):
    status, *rest = result
    assert int(status) == 0, status
    return rest[0] if rest else None

"""
LOOP = """
words = np.arange(1024, dtype=np.float32)
for step in range(20):
    data = ok(runtime.cudaMalloc(4096))
    ok(runtime.cudaMemcpy(data, words, 4096, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice))
    ok(runtime.cudaFree(data))
"""
BEYOND = """
data = ok(runtime.cudaMallocHost(4096))
stream = ok(runtime.cudaStreamCreate())
ok(runtime.cudaMemsetAsync(data, 0, 4096, stream))
ok(runtime.cudaFreeHost(data))
runtime.cudaStreamSynchronize(stream)
"""


@pytest.mark.parametrize("schedule", ["0", "1", "2", "3", "lazy"])
def test_a_loop_of_allocation_copy_and_free_runs_to_its_end(schedule: str, tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(PRELUDE + LOOP)
    result = streamsan(tmp_path, "sim", "--schedule", schedule, "loop.py")
    assert result.returncode == 0, result.stderr
    assert "error 700" not in result.stderr


def test_a_fault_stands_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "beyond.py").write_text(PRELUDE + BEYOND)
    streamsan(tmp_path, "sim", "--schedule", "lazy", "--report", "report.txt", "beyond.py")
    report = (tmp_path / "report.txt").read_text()
    assert "work on the device failed: beyond.py:12: a fill of " in report
    assert "(error 700)" in report
    streamsan(tmp_path, "sim", "--schedule", "lazy", "--format", "json", "--report", "report.json", "beyond.py")
    messages = [each["message"] for each in json.loads((tmp_path / "report.json").read_text())["summary"]["problems"]]
    assert any("(error 700)" in message for message in messages)
