"""`streamsan export`: bad inputs and places are one line and exit 2; what is missing is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamsan.cli.verbs import streamsan
from streamsan.exports.targets import TARGETS


def said(*words: str) -> str:
    done = CliRunner().invoke(streamsan, ["export", *words])
    assert done.exit_code in (1, 2)
    assert len(done.output.strip().splitlines()) <= 4
    return done.output


def test_both_targets_are_listed() -> None:
    assert TARGETS == ("parquet", "perfetto")


@pytest.mark.parametrize("name", TARGETS)
def test_a_missing_library_is_named_with_the_extra_that_has_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("perfetto", "pyarrow"):
        for module in [each for each in sys.modules if each.split(".")[0] == package]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"streamsan.exports.targets.{name}", raising=False)
    assert "pip install 'streamsan[export]'" in said("x.sst", "--to", name)


def test_an_unknown_target_and_no_file_are_bad_usage() -> None:
    assert "--to" in said("x.sst", "--to", "excel")
    assert "Usage" in said("--to", "perfetto")


def test_an_input_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    pytest.importorskip("perfetto")
    foreign = tmp_path / "foreign.sst"
    foreign.write_bytes(b"nothing of ours" * 100)
    assert "foreign.sst" in said(str(foreign), "--to", "perfetto")
    assert "no such file" in said(str(tmp_path / "none.sst"), "--to", "perfetto")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pytest.importorskip("perfetto")
    example = str(Path(__file__).parents[2] / "examples" / "pipeline.cu")
    assert "no such folder" in said(example, "--to", "perfetto", "-o", str(tmp_path / "none" / "x.pftrace"))
