"""Random programs of several streams: each wait's price against the program without it, on the same device."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsan.analysis.traces import check_trace
from wait_costs.timed_device import TimedDevice

STREAMS = 3
# All kernels have room at once, and all copies are of one stream: where work waits for room a microsecond may decide
# who goes first, and no prediction knows.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("launch"), st.integers(0, STREAMS - 1), st.integers(20, 400), st.sampled_from([1, 300])),
        st.tuples(st.just("copy"), st.just(0), st.integers(50, 200), st.just(0)),
        st.tuples(st.just("event"), st.integers(0, STREAMS - 1), st.integers(0, STREAMS - 1), st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, STREAMS - 1), st.just(0), st.just(0)),
        st.tuples(st.just("all"), st.just(0), st.just(0), st.just(0)),
        st.tuples(st.just("host"), st.just(0), st.integers(1, 300), st.just(0)),
    ),
    min_size=4,
    max_size=30,
)
Step = tuple[str, int, int, int]
WAITS = ("event", "wait", "all")


def run(steps: list[Step], left_out: int = -1, recorded: bool = False) -> TimedDevice:
    """Run the steps, each on a line of its own, without the wait of one of them."""
    device = TimedDevice(recorded=recorded)
    streams = [device.stream() for _ in range(STREAMS)]
    memory = [device.allocate(2) for _ in range(STREAMS)]
    for number, (what, stream, value, fills) in enumerate(steps):
        line, here = number + 10, streams[stream]
        if what == "launch":
            device.launch(line, here, memory[stream], value * 1000, fills)
        elif what == "copy":
            device.copy_in(line, here, memory[stream], value * 1000)
        elif what == "host":
            device.works(value * 1000)
        elif what == "event":
            event = device.record(line, here)
            if number != left_out:
                device.stream_waits(1000 + line, streams[value], event)
        elif number != left_out and what == "wait":
            device.waits(line, here)
        elif number != left_out:
            device.waits_for_all(line)
    device.waits_for_all(5)
    return device


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_each_wait_costs_what_the_program_without_it_wins(steps: list[Step]) -> None:
    trace, recorded = run(steps, recorded=True).finish()
    took = run(steps).finish()[1]
    (costs,) = check_trace(trace, "run.sst").wait_costs
    assert costs.recorded_ns == pytest.approx(recorded, rel=0.002)
    prices = {cost.location.line: cost.saves_ns for cost in costs.waits}
    for number, (what, *_) in enumerate(steps):
        line = number + (1010 if what == "event" else 10)
        if what not in WAITS or line not in prices:
            continue
        won = took - run(steps, number).finish()[1]
        # The host has no price for its own calls, nor for how soon it wakes.
        assert prices[line] == pytest.approx(won, abs=0.02 * took + 15_000), f"line {line}"
