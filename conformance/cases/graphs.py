"""Graphs: launches, relaunches, destruction, stale pointers."""

from __future__ import annotations

from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

relaunch_case = Family("graph/relaunch")
exec_destroyed_case = Family("graph/exec-destroyed")
graph_case = Family("graph")

AUTO_FREE = 1
"""cudaGraphInstantiateFlagAutoFreeOnLaunch"""


def _launch(lab: Lab, executable: Any, stream: Any) -> str:
    return lab.status(lab.rt.cudaGraphLaunch(executable, stream))


@relaunch_case("G-01")
def unfreed(lab: Lab) -> Observations:
    """A captured loop of four allocations, never freed; launched twice."""
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    for _ in range(4):
        memory = lab.ok(rt.cudaMallocAsync(SIZE, stream))
        lab.ok(rt.cudaMemsetAsync(memory, 1, SIZE, stream))
    executable = lab.instantiate(lab.end_capture(stream))
    return {"first": _launch(lab, executable, stream), "second": _launch(lab, executable, stream)}


@relaunch_case("G-02", "G-22")
def auto_free(lab: Lab) -> Observations:
    """The same, instantiated with AutoFreeOnLaunch; then cudaFreeAsync of the memory."""
    stream = lab.stream()
    graph, memory = lab.memory_graph(stream)
    executable = lab.instantiate(graph, AUTO_FREE)
    return {
        "first": _launch(lab, executable, stream),
        "second": _launch(lab, executable, stream),
        "free": lab.status(lab.rt.cudaFreeAsync(memory, stream)),
    }


@exec_destroyed_case("G-11")
def memory_alive(lab: Lab) -> Observations:
    """The executable is destroyed while its allocation lives: use and free."""
    rt, stream = lab.rt, lab.stream()
    graph, memory = lab.memory_graph(stream)
    executable = lab.instantiate(graph)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.ok(rt.cudaGraphExecDestroy(executable))
    use = lab.status(rt.cudaMemsetAsync(memory, 5, SIZE, stream))
    wrong = lab.wrong(memory, 5)
    return {"use": use, "wrong": wrong, "free": lab.status(rt.cudaFreeAsync(memory, stream))}


@exec_destroyed_case("G-12", timed=True)
def running(lab: Lab) -> Observations:
    """The executable, then the graph, is destroyed while a launch is pending."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    lab.begin_capture(stream)
    lab.ok(rt.cudaMemsetAsync(memory, 5, SIZE, stream))
    graph = lab.end_capture(stream)
    executable = lab.instantiate(graph)
    lab.ok(rt.cudaGraphUpload(executable, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    pending = lab.busy(stream)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    first, first_waited = lab.timed(pending, lambda: rt.cudaGraphExecDestroy(executable))
    second, second_waited = lab.timed(pending, lambda: rt.cudaGraphDestroy(graph))
    return {
        "exec": first,
        "exec waited": first_waited,
        "graph": second,
        "graph waited": second_waited,
        "wrong": lab.wrong(memory, 5),
    }


@graph_case("G-13")
def stale_pointer(lab: Lab) -> Observations:
    """A graph fills a buffer; cudaFree of it; cudaMalloc gives the address to another; launch."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    lab.begin_capture(stream)
    lab.ok(rt.cudaMemsetAsync(memory, 5, SIZE, stream))
    executable = lab.instantiate(lab.end_capture(stream))
    lab.ok(rt.cudaFree(memory))
    new = lab.plain(byte=1)
    launched = _launch(lab, executable, stream)
    return {
        "reused": int(new) == int(memory),
        "launch": launched,
        "new owner overwritten": lab.wrong(new, 1) == "all",
    }


@graph_case("G-13", "W-10", name="stale-pointer/unmapped", fresh=True)
def stale_pool(lab: Lab) -> Observations:
    """A graph fills pool memory that is freed and trimmed before the launch."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    memory = lab.from_pool(pool, stream)
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.begin_capture(stream)
    lab.ok(lab.write_words(memory, 5, stream))
    executable = lab.instantiate(lab.end_capture(stream))
    lab.ok(rt.cudaFreeAsync(memory, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.ok(rt.cudaMemPoolTrimTo(pool, 0))
    launched = _launch(lab, executable, stream)
    return {"launch": launched, "wait": lab.status(rt.cudaStreamSynchronize(stream))}


@graph_case("graph-restrictions", timed=True)
def launches_ordered(lab: Lab) -> Observations:
    """Launches of one executable on two streams: does the second wait for the first."""
    rt, s1, s2, memory = lab.rt, lab.stream(), lab.stream(), lab.plain(byte=1)
    lab.begin_capture(s1)
    lab.ok(rt.cudaMemsetAsync(memory, 5, SIZE, s1))
    executable = lab.instantiate(lab.end_capture(s1))
    lab.ok(rt.cudaGraphLaunch(executable, s1))
    lab.ok(rt.cudaStreamSynchronize(s1))
    pending = lab.busy(s1)
    lab.ok(rt.cudaGraphLaunch(executable, s1))
    status, waited = lab.timed(pending, lambda: rt.cudaGraphLaunch(executable, s2))
    _, second = lab.timed(pending, lambda: rt.cudaStreamSynchronize(s2))
    return {"status": status, "the call waited": waited, "the second launch waited": second}


@graph_case("staging", "C-10", timed=True)
def pageable_copy(lab: Lab) -> Observations:
    """A captured copy from pageable memory, changed between capture and launch, and after the launch has returned."""
    rt, stream, memory, pages = lab.rt, lab.stream(), lab.plain(byte=1), lab.pageable()
    pages[:] = 5
    lab.begin_capture(stream)
    lab.ok(rt.cudaMemcpyAsync(memory, int(pages.ctypes.data), SIZE, lab.h2d, stream))
    executable = lab.instantiate(lab.end_capture(stream))
    pages[:] = 6
    pending = lab.busy(stream)
    status, waited = lab.timed(pending, lambda: rt.cudaGraphLaunch(executable, stream))
    return {"launch": status, "launch waited": waited, "words as at the launch": lab.wrong(memory, 6) == "none"}
