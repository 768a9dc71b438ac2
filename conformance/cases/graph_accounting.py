"""How much memory graphs use."""

from __future__ import annotations

from conformance.cases.graphs import AUTO_FREE
from conformance.lab import Lab
from conformance.registry import Observation, Observations, case


@case(
    "graph/leak",
    "exec and graph destroyed with an allocation unfreed: used (MiB) before, after, trimmed, freed and trimmed",
    ["G-03", "accounting"],
    fresh=True,
)
def leak(lab: Lab) -> Observations:
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


@case(
    "graph/leak-auto-free",
    "8 unfreed allocations of 16 MiB, AutoFree, 4 launches, all destroyed, trimmed: used (MiB)",
    ["G-04"],
    fresh=True,
    expected={"launched": 128, "destroyed and trimmed": 128},
)
def leak_auto_free(lab: Lab) -> Observations:
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


@case(
    "graph/accounting/small",
    "used and reserved memory of graphs (MiB) through the life of one that allocates and frees 64 bytes",
    ["Q-05", "accounting"],
    fresh=True,
    expected=Q_05,
)
def accounting_small(lab: Lab) -> Observations:
    return _accounting(lab, 64)


@case(
    "graph/accounting/5-mib",
    "the same with 5 MiB",
    ["Q-05", "accounting"],
    fresh=True,
    expected=Q_05,
)
def accounting_5(lab: Lab) -> Observations:
    return _accounting(lab, 5 << 20)


@case(
    "graph/accounting/40-mib",
    "the same with 40 MiB",
    ["Q-05", "accounting"],
    fresh=True,
)
def accounting_40(lab: Lab) -> Observations:
    return _accounting(lab, 40 << 20)


@case(
    "graph/accounting/alive",
    "used memory of graphs (MiB) with an allocation alive, freed outside, waited for, trimmed",
    ["accounting", "Q-05"],
    fresh=True,
)
def accounting_alive(lab: Lab) -> Observations:
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
