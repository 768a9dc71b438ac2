"""Replays of OpenCL: the wrong pairs go wrong on the simulated device, or it is said why not; no right one does."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_unchanged, pair_name
from opencl_pairs import READ, programs
from streamsan import cuda_source
from witness_replays import about_order, complaints, wrong_words

WRONG = [path for path in programs("wrong") if path.suffix in READ]
RIGHT = [path for path in programs("right") if path.suffix in READ]
SEEDS = range(4)
MOST_WORLDS = 4
"""of one program: `bench/opencl_replays.py` takes all"""
FORBIDDEN = "no witness: the contract forbids the command itself: what it reads or writes there is not defined"
NOT_SHOWN = {
    "ss108_heat_hostptr": [f"SS108 at line 46: {FORBIDDEN}"],
    "ss108_hpp_mapped_kernel": [f"SS108 at line 37: {FORBIDDEN}"],
    "ss108_kernel_on_mapped_region": [f"SS108 at line 28: {FORBIDDEN}"],
    # The same frame is uploaded in every round.
    "ss109_slot_ring": ["SS109 at line 69: no word of what the trace shows goes wrong by it"],
}
"""wrong programs of which a replay shows nothing -> what is said of them"""


@pytest.mark.parametrize("path", WRONG, ids=pair_name)
def test_findings_have_a_witness_that_goes_wrong(path: Path) -> None:
    assert complaints(check_unchanged(path)) == NOT_SHOWN.get(pair_name(path), [])


def test_findings_about_order_are_most() -> None:
    """Else there is nothing that the test above could find."""
    with_some = [path for path in WRONG if path.name.startswith(("ss101", "ss102", "ss103", "ss107", "ss108", "ss109"))]
    assert len(with_some) >= 55
    assert all(about_order(check_unchanged(path)) for path in with_some[::12])


@pytest.mark.parametrize("path", RIGHT, ids=pair_name)
def test_right_programs_see_the_same_words_under_every_schedule(path: Path) -> None:
    worlds = cuda_source.read(path).worlds
    assert worlds
    for world in worlds[:MOST_WORLDS]:
        assert wrong_words(world.trace, SEEDS) == []


def test_schedules_show_wrong_words_of_wrong_programs() -> None:
    shown = [path for path in WRONG if path.name.startswith(("ss103", "ss109"))][::4]
    different = [bool(wrong_words(cuda_source.read(path).worlds[0].trace, SEEDS)) for path in shown]
    assert sum(different) > len(different) // 2
