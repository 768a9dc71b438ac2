"""`check --on`: an address that means no cluster, an engine that is not there: one line, and status 2."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from checking.fleets import fleet_traces
from streamsan.cli import main


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "rank-0.sst"
    fleet_traces.write_trace(path, 0, 1, 1, ())
    return str(path)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("scheduler:8786", "'scheduler:8786' begins with neither dask:// nor ray://"),
        ("ssh://host:22", "'ssh://host:22' begins with neither dask:// nor ray://"),
        ("dask", "'dask' begins with neither dask:// nor ray://"),
        ("dask://host", "'dask://host' is not dask://HOST:PORT or dask://"),
        ("dask://auto", "'dask://auto' is not dask://HOST:PORT or dask://"),
        ("dask://user@host:1", "'dask://user@host:1' is not dask://HOST:PORT or dask://"),
        ("ray://a b:1", "'ray://a b:1' is not ray://HOST:PORT, ray://auto or ray://"),
        ("ray://\x1b[2J:1", "'ray://\ufffd[2J:1' is not ray://HOST:PORT, ray://auto or ray://"),
    ],
)
def test_an_address_that_means_no_cluster(
    address: str, reason: str, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", trace, "--on", address]) == 2
    assert capsys.readouterr() == ("", f"streamsan: --on: {reason}\n")


@pytest.mark.parametrize(("scheme", "module", "name"), [("dask", "distributed", "Dask"), ("ray", "ray", "Ray")])
def test_an_engine_that_is_not_installed(
    scheme: str, module: str, name: str, trace: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"streamsan.checking.engines.{scheme}_cluster", raising=False)
    assert main(["check", trace, "--on", f"{scheme}://"]) == 2
    assert capsys.readouterr() == ("", f"streamsan: --on: {name} is not installed: pip install 'streamsan[{scheme}]'\n")


@pytest.mark.parametrize("option", ["--diff", "--fix"])
def test_edits_are_sought_by_this_process(option: str, trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", trace, "--on", "dask://", option]) == 2
    assert capsys.readouterr().err.startswith("streamsan: --on lets others check; edits are sought here")
