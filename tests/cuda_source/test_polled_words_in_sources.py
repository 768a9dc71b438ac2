"""Kernels of a source that poll a word: a note at most where the word may order them (SS109)."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamsan

HEAD = """#include <cuda_runtime.h>
#include <cuda/atomic>
struct Control { float* data; volatile int* stop; };
__global__ void fill(float* data) { data[threadIdx.x] = 1.0f; }
__global__ void set(int* flag) { flag[0] = 1; }
__global__ void gate(volatile int* flag) { while (*flag == 0) {} }
__global__ void work(float* data, volatile int* stop) { while (!*stop) data[threadIdx.x] += 1.0f; }
__global__ void looks(float* data, volatile int* stop) { if (!*stop) data[threadIdx.x] += 1.0f; }
__global__ void plain(float* data, int* stop) { while (!*stop) data[threadIdx.x] += 1.0f; }
__global__ void counts(float* data, int* stop) { while (atomicAdd(stop, 0) == 0) data[threadIdx.x] += 1.0f; }
__global__ void held(Control c) { while (*c.stop == 0) c.data[threadIdx.x] += 1.0f; }
__global__ void atomic_object(float* data, int* stop) {
    cuda::atomic_ref<int, cuda::thread_scope_device> told(*stop);
    while (told.load(cuda::memory_order_acquire) == 0) data[threadIdx.x] += 1.0f;
}
__device__ volatile int done;
__global__ void variable(float* data) { while (done == 0) data[threadIdx.x] += 1.0f; }
int main() {
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    float* data;
    int *flag, *one;
    cudaMalloc(&data, 1024);
    cudaMalloc(&flag, 4);
    cudaMallocHost(&one, 4);
    *one = 1;
    cudaMemset(flag, 0, 4);
    cudaDeviceSynchronize();
"""
TAIL = "    cudaDeviceSynchronize();\n    cudaFree(data);\n    cudaFree(flag);\n    cudaFreeHost(one);\n}\n"
STOP = "cudaMemcpyAsync(flag, one, 4, cudaMemcpyHostToDevice, b);"
NOTE, ERROR = "note possible", "error proven"


def said(folder: Path, *lines: str) -> list[str]:
    path = folder / "program.cu"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in lines) + TAIL)
    found = streamsan.check(str(path)).findings
    return [f"{each.severity.value} {each.confidence.value}" for each in found if each.code == "SS109"]


@pytest.mark.parametrize("kernel", ["work", "counts", "atomic_object"])
def test_a_stop_flag_that_a_copy_sets(tmp_path: Path, kernel: str) -> None:
    assert said(tmp_path, f"{kernel}<<<1, 256, 0, a>>>(data, flag);", STOP) == [NOTE]


def test_a_stop_flag_in_a_structure(tmp_path: Path) -> None:
    assert said(tmp_path, "Control c{data, flag};", "held<<<1, 256, 0, a>>>(c);", STOP) == [NOTE]


@pytest.mark.parametrize("kernel", ["plain", "looks"])
def test_a_flag_that_is_not_polled(tmp_path: Path, kernel: str) -> None:
    assert said(tmp_path, f"{kernel}<<<1, 256, 0, a>>>(data, flag);", STOP) == [ERROR]


def test_a_variable_that_is_polled(tmp_path: Path) -> None:
    setter = "cudaMemcpyToSymbolAsync(done, one, 4, 0, cudaMemcpyHostToDevice, b);"
    assert said(tmp_path, "variable<<<1, 256, 0, a>>>(data);", setter) == [NOTE]


def test_a_kernel_that_only_waits_holds_back_its_stream(tmp_path: Path) -> None:
    waits = ["gate<<<1, 1, 0, a>>>(flag);", "fill<<<1, 256, 0, a>>>(data);"]
    writes = ["fill<<<1, 256, 0, b>>>(data);", "set<<<1, 1, 0, b>>>(flag);"]
    assert set(said(tmp_path, *waits, *writes)) == {NOTE}
    assert said(tmp_path, *writes, *waits) == []
    assert said(tmp_path, waits[1], writes[0]) == [ERROR]


def test_a_captured_kernel_that_polls(tmp_path: Path) -> None:
    graph = [
        "cudaGraph_t graph; cudaGraphExec_t executable;",
        "cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);",
        "gate<<<1, 1, 0, a>>>(flag);",
        "fill<<<1, 256, 0, a>>>(data);",
        "cudaStreamEndCapture(a, &graph);",
        "cudaGraphInstantiate(&executable, graph, 0);",
        "cudaGraphLaunch(executable, a);",
        "fill<<<1, 256, 0, b>>>(data);",
        "set<<<1, 1, 0, b>>>(flag);",
    ]
    assert set(said(tmp_path, *graph)) == {NOTE}
    del graph[2]
    assert said(tmp_path, *graph) == [ERROR]
