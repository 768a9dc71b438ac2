"""What numba-cuda's tests expect of its repository's conftest.py, which the installed package does not have."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """Tell a class of tests that it need not keep the input of checks that fail."""
    request.cls._dump_failed_filechecks = False
