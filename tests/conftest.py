"""Puts this folder on the import path, so that tests share its modules; and what tests of several rooms ask for."""

from __future__ import annotations

import gc

import pytest

from forked import forked_programs  # noqa: F401


def pytest_collection_finish() -> None:
    """Leave thousands of tests out of each collection of garbage that is to come: they stay to the end."""
    gc.freeze()


@pytest.fixture(params=["lazy", pytest.param("1", marks=pytest.mark.deep)])
def schedule(request: pytest.FixtureRequest) -> str:
    """A schedule of the simulated device; each run of a program under one takes two processes."""
    return str(request.param)
