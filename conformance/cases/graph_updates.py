"""Updates of executable graphs, clones, structure."""

from __future__ import annotations

from typing import Any

from conformance.cases.graphs import _launch
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

update_case = Family("graph/update")
graph_case = Family("graph")


@update_case("G-24", "G-19", "graph-restrictions")
def memory(lab: Lab) -> Observations:
    """cudaGraphExecUpdate with a graph of the same shape and its own memory (freed in it, or not), at two times."""
    rt, stream = lab.rt, lab.stream()
    observed: Observations = {}
    for name, frees in (("freed", True), ("unfreed", False)):
        for when in ("before a launch", "after a launch"):
            graph, memory = lab.memory_graph(stream, frees=frees)
            executable = lab.instantiate(graph)
            if when == "after a launch":
                lab.ok(rt.cudaGraphLaunch(executable, stream))
                if not frees:
                    lab.ok(rt.cudaFreeAsync(memory, stream))
                lab.ok(rt.cudaStreamSynchronize(stream))
            other, _ = lab.memory_graph(stream, frees=frees, byte=2)
            observed[f"{name}, {when}"] = lab.status(rt.cudaGraphExecUpdate(executable, other))
    rt.cudaGetLastError()
    return observed


@update_case("graph-restrictions")
def same_shape(lab: Lab) -> Observations:
    """cudaGraphExecUpdate with a fill of another value, of another address, and with another shape."""
    rt, stream, memory, other = lab.rt, lab.stream(), lab.plain(byte=1), lab.plain(byte=1)

    def captured(target: Any, byte: int, twice: bool = False) -> Any:
        lab.begin_capture(stream)
        for _ in range(2 if twice else 1):
            lab.ok(rt.cudaMemsetAsync(target, byte, SIZE, stream))
        return lab.end_capture(stream)

    executable = lab.instantiate(captured(memory, 5))
    value = lab.status(rt.cudaGraphExecUpdate(executable, captured(memory, 6)))
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    observed: Observations = {"another value": value, "its words": lab.wrong(memory, 6)}
    observed["another address"] = lab.status(rt.cudaGraphExecUpdate(executable, captured(other, 7)))
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    observed["its words there"] = lab.wrong(other, 7)
    refused = rt.cudaGraphExecUpdate(executable, captured(memory, 8, twice=True))
    observed["another shape"] = lab.status(refused)
    observed["launch after the refusal"] = _launch(lab, executable, stream)
    observed["words after it"] = lab.wrong(other, 7)
    return observed


@update_case("graph-restrictions", timed=True)
def while_pending(lab: Lab) -> Observations:
    """cudaGraphExecUpdate while a launch is pending: does it wait, and what does the pending launch do."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    graphs = []
    for byte in (5, 6):
        lab.begin_capture(stream)
        lab.ok(rt.cudaMemsetAsync(memory, byte, SIZE, stream))
        graphs.append(lab.end_capture(stream))
    executable = lab.instantiate(graphs[0])
    pending = lab.busy(stream)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    status, waited = lab.timed(pending, lambda: rt.cudaGraphExecUpdate(executable, graphs[1]))
    return {
        "status": status,
        "waited": waited,
        "the pending launch writes the old value": lab.wrong(memory, 5) == "none",
    }


@update_case("graph-restrictions")
def set_params(lab: Lab) -> Observations:
    """cudaGraphExecMemsetNodeSetParams of a launched graph, then a launch; of a node of another graph."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    graph = lab.ok(rt.cudaGraphCreate(0))
    parameters = rt.cudaMemsetParams()
    parameters.dst, parameters.value, parameters.elementSize = int(memory), 5, 1
    parameters.width, parameters.height, parameters.pitch = SIZE, 1, SIZE
    node = lab.ok(rt.cudaGraphAddMemsetNode(graph, None, 0, parameters))
    executable = lab.instantiate(graph)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    first = lab.wrong(memory, 5)
    parameters.value = 6
    changed = lab.status(rt.cudaGraphExecMemsetNodeSetParams(executable, node, parameters))
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    return {"first": first, "change": changed, "second": lab.wrong(memory, 6)}


@graph_case("graph-restrictions")
def clone(lab: Lab) -> Observations:
    """A graph without memory nodes: cloned, both instantiated and launched."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    lab.begin_capture(stream)
    lab.ok(rt.cudaMemsetAsync(memory, 5, SIZE, stream))
    graph = lab.end_capture(stream)
    cloned = lab.ok(rt.cudaGraphClone(graph))
    one, other, again = lab.instantiate(graph), lab.instantiate(cloned), lab.instantiate(graph)
    statuses = [_launch(lab, each, stream) for each in (one, other, again)]
    lab.ok(rt.cudaGraphDestroy(graph))
    return {
        "launches": statuses,
        "clone after its original": _launch(lab, other, stream),
        "wrong": lab.wrong(memory, 5),
    }


@graph_case("graph-restrictions")
def cycle(lab: Lab) -> Observations:
    """An edge that closes a cycle: the edge, the instantiation."""
    rt = lab.rt
    graph = lab.ok(rt.cudaGraphCreate(0))
    one = lab.ok(rt.cudaGraphAddEmptyNode(graph, None, 0))
    other = lab.ok(rt.cudaGraphAddEmptyNode(graph, [one], 1))
    edge = lab.status(rt.cudaGraphAddDependencies(graph, [other], [one], None, 1))
    return {"edge": edge, "instantiation": lab.status(rt.cudaGraphInstantiate(graph, 0))}


@graph_case("graph-restrictions")
def empty(lab: Lab) -> Observations:
    """A graph without nodes: instantiation, launch."""
    rt = lab.rt
    made = rt.cudaGraphInstantiate(lab.ok(rt.cudaGraphCreate(0)), 0)
    return {"instantiation": lab.status(made), "launch": _launch(lab, made[1], lab.stream())}


@graph_case("wrong-handles", "G-11")
def destroyed_handles(lab: Lab) -> Observations:
    """A graph is destroyed while its executable lives: launch, update with it gone."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    lab.begin_capture(stream)
    lab.ok(rt.cudaMemsetAsync(memory, 5, SIZE, stream))
    graph = lab.end_capture(stream)
    executable = lab.instantiate(graph)
    lab.ok(rt.cudaGraphDestroy(graph))
    return {"launch": _launch(lab, executable, stream), "wrong": lab.wrong(memory, 5)}
