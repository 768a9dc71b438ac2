"""A damaged recording with times is checked as any other: its prices may mean nothing, but nothing breaks."""

from __future__ import annotations

import pytest

from streamsan.analysis.traces import check_trace
from timeline.test_any_slots_are_drawn import arbitrary


@pytest.mark.parametrize("seed", range(0, 400, 25))
def test_any_slots_are_priced(seed: int) -> None:
    trace = arbitrary(seed, "recording")
    trace.metadata = {**trace.metadata, "times": True}
    costs = check_trace(trace, "run.sst").wait_costs
    for run in costs:
        assert run.recorded_ns >= 0
