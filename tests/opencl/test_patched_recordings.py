"""Programs of pyopencl that `streamsan run --fix` patched from their recording: recorded again, they are silent."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from opencl_pairs import FOLDER
from opencl_runtime import OpenclMachine

PATCHED = {
    "ss109_marker_kept": "shift(self.queue, values.shape, None, data, np.int32(7), wait_for=[done])",
    "ss109_sub_buffers": "low.flush()\n",
    "ss109_image_passes": "wait_for=[blurred, inverted], **region)",
    "ss103_view_uploaded_early": "wait_for=[mapped])",
    "ss102_svm_tree": "self.queue.finish()\n        tree.release()",
    "ss101_view_uploaded_late": "view)  # expect: SS101\n    view.base.release(queue)",
    "ss109_graph_ooo": "self.queue.finish()\n        evt = self.mm(",
}
"""program -> what stands in it then"""
AT_ONCE = "ss109_sub_buffers"

pytestmark = pytest.mark.skipif(importlib.util.find_spec("pyopencl") is None, reason="pyopencl is not installed")


@pytest.mark.parametrize(
    "name", [name if name == AT_ONCE else pytest.param(name, marks=pytest.mark.deep) for name in PATCHED]
)
def test_a_patched_program_is_silent(name: str, opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    program = Path(shutil.copy(FOLDER / "recorded" / f"{name}.wrong.py", tmp_path / "program.py"))
    command = [sys.executable, "program.py"]
    first = opencl_machine.run(tmp_path, command, "--notes", "--fix")
    assert "the program was not run again" in first.errors
    assert PATCHED[name] in program.read_text()
    again = opencl_machine.run(tmp_path, command)
    found = {finding["code"] for finding in again.report["findings"]}
    assert (again.status, again.loud, name[:5].upper() in found) == (0, set(), False), again.errors
