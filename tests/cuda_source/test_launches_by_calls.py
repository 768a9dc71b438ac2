"""Launches that are calls, or nodes of graphs: which elements their kernels touch follows from their grid and blocks."""

# ruff: noqa: E501 - programs under test stay as a person would type them
import pytest
from reading import loud

from streamsan import check

PROGRAM = """#include <cuda.h>
#include <cuda_runtime.h>
extern "C" __global__ void put(float* out, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 1; }}
extern "C" __global__ void get(const float* in, float* out, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i + {first}];
}}
int main() {{
  float *a, *o; int n = 2048;
  cudaStream_t s, t; cudaStreamCreate(&s); cudaStreamCreate(&t);
  cudaMalloc(&a, 2 * n * sizeof(float)); cudaMalloc(&o, n * sizeof(float));
  void* put_args[] = {{&a, &n}}; void* get_args[] = {{&a, &o, &n}};
  {launches}
  cudaDeviceSynchronize(); cudaFree(a); cudaFree(o); cudaStreamDestroy(s); cudaStreamDestroy(t);
}}
"""
WAYS = {
    "cudaLaunchKernel": "cudaLaunchKernel((void*)put, dim3(16), dim3(128), put_args, 0, s); cudaLaunchKernel((void*)get, dim3(16), dim3(128), get_args, 0, t);",
    "cudaLaunchKernelEx": "cudaLaunchConfig_t c{}; c.gridDim = dim3(16); c.blockDim = dim3(128); c.stream = s; cudaLaunchKernelEx(&c, put, a, n); c.stream = t; cudaLaunchKernelEx(&c, get, (const float*)a, o, n);",
    "cuLaunchKernel": 'CUmodule m; CUfunction f, g; cuModuleLoad(&m, "k.cubin"); cuModuleGetFunction(&f, m, "put"); cuModuleGetFunction(&g, m, "get"); cuLaunchKernel(f, 16, 1, 1, 128, 1, 1, 0, s, put_args, nullptr); cuLaunchKernel(g, 16, 1, 1, 128, 1, 1, 0, t, get_args, nullptr);',
    "nodes": "cudaGraph_t g; cudaGraphCreate(&g, 0); cudaGraphNode_t p, q; cudaKernelNodeParams k{}; k.func = (void*)put; k.gridDim = dim3(16); k.blockDim = dim3(128); k.kernelParams = put_args; cudaGraphAddKernelNode(&p, g, nullptr, 0, &k); k.func = (void*)get; k.kernelParams = get_args; cudaGraphAddKernelNode(&q, g, nullptr, 0, &k); cudaGraphExec_t e; cudaGraphInstantiate(&e, g, 0); cudaGraphLaunch(e, s); cudaStreamSynchronize(s); cudaGraphExecDestroy(e); cudaGraphDestroy(g);",
}


@pytest.mark.parametrize("launches", WAYS.values(), ids=WAYS)
def test_the_same_elements_are_a_race(tmp_path, launches):
    assert [each.code for each in loud(PROGRAM.format(first="0", launches=launches), tmp_path)] == ["SS109"]


@pytest.mark.parametrize("launches", WAYS.values(), ids=WAYS)
def test_other_elements_are_none(tmp_path, launches):
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM.format(first="n", launches=launches))
    assert [each.code for each in check([path]).findings if each.code == "SS109"] == []
