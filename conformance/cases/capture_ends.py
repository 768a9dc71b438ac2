"""Captures as such: how they end, join, merge, break; events afterwards."""

from __future__ import annotations

from conformance.cases.captures import MODES
from conformance.lab import Lab
from conformance.registry import Family, Observations

capture_case = Family("capture")


@capture_case("G-05")
def after_invalidation(lab: Lab) -> Observations:
    """A capture that a wait has broken: launch, memory, state, end."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    lab.begin_capture(stream)
    wait = lab.status(rt.cudaStreamSynchronize(stream))
    state = rt.cudaStreamIsCapturing(stream)
    return {
        "wait": wait,
        "state": str(getattr(state[1], "name", state[1])),
        "asking": lab.status(state),
        "work": lab.status(rt.cudaMemsetAsync(memory, 1, 64, stream)),
        "allocation": lab.status(rt.cudaMallocAsync(64, stream)),
        "end": lab.status(rt.cudaStreamEndCapture(stream)),
        "end again": lab.status(rt.cudaStreamEndCapture(stream)),
        "work afterwards": lab.status(rt.cudaMemsetAsync(memory, 1, 64, stream)),
    }


@capture_case("C-16")
def joined_ended(lab: Lab) -> Observations:
    """EndCapture on a stream that joined, then on the origin."""
    rt, origin, joined, memory = lab.rt, lab.stream(), lab.stream(), lab.plain()
    lab.begin_capture(origin)
    lab.after(joined, origin)
    lab.ok(rt.cudaMemsetAsync(memory, 1, 64, joined))
    return {
        "joined": lab.status(rt.cudaStreamEndCapture(joined)),
        "origin": lab.status(rt.cudaStreamEndCapture(origin)),
    }


@capture_case("C-17")
def unjoined(lab: Lab) -> Observations:
    """EndCapture with work of a joined stream not joined back; with a joined stream that did nothing."""
    rt, origin, joined, memory = lab.rt, lab.stream(), lab.stream(), lab.plain()
    lab.begin_capture(origin)
    lab.after(joined, origin)
    lab.ok(rt.cudaMemsetAsync(memory, 1, 64, joined))
    with_work = lab.status(rt.cudaStreamEndCapture(origin))
    afterwards = lab.status(rt.cudaMemsetAsync(memory, 1, 64, joined))
    lab.begin_capture(origin)
    lab.after(joined, origin)
    return {
        "with work": with_work,
        "launch afterwards": afterwards,
        "without": lab.status(rt.cudaStreamEndCapture(origin)),
    }


@capture_case("C-17")
def joined_back(lab: Lab) -> Observations:
    """A stream that joined and is joined back: nodes of the graph, words after a launch."""
    rt, origin, joined, one, other = lab.rt, lab.stream(), lab.stream(), lab.plain(byte=1), lab.plain(byte=1)
    lab.begin_capture(origin)
    lab.after(joined, origin)
    lab.ok(rt.cudaMemsetAsync(one, 5, 4 << 20, joined))
    lab.after(origin, joined)
    lab.ok(rt.cudaMemcpyAsync(other, one, 4 << 20, lab.d2d, origin))
    graph = lab.end_capture(origin)
    count = int(lab.ok(rt.cudaGraphGetNodes(graph, 16))[1])
    lab.ok(rt.cudaGraphLaunch(lab.instantiate(graph), origin))
    return {"nodes": count, "wrong": lab.wrong(other, 5)}


@capture_case("C-23", "C-18")
def end_on_other_thread(lab: Lab) -> Observations:
    """EndCapture on another thread, by mode."""
    rt, memory = lab.rt, lab.plain()
    observed: Observations = {}
    for mode in MODES:
        stream = lab.stream()
        lab.begin_capture(stream, mode)
        lab.ok(rt.cudaMemsetAsync(memory, 1, 64, stream))
        observed[mode] = lab.on_thread(lambda stream=stream: lab.status(rt.cudaStreamEndCapture(stream)))  # type: ignore[misc]
        if observed[mode] != "cudaSuccess":
            observed[f"{mode}, then on its own"] = lab.status(rt.cudaStreamEndCapture(stream))
    return observed


@capture_case("C-19")
def merge(lab: Lab) -> Observations:
    """A capturing stream waits for an event of another capture."""
    rt, one, other = lab.rt, lab.stream(), lab.stream()
    event = lab.event()
    lab.begin_capture(one)
    lab.begin_capture(other)
    lab.ok(rt.cudaEventRecord(event, one))
    return {
        "wait": lab.status(rt.cudaStreamWaitEvent(other, event, 0)),
        "one": lab.status(rt.cudaStreamEndCapture(one)),
        "other": lab.status(rt.cudaStreamEndCapture(other)),
    }


@capture_case("C-20")
def event_afterwards(lab: Lab) -> Observations:
    """After a capture: query, wait for, synchronise with an event recorded in it; then record it anew."""
    rt, stream, event, memory = lab.rt, lab.stream(), lab.event(), lab.plain()
    lab.begin_capture(stream)
    lab.ok(rt.cudaMemsetAsync(memory, 1, 64, stream))
    lab.ok(rt.cudaEventRecord(event, stream))
    lab.end_capture(stream)
    observed: Observations = {
        "query": lab.status(rt.cudaEventQuery(event)),
        "synchronize": lab.status(rt.cudaEventSynchronize(event)),
        "stream wait": lab.status(rt.cudaStreamWaitEvent(lab.stream(), event, 0)),
    }
    observed["record"] = lab.status(rt.cudaEventRecord(event, stream))
    observed["synchronize anew"] = lab.status(rt.cudaEventSynchronize(event))
    return observed


@capture_case("C-21", fresh=True, undefined=True)
def stream_destroyed(lab: Lab) -> Observations:
    """The capturing stream is destroyed, and its handle used afterwards."""
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    destroyed = lab.status(rt.cudaStreamDestroy(stream))
    return {"destroy": destroyed, "end": lab.status(rt.cudaStreamEndCapture(stream))}


@capture_case("capture-modes", timed=True)
def pending_outside(lab: Lab) -> Observations:
    """A capture begins on a stream with work pending, and ends: does either call wait."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    pending = lab.busy(stream)
    _, began = lab.timed(pending, lambda: rt.cudaStreamBeginCapture(stream, lab.capture_mode("Relaxed")))
    lab.ok(rt.cudaMemsetAsync(memory, 1, 64, stream))
    _, ended = lab.timed(pending, lambda: rt.cudaStreamEndCapture(stream))
    return {"begin waited": began, "end waited": ended}


@capture_case("capture-modes", "C-05")
def query_mode_exchange(lab: Lab) -> Observations:
    """cudaThreadExchangeStreamCaptureMode to relaxed around cudaMalloc during a global capture."""
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    before = lab.ok(rt.cudaThreadExchangeStreamCaptureMode(lab.capture_mode("Relaxed")))
    allocated = lab.status(rt.cudaMalloc(256))
    lab.ok(rt.cudaThreadExchangeStreamCaptureMode(before))
    return {"cudaMalloc": allocated, "end": lab.status(rt.cudaStreamEndCapture(stream))}


@capture_case("capture-modes", fresh=True)
def reset(lab: Lab) -> Observations:
    """cudaDeviceReset while a stream captures."""
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    return {"reset": lab.status(rt.cudaDeviceReset())}
