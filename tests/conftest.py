"""Puts this folder on the import path, so that tests share its modules; and what tests of several rooms ask for."""

from __future__ import annotations

import gc
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from forked import forked_programs  # noqa: F401
from opencl_runtime import opencl_machine  # noqa: F401

# A test that changes how sources are checked must not be given what another one remembered.
os.environ["STREAMSAN_NO_CACHE"] = "1"

LARGE_FAMILIES = {
    "test_accesses_traces",
    "test_any_call_is_survived",
    "test_fix_litmus",
    "test_ipc_events",
    "test_kernel_accesses",
    "test_litmus",
    "test_opencl_programs",
    "test_poll_kernels",
    "test_python_litmus",
    "test_recorded_programs",
    "test_talk_kernels",
    "test_witness_litmus",
    "test_witness_opencl_litmus",
}
"""modules, or single tests, that ask the same of each of many programs"""
SHARE = 6
LONGER_FAMILIES = {
    "test_conformance_runs",
    "test_fixed_pairs",
    "test_hostile_input_ends_as_it_should",
    "test_python_programs",
    "test_recorded_pairs",
    "test_told_as_written",
}
"""the same of families of which only chosen members are tested at once"""
DEEP_SHARE = 12


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is deep
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Of large families each sixth member is tested at once, each twelfth of the others in depth: always the same.

    What is left is `rest`: it is deep, and too much for each commit. `pytest -m deep` runs all.
    """
    for item in items:
        function, _, parameters = item.name.partition("[")
        names = {Path(str(item.path)).stem, function}
        number = zlib.crc32(item.nodeid.encode())
        if parameters and names & LARGE_FAMILIES and number % SHARE:
            item.add_marker(pytest.mark.deep)
        of_family = parameters and names & (LARGE_FAMILIES | LONGER_FAMILIES)
        if of_family and item.get_closest_marker("deep") and number // SHARE % DEEP_SHARE:
            item.add_marker(pytest.mark.rest)


def pytest_collection_finish() -> None:
    """Leave thousands of tests out of each collection of garbage that is to come: they stay to the end."""
    gc.freeze()


@pytest.fixture(params=["lazy", pytest.param("1", marks=pytest.mark.deep)])
def schedule(request: pytest.FixtureRequest) -> str:
    """A schedule of the simulated device; each run of a program under one takes two processes."""
    return str(request.param)
