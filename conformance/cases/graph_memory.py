"""Memory of graphs: consumers, frees outside and by other graphs, restrictions."""

from __future__ import annotations

from typing import Any

from conformance.cases.graphs import AUTO_FREE, INVALID, NOT_SUPPORTED, SUCCESS, _launch
from conformance.lab import SIZE, Lab
from conformance.registry import Observations, case


def _second(lab: Lab, frees: bool) -> Observations:
    rt = lab.rt
    graph, _ = lab.memory_graph(lab.stream(), frees=frees)
    clone = lab.status(rt.cudaGraphClone(graph))
    executable = lab.instantiate(graph)
    second = lab.status(rt.cudaGraphInstantiate(graph, 0))
    lab.ok(rt.cudaGraphExecDestroy(executable))
    third = lab.status(rt.cudaGraphInstantiate(graph, 0))
    return {"clone": clone, "second instantiation": second, "after the first was destroyed": third}


@case(
    "graph/second-instance/unfreed",
    "a graph with an allocation node: clone, second instantiation, instantiation after the first was destroyed",
    ["G-07", "G-19"],
    expected={"clone": NOT_SUPPORTED, "second instantiation": NOT_SUPPORTED, "after the first was destroyed": SUCCESS},
)
def second_unfreed(lab: Lab) -> Observations:
    return _second(lab, frees=False)


@case(
    "graph/second-instance/freed",
    "the same for a graph that frees what it allocates",
    ["G-07", "G-19"],
    expected={"clone": NOT_SUPPORTED, "second instantiation": NOT_SUPPORTED},
)
def second_freed(lab: Lab) -> Observations:
    return _second(lab, frees=True)


@case(
    "graph/freed-inside",
    "memory that the graph itself frees: fill, cudaFreeAsync and cudaFree outside after a launch",
    ["G-08"],
    expected={"fill": INVALID, "cudaFreeAsync": INVALID},
)
def freed_inside(lab: Lab) -> Observations:
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


@case(
    "graph/freed-outside/cudaFreeAsync",
    "memory of a graph freed outside by cudaFreeAsync, twice, then a relaunch",
    ["G-10", "G-18"],
    expected={"free": SUCCESS, "second free": INVALID, "relaunch": SUCCESS},
)
def freed_outside_async(lab: Lab) -> Observations:
    return _freed_outside(lab, "cudaFreeAsync")


@case(
    "graph/freed-outside/cudaFree",
    "memory of a graph freed outside by cudaFree, then a relaunch",
    ["G-10"],
    expected={"free": SUCCESS, "relaunch": SUCCESS},
)
def freed_outside(lab: Lab) -> Observations:
    return _freed_outside(lab, "cudaFree")


@case(
    "graph/memory-read-unordered",
    "memory of a graph read in another stream, without an order after the launch",
    ["G-14"],
    timed=True,
    expected={"launch": SUCCESS, "wrong": "all"},
)
def unordered(lab: Lab) -> Observations:
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


@case(
    "graph/auto-free/consumer-unordered",
    "AutoFreeOnLaunch: another stream still reads the memory when the next launch frees and refills it",
    ["auto-free", "G-02"],
    timed=True,
)
def consumer_unordered(lab: Lab) -> Observations:
    return _consumer(lab, ordered=False)


@case(
    "graph/auto-free/consumer-ordered",
    "the same with an event from the reader to the launching stream",
    ["auto-free", "G-02"],
    timed=True,
)
def consumer_ordered(lab: Lab) -> Observations:
    return _consumer(lab, ordered=True)


@case(
    "graph/auto-free/freed-by-consumer",
    "AutoFreeOnLaunch: another stream frees the memory behind its reader; the next launch",
    ["auto-free", "G-22"],
    timed=True,
)
def freed_by_consumer(lab: Lab) -> Observations:
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


@case(
    "graph/before-launch",
    "fill, cudaFreeAsync, cudaFree of graph memory before any launch",
    ["G-15"],
    expected={"fill": INVALID, "cudaFreeAsync": INVALID, "cudaFree": INVALID},
)
def before_launch(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    _, memory = lab.memory_graph(stream)
    return {
        "fill": lab.status(rt.cudaMemsetAsync(memory, 1, SIZE, stream)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, stream)),
        "cudaFree": lab.status(rt.cudaFree(memory)),
    }


@case(
    "graph/memory-nodes/restrictions",
    "a graph with memory nodes as a child of another; cudaGraphDestroyNode of a memory node",
    ["G-16", "graph-restrictions"],
    expected={"child": NOT_SUPPORTED, "destroy node": NOT_SUPPORTED},
)
def restrictions(lab: Lab) -> Observations:
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


@case(
    "graph/free-by-other",
    "a second graph frees the first one's memory: launches in all orders",
    ["G-17"],
    expected={
        "capture": SUCCESS,
        "free": SUCCESS,
        "relaunch": SUCCESS,
        "free again": SUCCESS,
        "free of nothing": INVALID,
    },
)
def free_by_other(lab: Lab) -> Observations:
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


@case(
    "graph/free-by-two",
    "two graphs each free the memory of a third: captures, instantiations, launches",
    ["G-25", "free-by-two-graphs", "G-17", "G-20"],
)
def free_by_two(lab: Lab) -> Observations:
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


@case(
    "graph/free-by-two-streams",
    "a freeing graph launched on two streams, the memory alive once",
    ["free-by-two-graphs", "G-17"],
)
def free_on_two_streams(lab: Lab) -> Observations:
    stream, other = lab.stream(), lab.stream()
    graph, memory = lab.memory_graph(stream)
    _, freeing = _free_graph(lab, stream, memory)
    first, second = lab.instantiate(graph), lab.instantiate(freeing)
    lab.ok(lab.rt.cudaGraphLaunch(first, stream))
    lab.after(other, stream)
    return {"free": _launch(lab, second, other), "second free": _launch(lab, second, stream)}


@case(
    "graph/instances",
    "instantiation after the first was destroyed; update with a graph of the same shape and its own memory",
    ["G-24", "G-19"],
    expected={"instantiation": SUCCESS},
)
def instances(lab: Lab) -> Observations:
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


@case(
    "graph/free-nodes",
    "a second free node for one allocation; capturing the free of memory that its own graph frees",
    ["G-20"],
    expected={"second free in the capture": INVALID},
)
def free_nodes(lab: Lab) -> Observations:
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


@case(
    "graph/free-without-edge",
    "a free node without an edge from the allocation node; instantiation; launch",
    ["G-21"],
    expected={"node": SUCCESS, "instantiation": SUCCESS},
)
def free_without_edge(lab: Lab) -> Observations:
    rt = lab.rt
    graph = lab.ok(rt.cudaGraphCreate(0))
    _, address = _alloc_node(lab, graph)
    node = lab.status(rt.cudaGraphAddMemFreeNode(graph, None, 0, address))
    return {"node": node, "instantiation": lab.status(rt.cudaGraphInstantiate(graph, 0))}


@case(
    "graph/after-update-trim",
    "cudaFreeAsync of graph memory after its executable took another graph by update, all was destroyed and trimmed",
    ["G-23"],
)
def after_update(lab: Lab) -> Observations:
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
