"""The types of CUDA and CUPTI that the recorder declares itself, compared with the real headers where they are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from host_compiler import COMPILER
from sanitized_programs import NATIVE
from streamsan.platforms import CUDA

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


@pytest.mark.parametrize("name", ["cuda_abi", "cuda_activity_abi", "cuda_memory_abi"])
@pytest.mark.skipif(not FOLDERS or COMPILER is None, reason="no CUDA headers, or no compiler")
def test_our_types_are_those_of_the_headers(name: str, tmp_path: Path) -> None:
    assert COMPILER
    includes = [f"-I{folder}" for folder in (NATIVE, *FOLDERS)]
    source = NATIVE / f"recorder/tests/{name}.cpp"
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", *includes, str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr[:4000]


def _sanitizer_folders() -> list[Path]:
    """Return the folders that have the headers of the Sanitizer API and those that these include."""
    for home in _candidates():
        folders = [home / "compute-sanitizer/include", home / "include"]
        if (folders[0] / "sanitizer.h").is_file():
            return folders
    return []


@pytest.mark.skipif(
    not _sanitizer_folders() or COMPILER is None, reason="no headers of the Sanitizer API, or no compiler"
)
def test_our_types_are_those_of_the_sanitizer_api(tmp_path: Path) -> None:
    assert COMPILER
    includes = [f"-I{folder}" for folder in (NATIVE, *_sanitizer_folders())]
    source = NATIVE / "recorder/tests/sanitizer_abi.cpp"
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", *includes, str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr[:4000]


@pytest.mark.skipif(not _sanitizer_folders(), reason="no headers of the Sanitizer API")
def test_the_sanitizer_api_has_the_numbers_of_cupti() -> None:
    numbers = json.loads((CUDA.folder / "callbacks.json").read_text())
    for domain in ("driver", "runtime"):
        header = (_sanitizer_folders()[0] / f"sanitizer_{domain}_cbid.h").read_text()
        told = dict(re.findall(rf"SANITIZER_CBID_{domain.upper()}_API_(cu\w+)\s*=\s*(\d+)", header))
        plain = {re.sub(r"_v\d{4,5}$", "", name): number[0] for name, number in numbers[domain].items()}
        same = {name: number for name, number in plain.items() if name in told}
        assert len(same) > 300
        assert same == {name: int(told[name]) for name in same}


@pytest.mark.skipif(COMPILER is None, reason="no compiler")
def test_the_types_need_no_cuda_headers() -> None:
    assert COMPILER
    header = (NATIVE / "recorder/cuda/abi.hpp").read_text(encoding="utf-8")
    included = [line for line in header.splitlines() if line.startswith("#include")]
    assert included == ["#include <cstddef>", "#include <cstdint>"]
