"""What `--fix` writes compiles. Slow, so only with STREAMSAN_COMPILE_LITMUS=1 and an nvcc."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from streamsan.cli import main

LITMUS = Path(__file__).parents[1] / "litmus"
ORDERING = ("ss101", "ss102", "ss103", "ss104", "ss106", "ss107", "ss108", "ss109", "ss303", "ss304", "ss503", "ss504")
WRONG = [path for path in sorted(LITMUS.glob("*.wrong.cu")) if path.name.startswith(ORDERING)]
NVCC = shutil.which("nvcc")

pytestmark = [
    pytest.mark.skipif(os.environ.get("STREAMSAN_COMPILE_LITMUS") != "1", reason="STREAMSAN_COMPILE_LITMUS is not 1"),
    pytest.mark.skipif(NVCC is None, reason="no nvcc"),
]


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.name.split(".")[0])
def test_fixed_program_compiles(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    main(["check", "--fix", str(copy)])
    assert NVCC is not None
    command = [NVCC, "-arch=sm_90", "-c", "-o", str(tmp_path / "program.o"), str(copy)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
