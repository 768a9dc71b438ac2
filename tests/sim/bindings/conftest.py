"""A session in use for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from recorded_session import RecordedSession

from streamsan.sim import active
from streamsan.sim.options import SimulationOptions
from streamsan.sim.session import Session


@pytest.fixture
def session() -> Iterator[RecordedSession]:
    made = RecordedSession()
    active.push(made)  # type: ignore[arg-type]
    yield made
    active.pop(made)  # type: ignore[arg-type]


@pytest.fixture
def simulated() -> Iterator[Session]:
    made = Session(SimulationOptions(), "test.py")
    active.push(made)
    yield made
    active.pop(made)
