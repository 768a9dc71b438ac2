"""What a run would have taken without its waits, against the changed program on the same device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsan.analysis.traces import check_trace
from streamsan.findings.wait_cost import RunCosts, WaitCost
from streamsan.vocabulary import MemoryKind
from wait_costs.timed_device import TimedDevice

MS = 1_000_000
Program = Callable[[TimedDevice, bool], None]


def costs_of(program: Program) -> tuple[RunCosts, int]:
    """Return what a recording says, and how long the program takes that is not recorded."""
    device = TimedDevice()
    program(device, False)
    trace, took = device.finish()
    (costs,) = check_trace(trace, "run.sst").wait_costs
    assert costs.recorded_ns == pytest.approx(took, rel=0.002)  # durations are stored to a thousandth
    return costs, alone(program, False)


def alone(program: Program, changed: bool) -> int:
    device = TimedDevice(recorded=False)
    program(device, changed)
    return device.finish()[1]


def at(costs: RunCosts, line: int) -> WaitCost:
    return next(cost for cost in costs.waits if cost.location.line == line)


def wait_in_each_turn(device: TimedDevice, changed: bool) -> None:
    stream = device.stream()
    memory = device.allocate(2)
    for _ in range(50):
        device.launch(3, stream, memory, 200_000)
        if not changed:
            device.waits(4, stream)
        device.works(150_000)
    device.waits(9, stream)


def wait_for_all(device: TimedDevice, changed: bool) -> None:
    one, other = device.stream(), device.stream()
    first, second = device.allocate(2), device.allocate(3)
    for _ in range(20):
        device.launch(4, one, first, 300_000)
        device.launch(5, other, second, 100_000)
        if not changed:
            device.waits_for_all(6)
    device.waits_for_all(9)


def stream_waits(device: TimedDevice, changed: bool) -> None:
    one, other = device.stream(), device.stream()
    first, second = device.allocate(2), device.allocate(3)
    for _ in range(20):
        device.launch(4, one, first, 300_000)
        event = device.record(5, one)
        if not changed:
            device.stream_waits(6, other, event)
        device.launch(7, other, second, 250_000)
    device.waits_for_all(9)


def copies_of_one_engine(device: TimedDevice, changed: bool) -> None:
    one, other = device.stream(), device.stream()
    first, second = device.allocate(2), device.allocate(3)
    for _ in range(20):
        device.copy_in(4, one, first, 200_000)
        if not changed:
            device.waits(5, one)
        device.copy_in(6, other, second, 200_000)
        device.launch(7, other, second, 50_000)
    device.waits_for_all(9)


def kernels_that_fill_the_device(device: TimedDevice, changed: bool) -> None:
    one, other = device.stream(), device.stream()
    first, second = device.allocate(2), device.allocate(3)
    for _ in range(20):
        device.launch(4, one, first, 200_000, fills=1000)
        if not changed:
            device.waits(5, one)
        device.launch(6, other, second, 200_000, fills=700)
    device.waits_for_all(9)


def events_of_a_pipeline(device: TimedDevice, changed: bool) -> None:
    upload, compute = device.stream(), device.stream()
    buffers = [device.allocate(2), device.allocate(2)]
    free = [0, 0]
    for turn in range(30):
        if free[turn % 2]:
            device.stream_waits(3, upload, free[turn % 2])
        device.copy_in(4, upload, buffers[turn % 2], 180_000)
        ready = device.record(5, upload)
        if not changed:
            device.waits_for_event(6, ready)
        device.stream_waits(7, compute, ready)
        device.launch(8, compute, buffers[turn % 2], 220_000)
        free[turn % 2] = device.record(9, compute)
    device.waits_for_all(10)


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (wait_in_each_turn, 4),
        (wait_for_all, 6),
        (stream_waits, 6),
        (copies_of_one_engine, 5),
        (kernels_that_fill_the_device, 5),
        (events_of_a_pipeline, 6),
    ],
)
def test_a_prediction_is_what_the_changed_program_takes(program: Program, line: int) -> None:
    costs, took = costs_of(program)
    without = alone(program, True)
    won = took - without
    assert at(costs, line).saves_ns == pytest.approx(won, rel=0.03, abs=0.003 * took)


def test_kernels_that_fill_the_device_win_nothing() -> None:
    costs, _ = costs_of(kernels_that_fill_the_device)
    assert abs(at(costs, 5).saves_ns) < 0.06 * costs.recorded_ns


def test_the_last_wait_of_a_run_wins_nothing() -> None:
    costs, _ = costs_of(wait_in_each_turn)
    assert at(costs, 9).saves_ns < 0.01 * costs.recorded_ns
    assert at(costs, 9).waited_ns > 0


def four_streams(device: TimedDevice, ordered: bool) -> None:
    """As fact F-17: each stream allocates, computes for 1 ms and frees, again and again."""
    streams = [device.stream() for _ in range(4)]
    kind = MemoryKind.STREAM_ORDERED if ordered else MemoryKind.PLAIN
    for _ in range(50):
        for stream in streams:
            memory = device.allocate(3, kind=kind, stream=stream if ordered else 0)
            device.launch(4, stream, memory, MS)
            device.free(5, memory, stream if ordered else 0)
    device.waits_for_all(9)


def test_a_free_that_waits_for_all_costs_what_stream_ordered_memory_wins() -> None:
    costs, took = costs_of(four_streams)
    ordered = alone(four_streams, True)
    cost = at(costs, 5)
    assert cost.code == "SS501"
    assert took / ordered > 3.9
    assert took - cost.saves_ns == pytest.approx(ordered, rel=0.05)
    assert costs.together_ns == pytest.approx(cost.saves_ns, rel=0.01)


def asks_again(device: TimedDevice, changed: bool) -> None:
    stream = device.stream()
    memory = device.allocate(2)
    for _ in range(20):
        device.launch(3, stream, memory, 200_000)
        if not changed:
            device.waits(4, stream)
        device.launch(5, stream, memory, 100_000)
        device.asks_until_done(6, stream, 5_000)


def test_asking_again_and_again_is_a_wait() -> None:
    costs, took = costs_of(asks_again)
    won = took - alone(asks_again, True)
    assert at(costs, 4).saves_ns == pytest.approx(won, abs=0.005 * took)  # a question every 5 us


def test_a_recording_without_times_has_no_costs() -> None:
    device = TimedDevice()
    device.trace.metadata = {}
    wait_in_each_turn(device, False)
    trace, _ = device.finish()
    assert check_trace(trace, "run.sst").wait_costs == ()


def a_wait_that_adds_nothing(device: TimedDevice, changed: bool) -> None:
    stream = device.stream()
    memory = device.allocate(2)
    for _ in range(20):
        device.launch(3, stream, memory, 200_000)
        device.waits(4, stream)
        if not changed:
            device.waits_for_all(5)
        device.works(10_000)


def test_what_nothing_needs_has_its_price_in_its_finding() -> None:
    costs, took = costs_of(a_wait_that_adds_nothing)
    won = took - alone(a_wait_that_adds_nothing, True)
    cost = at(costs, 5)
    assert (cost.code, cost.adds_order, cost.count) == ("SS504", False, 20)
    assert cost.saves_ns == pytest.approx(won, rel=0.1)
    assert at(costs, 4).adds_order is True
    assert at(costs, 4).code == ""
    device = TimedDevice()
    a_wait_that_adds_nothing(device, False)
    found = check_trace(device.finish()[0], "run.sst").findings
    priced = [finding for finding in found if "saves_ns" in finding.properties]
    assert [(finding.code, finding.location.line) for finding in priced] == [("SS504", 5)]
    assert priced[0].properties["saves_ns"] == cost.saves_ns
    assert costs.together_ns == cost.saves_ns


def frees_on_several_streams(device: TimedDevice, changed: bool) -> None:
    del changed
    one, other = device.stream(), device.stream()
    for _ in range(10):
        memory = device.allocate(3)
        device.launch(4, one, memory, 100_000)
        device.launch(5, other, memory, 100_000)
        device.free(6, memory)
    device.waits_for_all(9)


def test_a_change_that_breaks_an_order_is_not_recommended() -> None:
    # Both streams use the memory: a free in the order of one does not wait for the other.
    costs, _ = costs_of(frees_on_several_streams)
    assert [cost for cost in costs.waits if cost.code] == []
    assert costs.together_ns == 0
