"""Programs that note in a variable what a query said, and go on by that."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import loud

PROGRAM = """#include <cuda_runtime.h>
struct Buffer {{
    float* host;
    cudaEvent_t e;
    bool pending = false;
    bool ready() {{ if (pending && cudaEventQuery(e) == cudaSuccess) pending = false; return !pending; }}
}};
int main() {{
    float* device;
    cudaStream_t s;
    Buffer b;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaEventCreate(&b.e);
    cudaMallocHost(&b.host, 1024);
    cudaMalloc(&device, 1024);
    cudaEvent_t other;
    cudaEventCreate(&other);
    for (int round = 0; round < 3; ++round) {{
        {wait}
        b.host[0] = round;
        cudaMemcpyAsync(device, b.host, 1024, cudaMemcpyHostToDevice, s);
        cudaEventRecord(b.e, s);
        b.pending = true;
    }}
    cudaStreamSynchronize(s);
    cudaFree(device);
    cudaFreeHost(b.host);
    cudaEventDestroy(b.e);
    cudaEventDestroy(other);
    cudaStreamDestroy(s);
}}
"""
WAITS = {
    "a flag": "bool done = round == 0; while (!done) if (cudaEventQuery({e}) == cudaSuccess) done = true;",
    "busy": "bool busy = round > 0; while (busy) { busy = false; if (cudaEventQuery({e}) == cudaErrorNotReady) busy = true; }",
    "how many are left": "int left = round > 0; while (left > 0) if (cudaEventQuery({e}) == cudaSuccess) --left;",
    "a state": "int state = round ? 1 : 2; while (state != 2) { if (cudaEventQuery({e}) == cudaSuccess) state = 2; }",
    "a mask": "unsigned m = round ? 1u : 0u; while (m) if (cudaEventQuery({e}) == cudaSuccess) m &= ~1u;",
    "a pending copy": "if (b.pending && cudaEventQuery({e}) == cudaSuccess) b.pending = false; if (b.pending) continue;",
}  # fmt: skip


@pytest.mark.parametrize("wait", [*WAITS.values(), "while (!b.ready()) {}"], ids=[*WAITS, "a member"])
def test_what_a_query_said_holds_with_what_was_noted(tmp_path, wait):
    assert loud(PROGRAM.format(wait=wait.replace("{e}", "b.e")), tmp_path) == []


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_query_of_another_event_says_nothing(tmp_path, wait):
    found = {each.code for each in loud(PROGRAM.format(wait=wait.replace("{e}", "other")), tmp_path)}
    assert found == {"SS108"}
