"""Streams: default streams, orders between streams, destruction."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from conformance.lab import Lab
from conformance.registry import Family, Observations

legacy_case = Family("stream/legacy", timed=True)
order_case = Family("stream/order", timed=True)
stream_case = Family("stream", timed=True)

PER_THREAD = 2
"""the handle of the per-thread default stream; 1 is the legacy one"""


def _legacy_query(lab: Lab, blocking: bool) -> Observations:
    pending = lab.busy(lab.stream(blocking))
    query = lab.status(lab.rt.cudaStreamQuery(0))
    status, waited = lab.timed(pending, lambda: lab.rt.cudaStreamSynchronize(0))
    return {"query": query, "synchronize": status, "synchronize waited": waited}


def _event_in_legacy(lab: Lab, blocking: bool) -> Observations:
    rt, event = lab.rt, lab.event()
    pending = lab.busy(lab.stream(blocking))
    _, recorded = lab.timed(pending, lambda: rt.cudaEventRecord(event, 0))
    _, waited = lab.timed(pending, lambda: rt.cudaEventSynchronize(event))
    return {"record waited": recorded, "synchronize waited": waited}


for word, blocking, query_facts, event_facts in (
    ("blocking", True, ("L-01", "L-03"), ("L-04",)),
    ("non-blocking", False, ("L-02",), ("L-05",)),
):
    statement = f"cudaStreamQuery and cudaStreamSynchronize of the legacy default stream while a {word} stream is busy"
    legacy_case.row(f"{word}-pending", statement, query_facts, _legacy_query, blocking)
    statement = f"an event recorded in the legacy default stream while a {word} stream is busy, then awaited"
    legacy_case.row(f"event-{word}", statement, event_facts, _event_in_legacy, blocking)


def _behind(lab: Lab, first: Any, second: Any) -> Observations:
    """Whether work issued to the second stream waits for a kernel of the first."""
    rt, memory = lab.rt, lab.plain()
    pending = lab.busy(first)
    lab.ok(lab.write_words(memory, 1, second))
    return lab.waited(pending, lambda: rt.cudaStreamSynchronize(second))


def _behind_named(lab: Lab, first: str, second: str) -> Observations:
    return _behind(lab, STREAMS[first][1](lab), STREAMS[second][1](lab))


STREAMS: dict[str, tuple[str, Callable[[Lab], Any]]] = {
    "legacy": ("the legacy default stream", lambda lab: 0),
    "blocking": ("a blocking stream", lambda lab: lab.stream(blocking=True)),
    "non-blocking": ("a non-blocking stream", lambda lab: lab.stream()),
    "per-thread": ("the per-thread default stream", lambda lab: PER_THREAD),
    "handle-0": ("handle 0", lambda lab: 0),
    "handle-1": ("handle 1", lambda lab: 1),
}
for name, first, second, facts in (
    ("legacy-then-blocking", "legacy", "blocking", ("L-01",)),
    ("legacy-then-non-blocking", "legacy", "non-blocking", ("L-02",)),
    ("blocking-then-legacy", "blocking", "legacy", ("L-01",)),
    ("handle-1", "blocking", "handle-1", ()),
    ("handle-0-and-1", "handle-0", "handle-1", ()),
    ("per-thread-then-legacy", "per-thread", "legacy", ()),
    ("legacy-then-per-thread", "legacy", "per-thread", ()),
    ("per-thread-then-blocking", "per-thread", "blocking", ()),
):
    statement = f"work of {STREAMS[second][0]} behind a kernel of {STREAMS[first][0]}"
    order_case.row(name, statement, (*facts, "per-thread-stream"), _behind_named, first, second)


@order_case("per-thread-stream")
def two_threads_per_thread(lab: Lab) -> Observations:
    """The per-thread default stream of thread B while that of thread A is busy."""
    pending = lab.busy(PER_THREAD)
    query = lab.on_thread(lambda: lab.status(lab.rt.cudaStreamQuery(PER_THREAD)))
    status, waited = lab.on_thread(lambda: lab.timed(pending, lambda: lab.rt.cudaStreamSynchronize(PER_THREAD)))
    own = lab.status(lab.rt.cudaStreamQuery(PER_THREAD))
    return {"B's query": query, "B's wait": status, "B waited": waited, "A's query": own}


@order_case("opaque-order")
def priorities(lab: Lab) -> Observations:
    """Streams of two priorities, not ordered: does one wait for the other."""
    rt = lab.rt
    low, high = lab.ok(rt.cudaDeviceGetStreamPriorityRange())
    first = lab.ok(rt.cudaStreamCreateWithPriority(rt.cudaStreamNonBlocking, low))
    second = lab.ok(rt.cudaStreamCreateWithPriority(rt.cudaStreamNonBlocking, high))
    observed = _behind(lab, first, second)
    return {"waited": observed["waited"]}


# -- ends of streams and events -----------------------------------------------------------------------------
@stream_case("A-04")
def destroy_pending(lab: Lab) -> Observations:
    """cudaStreamDestroy with work pending; the work's words."""
    stream, memory = lab.stream(), lab.plain(byte=1)
    pending = lab.busy(stream)
    lab.ok(lab.write_words(memory, 0x05050505, stream))
    observed = lab.waited(pending, lambda: lab.rt.cudaStreamDestroy(stream))
    return {**observed, "wrong": lab.wrong(memory, 5)}


@stream_case("events")
def device_synchronize(lab: Lab) -> Observations:
    """cudaDeviceSynchronize and cuCtxSynchronize with kernels of two streams pending."""
    observed: Observations = {}
    for name, call in (
        ("cudaDeviceSynchronize", lab.rt.cudaDeviceSynchronize),
        ("cuCtxSynchronize", lab.cu.cuCtxSynchronize),
    ):
        first, second = lab.busy(lab.stream()), lab.busy(lab.stream(blocking=True))
        _, waited = lab.timed(first, call)
        observed[name] = waited and second.done
    return observed


@stream_case("A-14", "opaque-order", fresh=True)
def first_launch(lab: Lab) -> Observations:
    """The first launch of a kernel that is loaded by it (lazy loading), in an idle stream while another one is busy."""
    stream, memory = lab.stream(), lab.plain(4096, byte=1)
    values, types = (int(memory), int(memory), 1), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    pending = lab.busy(lab.stream(), 4)
    first, first_waited = lab.timed(pending, lambda: lab.try_launch("copy_at_once", stream, values, types))
    pending = lab.busy(lab.stream(), 4)
    second, second_waited = lab.timed(pending, lambda: lab.try_launch("copy_at_once", stream, values, types))
    return {"first": first, "first waited": first_waited, "second": second, "second waited": second_waited}
