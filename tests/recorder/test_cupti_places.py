"""Where libcupti is looked for: in what the user chose, never beside or above a program of somebody else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamsan.recorder import cupti_places
from streamsan.recorder.cupti_places import cupti_places as places


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))


def wheel(prefix: Path) -> str:
    folder = prefix / "lib" / "python3.11" / "site-packages" / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    (folder / "libcupti.so.13").touch()
    return str(folder)


def toolkit(home: Path) -> str:
    folder = home / "extras" / "CUPTI" / "lib64"
    folder.mkdir(parents=True)
    (folder / "libcupti.so").touch()
    return str(folder)


def program(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["proj/app", "bin/app", "app", "bin/python-tool", "proj/python3"])
def test_nothing_beside_or_above_a_program(name: str, tmp_path: Path) -> None:
    for prefix in (tmp_path, tmp_path / "proj", tmp_path / "bin"):
        wheel(prefix)
    assert places(program(tmp_path / name), {}) == []


def test_an_interpreter_has_its_packages(tmp_path: Path) -> None:
    found = wheel(tmp_path / "env")
    python = program(tmp_path / "env" / "bin" / "python3.11")
    assert places(python, {}) == []  # a file of that name alone is no environment
    program(tmp_path / "env" / "pyvenv.cfg")
    assert places(python, {}) == [found]
    script = program(tmp_path / "env" / "bin" / "torchrun", f"#!{python}\nimport torch\n")
    assert places(script, {}) == [found]
    assert places(program(tmp_path / "else" / "run", f"#!{python} -u\n"), {}) == [found]
    assert places(program(tmp_path / "else" / "relative", "#!env/bin/python3.11\n"), {}) == []


def test_what_the_environment_says_in_its_order(tmp_path: Path) -> None:
    active, home = wheel(tmp_path / "active"), toolkit(tmp_path / "cuda")
    environment = {
        b"CUDA_HOME": bytes(tmp_path / "cuda"),
        b"VIRTUAL_ENV": bytes(tmp_path / "active"),
    }
    assert places(program(tmp_path / "proj" / "app"), environment) == [active, home]


def test_the_tools_own_packages_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, home = wheel(tmp_path / "own"), toolkit(tmp_path / "cuda")
    monkeypatch.setattr(cupti_places.sys, "prefix", str(tmp_path / "own"))
    assert places(program(tmp_path / "app"), {b"CUDA_PATH": bytes(tmp_path / "cuda")}) == [home, own]
