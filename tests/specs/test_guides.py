"""Runs docs/guides: each command that a guide shows prints what the guide shows, in a copy of the examples."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from opencl_runtime import OpenclMachine
from shown_commands import ROOT, Shown, shown_in

GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def as_a_reader(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Results are remembered, as they are for a reader: in a folder of the test's own."""
    own = {name: value for name, value in environment.items() if name != "STREAMSAN_NO_CACHE"}
    return own | {"XDG_CACHE_HOME": str(folder / "cache")}


def shown(guide: Path) -> list[Shown]:
    return shown_in(guide.read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_commands_print_what_the_guide_shows(guide: Path, folder: Path) -> None:
    environment = as_a_reader(folder, os.environ)
    for each in shown(guide):
        if "pocl" not in each.words:
            assert each.run(folder, environment) == (each.status, each.output or [])


@pytest.mark.deep
@pytest.mark.parametrize("guide", [guide for guide in GUIDES if any("pocl" in each.words for each in shown(guide))])
def test_what_is_recorded_on_pocl(guide: Path, folder: Path, opencl_machine: OpenclMachine) -> None:
    (folder / "libOpenCL.so").symlink_to(opencl_machine.loader)
    own = {"CPATH": str(opencl_machine.folder), "LIBRARY_PATH": str(folder)}
    environment = opencl_machine.environment(**own, LD_LIBRARY_PATH=str(opencl_machine.loader.parent))
    for each in shown(guide):
        if "pocl" in each.words:
            assert each.run(folder, environment) == (each.status, each.output or [])


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_no_block_of_a_guide_is_left_out(guide: Path) -> None:
    blocks = FENCE.findall(guide.read_text(encoding="utf-8"))
    tried = shown(guide)
    assert blocks == [
        text for each in tried for text in (each.commands, "".join(f"{row}\n" for row in each.output or ()))
    ]


def test_each_program_is_in_a_guide_and_each_wrong_one_has_a_right_twin() -> None:
    named = "".join(each.commands for guide in GUIDES for each in shown(guide))
    programs = {path.name for path in (ROOT / "examples" / "questions").iterdir()}
    assert {name for name in programs if name not in named} == set()
    assert {name.replace(".wrong.", ".right.") for name in programs if ".wrong." in name} <= programs
