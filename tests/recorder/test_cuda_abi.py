"""The types of CUDA and CUPTI that the recorder declares itself, compared with the real headers where they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from trace_writer_driver import COMPILER, NATIVE

HEADERS = ("cuda.h", "cupti.h")


def _candidates() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield Path(home)
    if compiler := shutil.which("nvcc"):
        yield Path(compiler).resolve().parents[1]
    yield from sorted(Path("/usr/local").glob("cuda*"), reverse=True)


def _include_folders() -> list[Path]:
    """Return the folders that have the headers: the toolkit's, and where older toolkits keep CUPTI's."""
    for home in _candidates():
        folders = [home / "include", home / "extras/CUPTI/include"]
        if all(any((folder / header).is_file() for folder in folders) for header in HEADERS):
            return folders
    return []


FOLDERS = _include_folders()


@pytest.mark.parametrize("name", ["cuda_abi", "cuda_memory_abi"])
@pytest.mark.skipif(not FOLDERS or COMPILER is None, reason="no CUDA headers, or no compiler")
def test_our_types_are_those_of_the_headers(name: str, tmp_path: Path) -> None:
    assert COMPILER
    includes = [f"-I{folder}" for folder in (NATIVE, *FOLDERS)]
    source = NATIVE / f"recorder/tests/{name}.cpp"
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", *includes, str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr[:4000]


@pytest.mark.skipif(COMPILER is None, reason="no compiler")
def test_the_types_need_no_cuda_headers() -> None:
    assert COMPILER
    header = (NATIVE / "recorder/cuda/abi.hpp").read_text(encoding="utf-8")
    included = [line for line in header.splitlines() if line.startswith("#include")]
    assert included == ["#include <cstddef>", "#include <cstdint>"]
