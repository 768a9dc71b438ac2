"""What is generated from the tables: the Python half is up to date, the C++ half compiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streamsan.generate.__main__ import HEADERS, write_headers

ROOT = Path(__file__).resolve().parents[2]


def test_generated_files_are_up_to_date() -> None:
    command = [sys.executable, "-m", "streamsan.generate", "--check"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_headers_compile_without_warnings(tmp_path: Path) -> None:
    write_headers(tmp_path / "generated")
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "generated/{name}"\n' for name in HEADERS), encoding="utf-8")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only"]
    folders = ["-I", str(tmp_path), "-I", str(ROOT / "native")]
    done = subprocess.run(["c++", *flags, *folders, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
