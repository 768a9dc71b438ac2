"""Captures as such: how they end, join, merge, break; events afterwards."""

from __future__ import annotations

from conformance.cases.captures import INVALIDATED, MODES, SUCCESS, UNSUPPORTED
from conformance.lab import Lab
from conformance.registry import Observations, case


@case(
    "capture/after-invalidation",
    "a capture that a wait has broken: launch, memory, state, end",
    ["G-05"],
    expected={"wait": UNSUPPORTED, "work": INVALIDATED, "end": INVALIDATED},
)
def after_invalidation(lab: Lab) -> Observations:
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


@case(
    "capture/joined-ended",
    "EndCapture on a stream that joined, then on the origin",
    ["C-16"],
    expected={"joined": "cudaErrorStreamCaptureUnmatched", "origin": INVALIDATED},
)
def joined_ended(lab: Lab) -> Observations:
    rt, origin, joined, memory = lab.rt, lab.stream(), lab.stream(), lab.plain()
    lab.begin_capture(origin)
    lab.after(joined, origin)
    lab.ok(rt.cudaMemsetAsync(memory, 1, 64, joined))
    return {
        "joined": lab.status(rt.cudaStreamEndCapture(joined)),
        "origin": lab.status(rt.cudaStreamEndCapture(origin)),
    }


@case(
    "capture/unjoined",
    "EndCapture with work of a joined stream not joined back; with a joined stream that did nothing",
    ["C-17"],
    expected={"with work": "cudaErrorStreamCaptureUnjoined", "launch afterwards": SUCCESS, "without": SUCCESS},
)
def unjoined(lab: Lab) -> Observations:
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


@case(
    "capture/joined-back",
    "a stream that joined and is joined back: nodes of the graph, words after a launch",
    ["C-17"],
)
def joined_back(lab: Lab) -> Observations:
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


@case(
    "capture/end-on-other-thread",
    "EndCapture on another thread, by mode",
    ["C-23", "C-18"],
    expected={
        "Global": "cudaErrorStreamCaptureWrongThread",
        "ThreadLocal": "cudaErrorStreamCaptureWrongThread",
        "Relaxed": SUCCESS,
    },
)
def end_on_other_thread(lab: Lab) -> Observations:
    rt, memory = lab.rt, lab.plain()
    observed: Observations = {}
    for mode in MODES:
        stream = lab.stream()
        lab.begin_capture(stream, mode)
        lab.ok(rt.cudaMemsetAsync(memory, 1, 64, stream))
        observed[mode] = lab.on_thread(lambda stream=stream: lab.status(rt.cudaStreamEndCapture(stream)))  # type: ignore[misc]
        if observed[mode] != SUCCESS:
            observed[f"{mode}, then on its own"] = lab.status(rt.cudaStreamEndCapture(stream))
    return observed


@case(
    "capture/merge",
    "a capturing stream waits for an event of another capture",
    ["C-19"],
    expected={"wait": "cudaErrorStreamCaptureMerge", "one": INVALIDATED, "other": INVALIDATED},
)
def merge(lab: Lab) -> Observations:
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


@case(
    "capture/event-afterwards",
    "after a capture: query, wait for, synchronise with an event recorded in it; then record it anew",
    ["C-20"],
    expected={
        "query": "cudaErrorInvalidValue",
        "synchronize": "cudaErrorInvalidValue",
        "stream wait": "cudaErrorInvalidValue",
    },
)
def event_afterwards(lab: Lab) -> Observations:
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


@case(
    "capture/stream-destroyed",
    "the capturing stream is destroyed, and its handle used afterwards",
    ["C-21"],
    undefined=True,
    fresh=True,
)
def stream_destroyed(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    destroyed = lab.status(rt.cudaStreamDestroy(stream))
    return {"destroy": destroyed, "end": lab.status(rt.cudaStreamEndCapture(stream))}


@case(
    "capture/pending-outside",
    "a capture begins on a stream with work pending, and ends: does either call wait",
    ["capture-modes"],
    timed=True,
)
def pending_outside(lab: Lab) -> Observations:
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    pending = lab.busy(stream)
    _, began = lab.timed(pending, lambda: rt.cudaStreamBeginCapture(stream, lab.capture_mode("Relaxed")))
    lab.ok(rt.cudaMemsetAsync(memory, 1, 64, stream))
    _, ended = lab.timed(pending, lambda: rt.cudaStreamEndCapture(stream))
    return {"begin waited": began, "end waited": ended}


@case(
    "capture/query-mode-exchange",
    "cudaThreadExchangeStreamCaptureMode to relaxed around cudaMalloc during a global capture",
    ["capture-modes", "C-05"],
)
def exchange(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    before = lab.ok(rt.cudaThreadExchangeStreamCaptureMode(lab.capture_mode("Relaxed")))
    allocated = lab.status(rt.cudaMalloc(256))
    lab.ok(rt.cudaThreadExchangeStreamCaptureMode(before))
    return {"cudaMalloc": allocated, "end": lab.status(rt.cudaStreamEndCapture(stream))}


@case(
    "capture/reset",
    "cudaDeviceReset while a stream captures",
    ["capture-modes"],
    fresh=True,
)
def reset_in_capture(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    return {"reset": lab.status(rt.cudaDeviceReset())}
