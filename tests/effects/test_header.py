"""The C++ face of the table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streamsan.generate.effects_header import header_text
from streamsan.platforms import CUDA

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
#include "native/generated/effects.hpp"
namespace table = streamsan::effects;
constexpr const table::Api* api = table::find("cudaFreeAsync");
static_assert(api->effect == table::Effect::FREE && api->count == 1);
constexpr table::Version version = table::versions[api->first];
static_assert(version.count == 2 && version.least == 2);
static_assert(table::parameters[version.first + 1].handle == table::Handle::STREAM);
static_assert(!table::find("cudaFreeAsynC") && !table::find("") && !table::find("z"));
"""


def test_generated_files_are_up_to_date() -> None:
    command = [sys.executable, "-m", "streamsan.generate", "--check"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_every_api_is_in_the_header() -> None:
    text = header_text(CUDA.effects)
    for api in CUDA.effects:
        assert f'{{"{api.name}", Effect::{api.effect.name}, ' in text


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_header_compiles_without_warnings_and_finds(tmp_path: Path) -> None:
    source = tmp_path / "find.cpp"
    source.write_text(PROGRAM, encoding="utf-8")
    flags = [
        "-std=c++20",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Werror",
        "-fsyntax-only",
        "-I",
        str(ROOT),
    ]
    done = subprocess.run(["c++", *flags, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
