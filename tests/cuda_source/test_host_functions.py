# ruff: noqa: E501 - programs under test stay as a person would type them
"""Host functions in streams, captures and graphs run where they are reached, and not before."""

from __future__ import annotations

from reading import run

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
