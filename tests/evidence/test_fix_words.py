"""Where a fix's words say that something goes: lines that tell the two places apart, and how an edge is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan import check
from streamsan.analysis.traces import check_trace
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.vocabulary import AccessMode, ContextKind, MemoryKind, OperationKind, StreamKind

ONE, OTHER = 100, 101


def nested_race(fills: tuple[int, str], copies: tuple[int, str], called: tuple[int, int], *, records: bool) -> Trace:
    """Return a recording in which a fill and a copy race: line and function of each, and the lines of main's calls."""
    builder = TraceBuilder("a.sst", origin="recording")
    thread = builder.thread(0, "main")

    def put(kind: OperationKind, site: int, api: str = "", **values: object) -> None:
        builder.append(kind, thread=thread, site=site, api=api, **values)  # type: ignore[arg-type]

    def at(line: int, function: str, caller: int) -> int:
        outer = builder.site(Site("a.cu", caller, function="main"))
        return builder.site(Site("a.cu", line, function=function, caller=outer))

    main = builder.site(Site("a.cu", 80, function="main"))
    put(OperationKind.CONTEXT_CREATE, main, object=7, detail=ContextKind.PRIMARY)
    put(OperationKind.CONTEXT_CURRENT, main, object=7)
    for stream in (ONE, OTHER):
        put(OperationKind.STREAM_CREATE, main, object=stream, detail=StreamKind.NON_BLOCKING)
    put(OperationKind.ALLOC, main, "cudaMalloc", detail=MemoryKind.PLAIN, references=[Reference(0x10000, 4096)])
    filled = [Reference(0x10000, 4096, 0, AccessMode.WRITE)]
    put(OperationKind.MEMSET, at(*fills, called[0]), "cudaMemsetAsync", stream=ONE, references=filled)
    if records:
        put(OperationKind.EVENT_CREATE, main, object=500)
        put(OperationKind.EVENT_RECORD, at(11, "begin", called[0]), "cudaEventRecord", object=500, stream=ONE)
    copied = [Reference(0x7F000000, 4096, 0, AccessMode.WRITE), Reference(0x10000, 4096, 0, AccessMode.READ)]
    put(OperationKind.COPY, at(*copies, called[1]), "cudaMemcpyAsync", stream=OTHER, references=copied)
    put(OperationKind.CONTEXT_SYNCHRONIZE, main, "cudaDeviceSynchronize", object=7)
    return builder.finish()


def summary(trace: Trace) -> str:
    (finding,) = (each for each in check_trace(trace, "a.sst").findings if each.code == "SS109")
    assert finding.fix is not None
    assert finding.fix.verified, finding.no_fix
    return finding.fix.summary


def test_calls_in_main_lead_to_the_two_places() -> None:
    words = summary(nested_race((10, "begin"), (20, "end"), (91, 92), records=False))
    assert words.startswith("before line 92: cudaEventRecord(event, <stream 1")
    words = summary(nested_race((10, "begin"), (20, "end"), (91, 92), records=True))
    assert words.startswith("before line 92: cudaStreamWaitEvent(<stream 2")
    assert "<the event of line 91>" in words


def test_of_one_call_that_leads_to_both_the_inner_lines_are_named() -> None:
    # A recorded stack has no functions that were inlined: main's line 91 is all that the two share.
    words = summary(nested_race((10, "begin"), (20, "end"), (91, 91), records=False))
    assert words.startswith("before line 20: cudaEventRecord(event, <stream 1")
    words = summary(nested_race((10, "begin"), (20, "end"), (91, 91), records=True))
    assert words.startswith("before line 20: cudaStreamWaitEvent(<stream 2")
    assert "<the event of line 11>" in words


def test_no_edge_leads_out_of_a_child_graph() -> None:
    litmus = Path(__file__).parents[1] / "litmus" / "ss109_beside_child_graph.wrong.cu"
    (finding,) = (each for each in check([str(litmus)]).findings if each.code == "SS109")
    assert finding.fix is not None
    assert finding.fix.summary.endswith("of what lies in a child graph or a conditional body, the node that holds it")


HEAD = """\
#include <cuda_runtime.h>
int main() {
    float *device, *host;
    cudaMalloc(&device, 4096);
    cudaMallocHost(&host, 4096);
    cudaStream_t one, other;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
"""
CAPTURED = """\
    cudaEvent_t fork, join;
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, one);
    cudaStreamWaitEvent(other, fork, 0);
    cudaMemsetAsync(device, 0, 4096, other);
    cudaMemcpyAsync(host, device, 4096, cudaMemcpyDeviceToHost, one);
    cudaEventRecord(join, other);
    cudaStreamWaitEvent(one, join, 0);
    cudaStreamEndCapture(one, &graph);
"""
BUILT = """\
    cudaGraphCreate(&graph, 0);
    cudaGraphNode_t fill, copy;
    cudaMemsetParams params = {};
    params.dst = device;
    params.elementSize = 4;
    params.width = 1024;
    params.height = 1;
    cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &params);
    cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host, device, 4096, cudaMemcpyDeviceToHost);
"""
TAIL = """\
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, one);
    cudaStreamSynchronize(one);
}
"""


@pytest.mark.parametrize(
    ("body", "written", "words"),
    [
        (
            CAPTURED,
            "before line 18: cudaEventRecord(streamsan_event, other); cudaStreamWaitEvent(one, streamsan_event, 0)",
            "in the capture, after line 17: cudaEventRecord(event, <the stream of the fill>); "
            "before line 18: cudaStreamWaitEvent(<the stream of the copy>, event, 0)",
        ),
        (
            BUILT,
            "line 19: the node depends on `fill`",
            "make the copy (line 19) depend on the fill (line 18): by its list of dependencies, "
            "or cudaGraphAddDependencies",
        ),
    ],
)
def test_an_edge_is_an_event_in_a_capture_and_a_dependency_where_the_graph_is_built(
    body: str, written: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.cu"
    source.write_text(HEAD + body + TAIL, encoding="utf-8")
    for summary in (written, words):
        (finding,) = (each for each in check([str(source)]).findings if each.code == "SS109")
        assert finding.fix is not None
        assert finding.fix.verified
        assert finding.fix.summary == summary
        # A trace of a program whose text is not known says it in other words.
        monkeypatch.setattr("streamsan.edits.written_steps.wording_of", lambda unit_of: None)
