"""OpenCL programs that `--fix` edited, compiled and recorded: what was found is gone, and they run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opencl_pairs import FOLDER, marks, recorded
from opencl_runtime import OpenclMachine
from streamsan.cli import main

FIXED = [
    "ss102_svm_freed_pending",
    "ss109_out_of_order",
    "ss109_two_queues",
    "ss109_wrong_event",
    "recorded/ss101_dense_layers",
    "recorded/ss109_hist_archive",
    "recorded/ss109_nbody_split",
]


@pytest.mark.deep
@pytest.mark.parametrize("name", FIXED)
def test_what_was_found_is_gone_from_the_fixed_program(
    name: str, opencl_machine: OpenclMachine, tmp_path: Path
) -> None:
    shutil.copy(FOLDER / "opencl_setup.h", tmp_path)
    path = Path(shutil.copy(FOLDER / f"{name}.wrong.c", tmp_path / "program.c"))
    codes = {code for _, code in marks(path).loud} - {"SS106"}
    main(["check", "--jobs", "1", "--fix", str(path)])
    ran = recorded(opencl_machine, path, tmp_path)
    assert (ran.status, {code for _, code in ran.loud} & codes) == (0, set()), ran.errors
