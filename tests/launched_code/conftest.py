"""Nothing that was read outside of the tests is known in them, and nothing of theirs stays."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _shared(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images are the same in most tests, and each is read once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of the test's own, in which what is read is remembered."""
    folder = tmp_path_factory.mktemp("own_cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "streamsan" / "kernels"
