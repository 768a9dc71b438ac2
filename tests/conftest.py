"""Puts this folder on the import path, so that tests share its modules; and what tests of several rooms ask for."""

from __future__ import annotations

import pytest

from forked import forked_programs  # noqa: F401


@pytest.fixture(params=["lazy", pytest.param("1", marks=pytest.mark.deep)])
def schedule(request: pytest.FixtureRequest) -> str:
    """A schedule of the simulated device; each run of a program under one takes two processes."""
    return str(request.param)
