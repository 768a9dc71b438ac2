"""The types of memory calls and launches that the recorder declares itself, compared with the real headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_cuda_abi import FOLDERS
from trace_writer_driver import COMPILER, NATIVE


@pytest.mark.skipif(not FOLDERS or COMPILER is None, reason="no CUDA headers, or no compiler")
def test_types_of_memory_calls_are_those_of_the_headers(tmp_path: Path) -> None:
    assert COMPILER
    includes = [f"-I{folder}" for folder in (NATIVE, *FOLDERS)]
    source = NATIVE / "recorder/tests/cuda_memory_abi.cpp"
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", *includes, str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr[:4000]
