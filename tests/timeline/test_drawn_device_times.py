"""Work stands where the device did it, in recordings that say so."""

from __future__ import annotations

import numpy as np

from streamsan.report.html.embedding import Arrays
from streamsan.report.html.run_data import run_data
from streamsan.timeline import timeline_of
from streamsan.vocabulary import DeviceEngine, OperationKind
from wait_costs.timed_device import CALL, LAUNCH, TimedDevice


def test_work_lasts_as_long_as_the_device_took() -> None:
    device = TimedDevice(recorded=False)
    stream = device.stream()
    memory = device.allocate(2)
    device.launch(3, stream, memory, 50_000)
    device.launch(4, stream, memory, 30_000)
    timeline = timeline_of(device.finish()[0])
    assert timeline.knows_device
    kernels = [n for n, call in enumerate(timeline.call) if timeline.calls[call].kind == "launch"]
    assert timeline.ran_for[kernels].tolist() == [50_000, 30_000]
    first = int(timeline.time[kernels[0]])
    assert int(timeline.ran_at[kernels[0]]) == first + LAUNCH
    assert int(timeline.ran_at[kernels[1]]) >= first + LAUNCH + 50_000
    assert int(timeline.time[kernels[1]]) >= first + CALL
    others = np.delete(timeline.ran_for, kernels)
    assert not others.any()
    assert run_data(timeline, Arrays(), {}, None)["operations"] == timeline.operations


def test_parts_of_one_operation_are_one_span() -> None:
    device = TimedDevice()
    stream = device.stream()
    memory = device.allocate(2)
    device.launch(3, stream, memory, 10_000)
    sequence, begin, *_ = device._done[0]
    device.trace.append(
        OperationKind.DEVICE_TIME,
        thread=device.thread,
        object=sequence,
        time=begin + 40_000,
        size=5_000,
        detail=DeviceEngine.COMPUTE,
    )
    timeline = timeline_of(device.finish()[0])
    assert int(timeline.ran_for.max()) == 45_000


def test_a_time_of_no_operation_is_left_out() -> None:
    device = TimedDevice()
    device.trace.append(OperationKind.DEVICE_TIME, thread=device.thread, object=77, time=2_000_000, size=5)
    timeline = timeline_of(device.finish()[0])
    assert not timeline.knows_device
