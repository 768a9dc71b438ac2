"""Streams: default streams, orders between streams, destruction."""

from __future__ import annotations

import ctypes
from typing import Any

from conformance.lab import Lab
from conformance.registry import Observations, case

SUCCESS, NOT_READY = "cudaSuccess", "cudaErrorNotReady"


PER_THREAD = 2
"""the handle of the per-thread default stream; 1 is the legacy one"""


# -- default streams --------------------------------------------------------------------------------------
@case(
    "stream/legacy/blocking-pending",
    "cudaStreamQuery and cudaStreamSynchronize of the legacy default stream while a blocking stream is busy",
    ["L-01", "L-03"],
    timed=True,
    expected={"query": NOT_READY, "synchronize waited": True},
)
def legacy_blocking(lab: Lab) -> Observations:
    pending = lab.busy(lab.stream(blocking=True))
    query = lab.status(lab.rt.cudaStreamQuery(0))
    status, waited = lab.timed(pending, lambda: lab.rt.cudaStreamSynchronize(0))
    return {"query": query, "synchronize": status, "synchronize waited": waited}


@case(
    "stream/legacy/non-blocking-pending",
    "the same while a non-blocking stream is busy",
    ["L-02"],
    timed=True,
    expected={"synchronize waited": False},
)
def legacy_non_blocking(lab: Lab) -> Observations:
    pending = lab.busy(lab.stream())
    query = lab.status(lab.rt.cudaStreamQuery(0))
    status, waited = lab.timed(pending, lambda: lab.rt.cudaStreamSynchronize(0))
    return {"query": query, "synchronize": status, "synchronize waited": waited}


def _event_in_legacy(lab: Lab, blocking: bool) -> Observations:
    rt, event = lab.rt, lab.event()
    pending = lab.busy(lab.stream(blocking))
    _, recorded = lab.timed(pending, lambda: rt.cudaEventRecord(event, 0))
    _, waited = lab.timed(pending, lambda: rt.cudaEventSynchronize(event))
    return {"record waited": recorded, "synchronize waited": waited}


@case(
    "stream/legacy/event-blocking",
    "an event recorded in the legacy default stream while a blocking stream is busy, then awaited",
    ["L-04"],
    timed=True,
    expected={"synchronize waited": True},
)
def event_blocking(lab: Lab) -> Observations:
    return _event_in_legacy(lab, blocking=True)


@case(
    "stream/legacy/event-non-blocking",
    "the same while a non-blocking stream is busy",
    ["L-05"],
    timed=True,
    expected={"synchronize waited": False},
)
def event_non_blocking(lab: Lab) -> Observations:
    return _event_in_legacy(lab, blocking=False)


def _behind(lab: Lab, first: Any, second: Any) -> Observations:
    """Whether work issued to the second stream waits for a kernel of the first."""
    rt, memory = lab.rt, lab.plain()
    pending = lab.busy(first)
    lab.ok(lab.write_words(memory, 1, second))
    return lab.waited(pending, lambda: rt.cudaStreamSynchronize(second))


@case(
    "stream/order/legacy-then-blocking",
    "a blocking stream's work behind a kernel of the legacy default stream",
    ["L-01", "per-thread-stream"],
    timed=True,
)
def legacy_then_blocking(lab: Lab) -> Observations:
    return _behind(lab, 0, lab.stream(blocking=True))


@case(
    "stream/order/legacy-then-non-blocking",
    "a non-blocking stream's work behind a kernel of the legacy default stream",
    ["L-02", "per-thread-stream"],
    timed=True,
)
def legacy_then_non_blocking(lab: Lab) -> Observations:
    return _behind(lab, 0, lab.stream())


@case(
    "stream/order/blocking-then-legacy",
    "the legacy default stream's work behind a kernel of a blocking stream",
    ["L-01", "per-thread-stream"],
    timed=True,
)
def blocking_then_legacy(lab: Lab) -> Observations:
    return _behind(lab, lab.stream(blocking=True), 0)


@case(
    "stream/order/handle-1", "handle 1's work behind a kernel of a blocking stream", ["per-thread-stream"], timed=True
)
def handle_one(lab: Lab) -> Observations:
    return _behind(lab, lab.stream(blocking=True), 1)


@case("stream/order/handle-0-and-1", "handle 1's work behind a kernel of handle 0", ["per-thread-stream"], timed=True)
def handles_zero_and_one(lab: Lab) -> Observations:
    return _behind(lab, 0, 1)


@case(
    "stream/order/per-thread-then-legacy",
    "the legacy default stream's work behind a kernel of the per-thread one",
    ["per-thread-stream"],
    timed=True,
)
def per_thread_then_legacy(lab: Lab) -> Observations:
    return _behind(lab, PER_THREAD, 0)


@case(
    "stream/order/legacy-then-per-thread",
    "the per-thread default stream's work behind a kernel of the legacy one",
    ["per-thread-stream"],
    timed=True,
)
def legacy_then_per_thread(lab: Lab) -> Observations:
    return _behind(lab, 0, PER_THREAD)


@case(
    "stream/order/per-thread-then-blocking",
    "a blocking stream's work behind a kernel of the per-thread default stream",
    ["per-thread-stream"],
    timed=True,
)
def per_thread_then_blocking(lab: Lab) -> Observations:
    return _behind(lab, PER_THREAD, lab.stream(blocking=True))


@case(
    "stream/order/two-threads-per-thread",
    "the per-thread default stream of thread B while that of thread A is busy",
    ["per-thread-stream"],
    timed=True,
)
def two_threads(lab: Lab) -> Observations:
    pending = lab.busy(PER_THREAD)
    query = lab.on_thread(lambda: lab.status(lab.rt.cudaStreamQuery(PER_THREAD)))
    status, waited = lab.on_thread(lambda: lab.timed(pending, lambda: lab.rt.cudaStreamSynchronize(PER_THREAD)))
    own = lab.status(lab.rt.cudaStreamQuery(PER_THREAD))
    return {"B's query": query, "B's wait": status, "B waited": waited, "A's query": own}


@case(
    "stream/order/priorities",
    "streams of two priorities, not ordered: does one wait for the other",
    ["opaque-order"],
    timed=True,
)
def priorities(lab: Lab) -> Observations:
    rt = lab.rt
    low, high = lab.ok(rt.cudaDeviceGetStreamPriorityRange())
    first = lab.ok(rt.cudaStreamCreateWithPriority(rt.cudaStreamNonBlocking, low))
    second = lab.ok(rt.cudaStreamCreateWithPriority(rt.cudaStreamNonBlocking, high))
    observed = _behind(lab, first, second)
    return {"waited": observed["waited"]}


# -- ends of streams and events -----------------------------------------------------------------------------
@case(
    "stream/destroy-pending",
    "cudaStreamDestroy with work pending; the work's words",
    ["A-04"],
    timed=True,
    expected={"status": SUCCESS, "waited": False, "wrong": "none"},
)
def destroy_pending(lab: Lab) -> Observations:
    stream, memory = lab.stream(), lab.plain(byte=1)
    pending = lab.busy(stream)
    lab.ok(lab.write_words(memory, 0x05050505, stream))
    observed = lab.waited(pending, lambda: lab.rt.cudaStreamDestroy(stream))
    return {**observed, "wrong": lab.wrong(memory, 5)}


@case(
    "stream/device-synchronize",
    "cudaDeviceSynchronize and cuCtxSynchronize with kernels of two streams pending",
    ["events"],
    timed=True,
)
def device_synchronize(lab: Lab) -> Observations:
    observed: Observations = {}
    for name, call in (
        ("cudaDeviceSynchronize", lab.rt.cudaDeviceSynchronize),
        ("cuCtxSynchronize", lab.cu.cuCtxSynchronize),
    ):
        first, second = lab.busy(lab.stream()), lab.busy(lab.stream(blocking=True))
        _, waited = lab.timed(first, call)
        observed[name] = waited and second.done
    return observed


@case(
    "stream/first-launch",
    "the first launch of a kernel that is loaded by it (lazy loading), in an idle stream while another one is busy",
    ["A-14", "opaque-order"],
    timed=True,
    fresh=True,
)
def first_launch(lab: Lab) -> Observations:
    stream, memory = lab.stream(), lab.plain(4096, byte=1)
    values, types = (int(memory), int(memory), 1), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    pending = lab.busy(lab.stream(), 4)
    first, first_waited = lab.timed(pending, lambda: lab.try_launch("copy_at_once", stream, values, types))
    pending = lab.busy(lab.stream(), 4)
    second, second_waited = lab.timed(pending, lambda: lab.try_launch("copy_at_once", stream, values, types))
    return {"first": first, "first waited": first_waited, "second": second, "second waited": second_waited}
