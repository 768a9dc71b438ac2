"""How much memory graphs use."""

from __future__ import annotations

from conformance.cases.graphs import AUTO_FREE
from conformance.lab import Lab
from conformance.registry import Family, Observation, Observations

graph_case = Family("graph", fresh=True)
accounting_case = Family("graph/accounting", fresh=True)


@graph_case("G-03", "accounting")
def leak(lab: Lab) -> Observations:
    """Exec and graph destroyed with an allocation unfreed: used (MiB) before, after, trimmed, freed and trimmed."""
    rt, stream = lab.rt, lab.stream()
    graph, memory = lab.memory_graph(stream, size=16 << 20)
    executable = lab.instantiate(graph)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    observed: Observations = {"launched": lab.graph_bytes("UsedMemCurrent") >> 20}
    lab.ok(rt.cudaGraphExecDestroy(executable))
    lab.ok(rt.cudaGraphDestroy(graph))
    observed["destroyed"] = lab.graph_bytes("UsedMemCurrent") >> 20
    lab.ok(rt.cudaDeviceGraphMemTrim(0))
    observed["trimmed"] = lab.graph_bytes("UsedMemCurrent") >> 20
    observed["free"] = lab.status(rt.cudaFree(memory))
    lab.ok(rt.cudaDeviceGraphMemTrim(0))
    observed["freed"] = lab.graph_bytes("UsedMemCurrent") >> 20
    return observed


@graph_case("G-04")
def leak_auto_free(lab: Lab) -> Observations:
    """8 unfreed allocations of 16 MiB, AutoFree, 4 launches, all destroyed, trimmed: used (MiB)."""
    rt, stream = lab.rt, lab.stream()
    lab.begin_capture(stream)
    for _ in range(8):
        memory = lab.ok(rt.cudaMallocAsync(16 << 20, stream))
        lab.ok(rt.cudaMemsetAsync(memory, 1, 64, stream))
    graph = lab.end_capture(stream)
    executable = lab.instantiate(graph, AUTO_FREE)
    for _ in range(4):
        lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    launched = lab.graph_bytes("UsedMemCurrent") >> 20
    lab.ok(rt.cudaGraphExecDestroy(executable))
    lab.ok(rt.cudaGraphDestroy(graph))
    lab.ok(rt.cudaDeviceGraphMemTrim(0))
    return {"launched": launched, "destroyed and trimmed": lab.graph_bytes("UsedMemCurrent") >> 20}


def _accounting(lab: Lab, size: int) -> Observations:
    rt, stream = lab.rt, lab.stream()
    observed: Observations = {}

    def note(name: str) -> None:
        observed[name] = [lab.graph_bytes("UsedMemCurrent") >> 20, lab.graph_bytes("ReservedMemCurrent") >> 20]

    def set_back(name: str) -> None:
        attribute = getattr(rt.cudaGraphMemAttributeType, f"cudaGraphMemAttr{name}")
        lab.ok(rt.cudaDeviceSetGraphMemAttribute(0, attribute, lab.cu.cuuint64_t(0)))

    note("before")
    graph, _ = lab.memory_graph(stream, frees=True, size=size)
    executable = lab.instantiate(graph)
    note("instantiated")
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    note("launched and waited for")
    lab.ok(rt.cudaDeviceGraphMemTrim(0))
    note("trimmed")
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    note("launched again")
    lab.ok(rt.cudaGraphExecDestroy(executable))
    lab.ok(rt.cudaGraphDestroy(graph))
    note("destroyed")
    lab.ok(rt.cudaDeviceGraphMemTrim(0))
    note("trimmed again")
    observed["high marks"] = [lab.graph_bytes("UsedMemHigh") >> 20, lab.graph_bytes("ReservedMemHigh") >> 20]
    set_back("UsedMemHigh")
    set_back("ReservedMemHigh")
    observed["set back"] = [lab.graph_bytes("UsedMemHigh") >> 20, lab.graph_bytes("ReservedMemHigh") >> 20]
    return observed


Q_05: dict[str, Observation] = {
    "instantiated": [0, 0],
    "launched and waited for": [32, 32],
    "trimmed": [0, 0],
    "launched again": [32, 32],
    "destroyed": [32, 32],
    "trimmed again": [0, 0],
    "high marks": [32, 32],
}


@accounting_case("Q-05", "accounting")
def small(lab: Lab) -> Observations:
    """Used and reserved memory of graphs (MiB) through the life of one that allocates and frees 64 bytes."""
    return _accounting(lab, 64)


@accounting_case("Q-05", "accounting", name="5-mib")
def accounting_5(lab: Lab) -> Observations:
    """The same with 5 MiB."""
    return _accounting(lab, 5 << 20)


@accounting_case("Q-05", "accounting", name="40-mib")
def accounting_40(lab: Lab) -> Observations:
    """The same with 40 MiB."""
    return _accounting(lab, 40 << 20)


@accounting_case("accounting", "Q-05")
def alive(lab: Lab) -> Observations:
    """Used memory of graphs (MiB) with an allocation alive, freed outside, waited for, trimmed."""
    rt, stream = lab.rt, lab.stream()
    graph, memory = lab.memory_graph(stream, size=48 << 20)
    executable = lab.instantiate(graph)
    lab.ok(rt.cudaGraphLaunch(executable, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    observed: Observations = {"launched": lab.graph_bytes("UsedMemCurrent") >> 20}
    lab.ok(rt.cudaFreeAsync(memory, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    observed["freed"] = lab.graph_bytes("UsedMemCurrent") >> 20
    lab.ok(rt.cudaDeviceGraphMemTrim(0))
    observed["trimmed"] = lab.graph_bytes("UsedMemCurrent") >> 20
    return observed
