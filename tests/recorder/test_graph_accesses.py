"""Exact mode, kernels of graphs: each notes under the number of its grid, and the trace says what each node touched."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from fake_device import FakeDevice, Ran
from streamsan.trace import family
from streamsan.trace.view import iterate
from streamsan.vocabulary import NodeKind, OperationKind, SeenAccesses

PROGRAM = """
#include "runtime.hpp"
#include <dlfcn.h>
static constexpr fake::Kernel fill{"_Z4fillPfi", {8, 4}}, scale{"_Z5scalePfi", {8, 4}};
using Byte = unsigned char;
template <class... Arguments>
static cudaError_t driver(const char* name, Arguments... arguments) {
    return reinterpret_cast<cudaError_t (*)(Arguments...)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name))(arguments...);
}
cudaStream_t s, t, u;
cudaEvent_t fork_, join_;
Byte *p, *q;
/// Two kernels side by side.
[[maybe_unused]] static cudaGraph_t captured(Byte* one, Byte* other) {
    cudaGraph_t graph;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork_, s);
    cudaStreamWaitEvent(t, fork_, 0);
    LAUNCH(fill, s, one, 1);
    LAUNCH(scale, t, other, 2);
    cudaEventRecord(join_, t);
    cudaStreamWaitEvent(s, join_, 0);
    cudaStreamEndCapture(s, &graph);
    return graph;
}
static cudaGraphExec_t made(cudaGraph_t graph) {
    cudaGraphExec_t made;
    cudaGraphInstantiate(&made, graph, FLAGS);
    return made;
}
int main() {
    for (cudaStream_t* each : {&s, &t, &u}) cudaStreamCreateWithFlags(each, cudaStreamNonBlocking);
    for (cudaEvent_t* each : {&fork_, &join_}) cudaEventCreate(each);
    for (Byte** each : {&p, &q}) cudaMalloc(reinterpret_cast<void**>(each), 4096);
    BODY
    cudaDeviceSynchronize();
    cudaFree(p);
    cudaFree(q);
    return 0;
}
"""
TRACE = "run.sst"
ALL, LEARNED = SeenAccesses.ALL, SeenAccesses.LEARNED


def ran(body: str, fake_device: FakeDevice, folder: Path, *options: str, flags: int = 0) -> Ran:
    """Run a program under `streamsan run` with these options, and keep the trace."""
    source = folder / "program.cpp"
    source.write_text(PROGRAM.replace("BODY", body).replace("FLAGS", str(flags)))
    return fake_device.run(folder, [fake_device.compiled(source)], "-o", TRACE, "--accesses", *options)


Seen = dict[int, dict[int, tuple[int, ...]]]


def seen_nodes(folder: Path) -> tuple[Seen, dict[int, tuple[int, SeenAccesses]], list[int]]:
    """Return what nodes touched: addresses, by launch and node; launches that are like another; graphs' launches."""
    seen: Seen = defaultdict(dict)
    like: dict[int, tuple[int, SeenAccesses]] = {}
    launches = []
    for view in iterate(family.read(str(folder / TRACE))):
        if view.kind is OperationKind.GRAPH_LAUNCH:
            launches.append(view.sequence)
        if view.kind is OperationKind.NODE_ACCESSES and view.address:
            seen[view.object][view.address] = tuple(each.address for each in view.references)
        elif view.kind is OperationKind.NODE_ACCESSES:
            like[view.object] = view.size, SeenAccesses(view.detail)
    return seen, like, launches


def given(folder: Path) -> dict[int, tuple[int, ...]]:
    """Return the addresses that the kernel nodes of the last body were given, by number."""
    nodes = {}
    for view in iterate(family.read(str(folder / TRACE))):
        if view.kind is OperationKind.GRAPH_NODE and view.detail == NodeKind.KERNEL:
            nodes[view.object] = tuple(each.address for each in view.references)
    return nodes


@pytest.mark.parametrize("destroyed", ["", "cudaGraphDestroy(graph);"])
def test_each_node_has_what_it_touched(destroyed: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    body = f"auto graph = captured(p, q + 512); auto g = made(graph); {destroyed} cudaGraphLaunch(g, s);"
    assert ran(body, fake_device, tmp_path).codes == []
    seen, like, launches = seen_nodes(tmp_path)
    assert like == {}
    assert dict(seen) == {launches[0]: given(tmp_path)}


def test_of_kernels_that_are_alike_nothing_is_told_once_the_graph_is_gone(
    fake_device: FakeDevice, tmp_path: Path
) -> None:
    source = """
    cudaGraph_t graph;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    LAUNCH(fill, s, p, 1);
    LAUNCH(scale, s, q, 1);
    LAUNCH(fill, s, p + 256, 1);
    cudaStreamEndCapture(s, &graph);
    auto g = made(graph);
    cudaGraphDestroy(graph);
    cudaGraphLaunch(g, s);
    """
    done = ran(source, fake_device, tmp_path)
    assert "nothing tells which of its nodes they are" in done.errors
    seen, _, launches = seen_nodes(tmp_path)
    assert dict(seen) == {launches[0]: {2: given(tmp_path)[2]}}


def test_nodes_side_by_side(fake_device: FakeDevice, tmp_path: Path) -> None:
    # Each kernel writes the first 256 bytes behind its argument.
    body = "auto g = made(captured(p, p + OFFSET)); for (int i = 0; i < 3; ++i) cudaGraphLaunch(g, s);"
    assert ran(body.replace("OFFSET", "256"), fake_device, tmp_path).codes == []
    wrong = ran(body.replace("OFFSET", "252"), fake_device, tmp_path)
    assert [(finding["code"], finding["severity"]) for finding in wrong.report["findings"]] == [("SS109", "error")]


def test_graph_against_stream_and_graph(fake_device: FakeDevice, tmp_path: Path) -> None:
    stream = "auto g = made(captured(p, p + 256)); cudaGraphLaunch(g, s); LAUNCH(fill, u, p + OFFSET, 3);"
    assert ran(stream.replace("OFFSET", "512"), fake_device, tmp_path).codes == []
    assert ran(stream.replace("OFFSET", "508"), fake_device, tmp_path).codes == ["SS109"]
    graphs = (
        "auto g = made(captured(p, p + 256)), h = made(captured(p + 512, p + OFFSET));"
        "cudaGraphLaunch(g, s); cudaGraphLaunch(h, u);"
    )
    assert ran(graphs.replace("OFFSET", "768"), fake_device, tmp_path).codes == []
    assert ran(graphs.replace("OFFSET", "256"), fake_device, tmp_path).codes == ["SS109"]


def test_launches_that_are_alike_are_told_in_one_slot(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "auto g = made(captured(p, q)); for (int i = 0; i < 4; ++i) cudaGraphLaunch(g, s), cudaStreamSynchronize(s);"
    ran(body, fake_device, tmp_path)
    seen, like, launches = seen_nodes(tmp_path)
    assert list(seen) == launches[:1]
    assert like == dict.fromkeys(launches[1:], (launches[0], ALL))


@pytest.mark.deep
def test_a_node_that_is_given_other_memory(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = """
    auto graph = captured(p, p + 256);
    auto g = made(graph);
    void* nodes[2]; std::size_t count = 2;
    driver("cuGraphGetNodes", graph, &nodes[0], &count);
    cudaGraphLaunch(g, s);
    cudaStreamSynchronize(s);
    Byte* now = p + 1024; int one = 1; void* arguments[] = {&now, &one};
    struct { void* function; unsigned sizes[7]; void** arguments; void** extra; const void* kernel; void* context; }
        set{nullptr, {}, arguments, nullptr, &fill, nullptr};
    driver("cuGraphExecKernelNodeSetParams_v2", g, nodes[0], &set);
    cudaGraphLaunch(g, s);
    LAUNCH(fill, u, p + OFFSET, 3);
    """
    assert ran(body.replace("OFFSET", "0"), fake_device, tmp_path).codes == []
    assert ran(body.replace("OFFSET", "1024"), fake_device, tmp_path).codes == ["SS109"]


@pytest.mark.deep
def test_a_node_that_is_disabled_touches_nothing(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = """
    auto graph = captured(p, p + 256);
    auto g = made(graph);
    void* nodes[2]; std::size_t count = 2;
    driver("cuGraphGetNodes", graph, &nodes[0], &count);
    cudaGraphLaunch(g, s);
    cudaStreamSynchronize(s);
    driver("cuGraphNodeSetEnabled", g, nodes[0], 0u);
    cudaGraphLaunch(g, s);
    LAUNCH(fill, u, p, 3);
    """
    assert ran(body, fake_device, tmp_path).codes == []


@pytest.mark.deep
def test_an_update_by_another_graph(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = """
    auto graph = captured(p, p + 256);
    auto g = made(graph);
    cudaGraphDestroy(graph);
    cudaGraphLaunch(g, s);
    cudaStreamSynchronize(s);
    auto other = captured(q, q + OFFSET);
    driver("cuGraphExecUpdate_v2", g, other, nullptr);
    cudaGraphDestroy(other);
    cudaGraphLaunch(g, s);
    LAUNCH(fill, u, p, 3);
    """
    assert ran(body.replace("OFFSET", "256"), fake_device, tmp_path).codes == []
    assert ran(body.replace("OFFSET", "252"), fake_device, tmp_path).codes == ["SS109"]


def test_graphs_for_the_device_are_left_alone(fake_device: FakeDevice, tmp_path: Path) -> None:
    done = ran("auto g = made(captured(p, q)); cudaGraphLaunch(g, s);", fake_device, tmp_path, flags=4)
    assert "made for launches from the device" in done.errors
    assert seen_nodes(tmp_path)[:2] == ({}, {})


@pytest.mark.deep
def test_kernels_of_graphs_are_chosen(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = "auto g = made(captured(p, q)); for (int i = 0; i < 2; ++i) cudaGraphLaunch(g, s), cudaStreamSynchronize(s);"
    ran(body, fake_device, tmp_path, "--accesses-of", "^scale")
    seen, like, launches = seen_nodes(tmp_path)
    (node,) = seen[launches[0]]
    assert seen[launches[0]][node] == given(tmp_path)[node]
    assert list(like) == launches[1:]
    ran(body, fake_device, tmp_path, "--accesses-of", "none")
    assert seen_nodes(tmp_path)[:2] == ({}, {})


def test_later_launches_of_a_graph_are_trusted(fake_device: FakeDevice, tmp_path: Path) -> None:
    waits = "auto g = made(captured(p, q)); for (int i = 0; i < 4; ++i) { cudaGraphLaunch(g, s); WAIT }"
    for wait in "cudaStreamSynchronize(s);", "":
        ran(waits.replace("WAIT", wait), fake_device, tmp_path, "--accesses-first", "1")
        seen, like, launches = seen_nodes(tmp_path)
        assert list(seen) == launches[:1]
        assert like == dict.fromkeys(launches[1:], (launches[0], LEARNED))


@pytest.mark.deep
def test_a_launch_that_failed_is_not_told_of(fake_device: FakeDevice, tmp_path: Path) -> None:
    body = """
    void* kept;
    cudaGraph_t graph;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&kept, 4096, s);
    LAUNCH(fill, s, p, 1);
    cudaStreamEndCapture(s, &graph);
    auto g = made(graph);
    for (int i = 0; i < 2; ++i) cudaGraphLaunch(g, s), cudaStreamSynchronize(s);
    """
    for options in (), ("--accesses-first", "1"):
        ran(body, fake_device, tmp_path, *options)
        seen, like, launches = seen_nodes(tmp_path)
        assert len(launches) == 2
        assert list(seen) == launches[:1]
        assert like == {}
