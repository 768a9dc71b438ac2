# ruff: noqa: E501 - programs under test stay as a person would type them
"""Host functions in streams, captures and graphs run where they are reached, and not before."""

from __future__ import annotations

from reading import loud, run

BEFORE = """
struct Work { float* out; int n; };
void CUDART_CB finish(void* data) { Work* w = static_cast<Work*>(data); w->out[0] = 1.0f; }
"""
SETUP = "float* h; cudaMallocHost(&h, 64); Work w{h, 4}; cudaStream_t s; cudaStreamCreate(&s); cudaGraph_t g; cudaGraphExec_t e;"


def writes(tmp_path, body):
    ops = run(f"{BEFORE}int main() {{\n  {SETUP}\n{body}\n}}\n", tmp_path)
    pinned = next(op.object for op in ops if op.kind == "ALLOC" and op.label == "h")
    order = []
    for op in ops:
        if op.kind == "HOST_ACCESS" and op.object == pinned and op.flags & 2:
            order.append(("write", op.thread))
        elif op.kind in ("GRAPH_LAUNCH", "HOST_FUNCTION", "CAPTURE_END"):
            order.append((op.kind, op.thread))
    return ops, order


def test_in_a_stream_at_once(tmp_path):
    _, order = writes(tmp_path, "  cudaLaunchHostFunc(s, finish, &w);")
    assert order == [("HOST_FUNCTION", 0), ("write", 1)]


def test_in_a_capture_at_each_launch(tmp_path):
    body = """  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaLaunchHostFunc(s, finish, &w);
  cudaStreamEndCapture(s, &g); cudaGraphInstantiate(&e, g, 0);
  cudaGraphLaunch(e, s); cudaGraphLaunch(e, s);"""
    _, order = writes(tmp_path, body)
    assert order == [("CAPTURE_END", 0), ("GRAPH_LAUNCH", 0), ("write", 1), ("GRAPH_LAUNCH", 0), ("write", 2)]


def test_in_a_node_under_the_key_that_the_trace_names(tmp_path):
    body = """  cudaGraphCreate(&g, 0); cudaHostNodeParams p = {0}; p.fn = finish; p.userData = &w; cudaGraphNode_t n;
  cudaGraphAddHostNode(&n, g, nullptr, 0, &p); cudaGraphInstantiate(&e, g, 0); cudaGraphLaunch(e, s);"""
    ops, order = writes(tmp_path, body)
    assert order == [("GRAPH_LAUNCH", 0), ("write", 1)]
    key = next(op.address for op in ops if op.kind == "GRAPH_NODE")
    assert key != 0
    assert [op.object for op in ops if op.kind in ("HOST_ACQUIRE", "HOST_RELEASE") and op.thread == 1] == [key, key]


def test_a_lambda_and_a_disabled_node(tmp_path):
    body = """  cudaGraphCreate(&g, 0); cudaGraphNodeParams p = {cudaGraphNodeTypeHost}; p.host.fn = [](void* data) { *(float*)data = 2.0f; }; p.host.userData = h; cudaGraphNode_t n;
  cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p); cudaGraphInstantiate(&e, g, 0); cudaGraphLaunch(e, s);"""
    _, order = writes(tmp_path, body)
    assert order == [("GRAPH_LAUNCH", 0), ("write", 1)]


JOB = """#include <cuda_runtime.h>
#include <cstdio>
struct Total {{ long sum; int rows; }};
struct Job {{ const int* values; int n; Total total; {flag} }};
void CUDART_CB add_up(void* given) {{
    Job* job = static_cast<Job*>(given);
    Total total; total.sum = 0; total.rows = job->n;
    for (int i = 0; i < job->n; ++i) total.sum += job->values[i];
    job->total = total;
    {tell}
}}
__global__ void count(int* values, int n) {{ int i = threadIdx.x; if (i < n) values[i] = i; }}
int main() {{
    int *values, *host; cudaMalloc(&values, 256); cudaMallocHost(&host, 256);
    cudaStream_t s; cudaStreamCreate(&s); cudaEvent_t done; cudaEventCreate(&done);
    Job* job = new Job{{host, 64}};
    count<<<1, 64, 0, s>>>(values, 64);
    cudaMemcpyAsync(host, values, 256, cudaMemcpyDeviceToHost, s);
    {issue}
    {wait}
    std::printf("%d rows: %ld\\n", job->n, job->total.sum);
    cudaStreamSynchronize(s);
    delete job; cudaEventDestroy(done); cudaStreamDestroy(s); cudaFreeHost(host); cudaFree(values);
}}
"""
ISSUE, RECORD, WAIT = "cudaLaunchHostFunc(s, add_up, job);", "cudaEventRecord(done, s);", "cudaEventSynchronize(done);"


def test_results_of_a_host_function_are_read_when_it_has_run(tmp_path):
    early = JOB.format(flag="", tell="", issue=RECORD + ISSUE, wait=WAIT)
    (found,) = loud(early, tmp_path)
    assert (found.code, found.location.line) == ("SS108", early[: early.index("%d rows")].count("\n") + 1)
    assert not loud(JOB.format(flag="", tell="", issue=ISSUE + RECORD, wait=WAIT), tmp_path)


def test_a_host_function_that_tells_by_other_means_is_left_alone(tmp_path):
    flag = JOB.format(flag="volatile int ready;", tell="job->ready = 1;", issue=ISSUE, wait="while (!job->ready) {}")
    rows = JOB.format(flag="", tell="", issue=ISSUE, wait="while (job->total.rows == 0) {}")
    assert not loud(flag, tmp_path)
    assert not loud(rows, tmp_path)
