"""The programs are real: each compiles, but those whose point is that they do not.

Slow (a compiler run each), so only with STREAMSAN_COMPILE_LITMUS=1 and an nvcc.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PROGRAMS = [
    path
    for place in (FOLDER, FOLDER / "recorded", FOLDER.parents[1] / "examples")
    for path in sorted(place.glob("*.cu"))
] + sorted(FOLDER.glob("programs/*/*.c*"))
NVCC = shutil.which("nvcc")

pytestmark = [
    pytest.mark.skipif(os.environ.get("STREAMSAN_COMPILE_LITMUS") != "1", reason="STREAMSAN_COMPILE_LITMUS is not 1"),
    pytest.mark.skipif(NVCC is None, reason="no nvcc"),
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_compiles(path: Path, tmp_path: Path) -> None:
    assert NVCC is not None
    command = [NVCC, "-arch=sm_90", "-c", "-o", str(tmp_path / "program.o"), str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    malformed = path.name.startswith("ss602") and path.name.endswith(".wrong.cu")
    assert (result.returncode != 0) == malformed, result.stdout + result.stderr
