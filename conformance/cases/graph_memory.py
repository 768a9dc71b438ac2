"""Memory of graphs: consumers, frees outside and by other graphs, restrictions."""

from __future__ import annotations

from typing import Any

from conformance.cases.graphs import AUTO_FREE, _launch
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

second_instance_case = Family("graph/second-instance")
graph_case = Family("graph")
freed_outside_case = Family("graph/freed-outside")
auto_free_case = Family("graph/auto-free", timed=True)


def _second(lab: Lab, frees: bool) -> Observations:
    rt = lab.rt
    graph, _ = lab.memory_graph(lab.stream(), frees=frees)
    clone = lab.status(rt.cudaGraphClone(graph))
    executable = lab.instantiate(graph)
    second = lab.status(rt.cudaGraphInstantiate(graph, 0))
    lab.ok(rt.cudaGraphExecDestroy(executable))
    third = lab.status(rt.cudaGraphInstantiate(graph, 0))
    return {"clone": clone, "second instantiation": second, "after the first was destroyed": third}


@second_instance_case("G-07", "G-19")
def unfreed(lab: Lab) -> Observations:
    """A graph with an allocation node: clone, second instantiation, instantiation after the first was destroyed."""
    return _second(lab, frees=False)


@second_instance_case("G-07", "G-19")
def freed(lab: Lab) -> Observations:
    """The same for a graph that frees what it allocates."""
    return _second(lab, frees=True)


@graph_case("G-08")
def freed_inside(lab: Lab) -> Observations:
    """Memory that the graph itself frees: fill, cudaFreeAsync and cudaFree outside after a launch."""
    rt, stream = lab.rt, lab.stream()
    graph, memory = lab.memory_graph(stream, frees=True)
    lab.ok(rt.cudaGraphLaunch(lab.instantiate(graph), stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {
        "fill": lab.status(rt.cudaMemsetAsync(memory, 1, SIZE, stream)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, stream)),
        "cudaFree": lab.status(rt.cudaFree(memory)),
    }


def _freed_outside(lab: Lab, by: str) -> Observations:
    rt, stream = lab.rt, lab.stream()
    graph, memory = lab.memory_graph(stream)
    executable = lab.instantiate(graph)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    freed = lab.status(rt.cudaFree(memory) if by == "cudaFree" else rt.cudaFreeAsync(memory, stream))
    again = lab.status(rt.cudaFreeAsync(memory, stream))
    observed: Observations = {"free": freed, "second free": again, "relaunch": _launch(lab, executable, stream)}
    observed["wrong"] = lab.wrong(memory, 1)
    return observed


@freed_outside_case("G-10", "G-18", name="cudaFreeAsync")
def freed_outside_async(lab: Lab) -> Observations:
    """Memory of a graph freed outside by cudaFreeAsync, twice, then a relaunch."""
    return _freed_outside(lab, "cudaFreeAsync")


@freed_outside_case("G-10", name="cudaFree")
def freed_outside(lab: Lab) -> Observations:
    """Memory of a graph freed outside by cudaFree, then a relaunch."""
    return _freed_outside(lab, "cudaFree")


@graph_case("G-14", timed=True)
def memory_read_unordered(lab: Lab) -> Observations:
    """Memory of a graph read in another stream, without an order after the launch."""
    rt, stream, reading = lab.rt, lab.stream(), lab.stream()
    graph, memory = lab.memory_graph(stream, byte=5)
    executable = lab.instantiate(graph, AUTO_FREE)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.ok(rt.cudaMemsetAsync(memory, 1, SIZE, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.busy(stream)
    launched = _launch(lab, executable, stream)
    result = lab.read_later(memory, reading)
    lab.ok(rt.cudaStreamSynchronize(reading))
    return {"launch": launched, "wrong": lab.wrong(result, 5)}


def _consumer(lab: Lab, ordered: bool) -> Observations:
    """The memory of a launch is read on another stream while the next launch frees and refills it."""
    rt, stream, reading = lab.rt, lab.stream(), lab.stream()
    source = lab.plain(byte=5)
    lab.begin_capture(stream)
    memory = lab.ok(rt.cudaMallocAsync(SIZE, stream))
    lab.ok(rt.cudaMemcpyAsync(memory, source, SIZE, lab.d2d, stream))
    executable = lab.instantiate(lab.end_capture(stream), AUTO_FREE)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.after(reading, stream)
    pending = lab.busy(reading)
    result = lab.read_later(memory, reading)
    if ordered:
        lab.after(stream, reading)
    lab.ok(rt.cudaMemsetAsync(source, 9, SIZE, stream))
    status, waited = lab.timed(pending, lambda: rt.cudaGraphLaunch(executable, stream))
    if not ordered:
        lab.ok(rt.cudaStreamSynchronize(stream))
    return {"relaunch": status, "relaunch waited": waited, "wrong": lab.wrong(result, 5)}


@auto_free_case("auto-free", "G-02")
def consumer_unordered(lab: Lab) -> Observations:
    """AutoFreeOnLaunch: another stream still reads the memory when the next launch frees and refills it."""
    return _consumer(lab, ordered=False)


@auto_free_case("auto-free", "G-02")
def consumer_ordered(lab: Lab) -> Observations:
    """The same with an event from the reader to the launching stream."""
    return _consumer(lab, ordered=True)


@auto_free_case("auto-free", "G-22")
def freed_by_consumer(lab: Lab) -> Observations:
    """AutoFreeOnLaunch: another stream frees the memory behind its reader; the next launch."""
    rt, stream, reading = lab.rt, lab.stream(), lab.stream()
    graph, memory = lab.memory_graph(stream, byte=5)
    executable = lab.instantiate(graph, AUTO_FREE)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.after(reading, stream)
    lab.busy(reading)
    result = lab.read_later(memory, reading)
    freed = lab.status(rt.cudaFreeAsync(memory, reading))
    launched = _launch(lab, executable, stream)
    return {"free": freed, "launch": launched, "wrong": lab.wrong(result, 5)}


@graph_case("G-15")
def before_launch(lab: Lab) -> Observations:
    """Fill, cudaFreeAsync, cudaFree of graph memory before any launch."""
    rt, stream = lab.rt, lab.stream()
    _, memory = lab.memory_graph(stream)
    return {
        "fill": lab.status(rt.cudaMemsetAsync(memory, 1, SIZE, stream)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, stream)),
        "cudaFree": lab.status(rt.cudaFree(memory)),
    }


@graph_case("G-16", "graph-restrictions", name="memory-nodes/restrictions")
def restrictions(lab: Lab) -> Observations:
    """A graph with memory nodes as a child of another; cudaGraphDestroyNode of a memory node."""
    rt = lab.rt
    graph, _ = lab.memory_graph(lab.stream(), frees=True)
    parent = lab.ok(rt.cudaGraphCreate(0))
    child = lab.status(rt.cudaGraphAddChildGraphNode(parent, None, 0, graph))
    nodes = lab.ok(rt.cudaGraphGetNodes(graph, 16))[0]
    return {"child": child, "destroy node": lab.status(rt.cudaGraphDestroyNode(nodes[0]))}


def _free_graph(lab: Lab, stream: Any, memory: Any) -> Any:
    lab.begin_capture(stream)
    status = lab.status(lab.rt.cudaFreeAsync(memory, stream))
    return status, lab.end_capture(stream)


@graph_case("G-17")
def free_by_other(lab: Lab) -> Observations:
    """A second graph frees the first one's memory: launches in all orders."""
    stream = lab.stream()
    graph, memory = lab.memory_graph(stream)
    captured, other = _free_graph(lab, stream, memory)
    first, second = lab.instantiate(graph), lab.instantiate(other)
    lab.ok(lab.rt.cudaGraphLaunch(first, stream))
    return {
        "capture": captured,
        "free": _launch(lab, second, stream),
        "relaunch": _launch(lab, first, stream),
        "free again": _launch(lab, second, stream),
        "free of nothing": _launch(lab, second, stream),
    }


@graph_case("G-25", "free-by-two-graphs", "G-17", "G-20")
def free_by_two(lab: Lab) -> Observations:
    """Two graphs each free the memory of a third: captures, instantiations, launches."""
    rt, stream = lab.rt, lab.stream()
    graph, memory = lab.memory_graph(stream)
    first_captured, first = _free_graph(lab, stream, memory)
    second_captured, second = _free_graph(lab, stream, memory)
    observed: Observations = {"first capture": first_captured, "second capture": second_captured}
    made = lab.instantiate(graph)
    lab.ok(rt.cudaGraphLaunch(made, stream))
    frees = [rt.cudaGraphInstantiate(each, 0) for each in (first, second)]
    observed["instantiations"] = [lab.status(each) for each in frees]
    for name, executable in zip(("first free", "second free"), frees, strict=True):
        if int(executable[0]) == 0:
            observed[name] = _launch(lab, executable[1], stream)
    observed["relaunch"] = _launch(lab, made, stream)
    return observed


@graph_case("free-by-two-graphs", "G-17")
def free_by_two_streams(lab: Lab) -> Observations:
    """A freeing graph launched on two streams, the memory alive once."""
    stream, other = lab.stream(), lab.stream()
    graph, memory = lab.memory_graph(stream)
    _, freeing = _free_graph(lab, stream, memory)
    first, second = lab.instantiate(graph), lab.instantiate(freeing)
    lab.ok(lab.rt.cudaGraphLaunch(first, stream))
    lab.after(other, stream)
    return {"free": _launch(lab, second, other), "second free": _launch(lab, second, stream)}


@graph_case("G-24", "G-19")
def instances(lab: Lab) -> Observations:
    """Instantiation after the first was destroyed; update with a graph of the same shape and its own memory."""
    rt, stream = lab.rt, lab.stream()
    graph, _ = lab.memory_graph(stream, frees=True)
    lab.ok(rt.cudaGraphExecDestroy(lab.instantiate(graph)))
    again = rt.cudaGraphInstantiate(graph, 0)
    other, _ = lab.memory_graph(stream, frees=True, byte=2)
    return {
        "instantiation": lab.status(again),
        "update": lab.status(rt.cudaGraphExecUpdate(again[1], other)),
        "launch": _launch(lab, again[1], stream),
    }


@graph_case("G-20")
def free_nodes(lab: Lab) -> Observations:
    """A second free node for one allocation; capturing the free of memory that its own graph frees."""
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    memory = lab.ok(rt.cudaMallocAsync(SIZE, stream))
    first = lab.status(rt.cudaFreeAsync(memory, stream))
    second = lab.status(rt.cudaFreeAsync(memory, stream))
    end = lab.status(rt.cudaStreamEndCapture(stream))
    lab.begin_capture(stream)
    elsewhere = lab.status(rt.cudaFreeAsync(memory, stream))
    other_end = lab.status(rt.cudaStreamEndCapture(stream))
    return {
        "free in the capture": first,
        "second free in the capture": second,
        "end": end,
        "free in another graph": elsewhere,
        "its end": other_end,
    }


def _alloc_node(lab: Lab, graph: Any, size: int = SIZE) -> tuple[Any, int]:
    rt = lab.rt
    parameters = rt.cudaMemAllocNodeParams()
    parameters.poolProps.allocType = rt.cudaMemAllocationType.cudaMemAllocationTypePinned
    parameters.poolProps.location.type = rt.cudaMemLocationType.cudaMemLocationTypeDevice
    parameters.poolProps.location.id = 0
    parameters.bytesize = size
    result = lab.ok(rt.cudaGraphAddMemAllocNode(graph, None, 0, parameters))
    node = result[0] if isinstance(result, tuple) else result
    return node, int(parameters.dptr)


@graph_case("G-21")
def free_without_edge(lab: Lab) -> Observations:
    """A free node without an edge from the allocation node; instantiation; launch."""
    rt = lab.rt
    graph = lab.ok(rt.cudaGraphCreate(0))
    _, address = _alloc_node(lab, graph)
    node = lab.status(rt.cudaGraphAddMemFreeNode(graph, None, 0, address))
    return {"node": node, "instantiation": lab.status(rt.cudaGraphInstantiate(graph, 0))}


@graph_case("G-23")
def after_update_trim(lab: Lab) -> Observations:
    """cudaFreeAsync of graph memory after its executable took another graph by update, and all was trimmed."""
    rt, stream = lab.rt, lab.stream()
    graph, memory = lab.memory_graph(stream, frees=False)
    executable = lab.instantiate(graph)
    other, other_memory = lab.memory_graph(stream, frees=False, byte=2)
    update = lab.status(rt.cudaGraphExecUpdate(executable, other))
    launched = _launch(lab, executable, stream)
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.ok(rt.cudaGraphExecDestroy(executable))
    lab.ok(rt.cudaGraphDestroy(graph))
    lab.ok(rt.cudaDeviceGraphMemTrim(0))
    return {
        "update": update,
        "launch": launched,
        "free": lab.status(rt.cudaFreeAsync(memory, stream)),
        "free of the new graph's": lab.status(rt.cudaFreeAsync(other_memory, stream)),
    }
