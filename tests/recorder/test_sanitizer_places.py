"""Where the Sanitizer API is looked for: in what the user chose, then where toolkits are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamsan.recorder.sanitizer_places import LIBRARY, sanitizer_places


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))


def library(folder: Path) -> str:
    folder.mkdir(parents=True)
    (folder / LIBRARY).touch()
    return str(folder / LIBRARY)


@pytest.mark.parametrize("folder", ["cu13/compute-sanitizer", "cu13/lib", "cuda_sanitizer_api/lib"])
def test_the_package_of_each_version(folder: str, tmp_path: Path) -> None:
    found = library(tmp_path / "env/lib/python3.11/site-packages/nvidia" / folder)
    places = sanitizer_places("program", {b"VIRTUAL_ENV": str(tmp_path / "env").encode()}, tmp_path / "root")
    assert places == [found]


def test_toolkits_best_first(tmp_path: Path) -> None:
    newest, chosen = (
        library(tmp_path / "root/usr/local/cuda-13.0/compute-sanitizer"),
        library(tmp_path / "cuda/compute-sanitizer"),
    )
    older = library(tmp_path / "root/usr/local/cuda-12.9/compute-sanitizer")
    environment = {b"CUDA_HOME": str(tmp_path / "cuda").encode()}
    assert sanitizer_places("program", environment, tmp_path / "root") == [chosen, newest, older]
    assert sanitizer_places("program", {}, tmp_path / "none") == []


def test_beside_the_tool(tmp_path: Path) -> None:
    found = library(tmp_path / "tools")
    tool = tmp_path / "tools/compute-sanitizer"
    tool.touch()
    tool.chmod(0o755)
    assert sanitizer_places("program", {b"PATH": str(tmp_path / "tools").encode()}, tmp_path / "none") == [found]
