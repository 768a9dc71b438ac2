"""Kernels that are given arrays of pointers by value, or elements of the host's arrays: which of them they touch."""

# ruff: noqa: E501 - programs under test stay as a person would type them

from __future__ import annotations

import pytest
from reading import loud

from streamsan import check

PROGRAM = """#include <array>
#include <cuda_runtime.h>
#include <vector>
constexpr int n = 4096;
{kernel}
__global__ void fill(float* b) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = 1; }}
int main() {{
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    float *o, *m[4];
    cudaMalloc(&o, 4 * n * sizeof(float));
    for (auto& each : m) cudaMalloc(&each, n * sizeof(float));
    {made}
    fill<<<16, 256, 0, s>>>({filled});
    {used}
    cudaDeviceSynchronize();
    for (auto each : m) cudaFree(each);
    cudaFree(o);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}}
"""
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
ROW = "struct Ptrs { float* p[4]; int n; };\n"
FILL = "Ptrs p{{m[0], m[1], m[2], m[3]}, n};"
GET = "get<<<16, 256, 0, t>>>(p, o);"
WAYS = {
    "a number": (ROW + f"__global__ void get(Ptrs q, float* o) {{ {INDEX} if (i < q.n) o[i] = q.p[2][i]; }}", FILL, GET, 2, 1),
    "a loop": (ROW + f"__global__ void get(Ptrs q, float* o) {{ {INDEX} if (i < q.n) for (int k = 0; k < 3; ++k) o[i] += q.p[k][i]; }}", FILL, GET, 2, 3),
    "a loop to a count": (ROW + f"__global__ void get(Ptrs q, float* o) {{ {INDEX} for (int k = 0; k < q.n; ++k) o[i] += q.p[k][i]; }}", FILL.replace("n}", "2}"), GET, 1, 2),
    "a parameter": (ROW + f"__global__ void get(Ptrs q, float* o, int k) {{ {INDEX} if (i < q.n) o[i] = q.p[k][i]; }}", FILL, GET.replace("o)", "o, 3)"), 3, 0),
    "a block": (ROW + "__global__ void get(Ptrs q, float* o) { float* from = q.p[blockIdx.y]; o[blockIdx.y * blockDim.x + threadIdx.x] = from[threadIdx.x]; }", FILL, GET.replace("16", "dim3(1, 3)"), 2, 3),
    "an element written": (ROW + f"__global__ void get(Ptrs q, float* o) {{ {INDEX} for (int k = 1; k < 3; ++k) q.p[k][i] = 0; }}", FILL, GET, 1, 3),
    "an element as a pointer": (ROW + f"__global__ void get(Ptrs q, float* o, int k) {{ {INDEX} const float* from = k == 1 ? q.p[1] : q.p[2]; o[i] = *(from + i); }}", FILL, GET.replace("o)", "o, 2)"), 2, 1),
    "a template": ("template <class T, int N> struct Row { T* p[N]; };\n"
                   f"template <class T, int N> __global__ void get(Row<T, N> q, float* o) {{ {INDEX} for (int k = 0; k < N - 1; ++k) o[i] += q.p[k][i]; }}",
                   "Row<float, 4> p{{m[0], m[1], m[2], m[3]}};", GET, 2, 3),
    "structures": ("struct One { float* data; int n; }; struct Ptrs { One p[4]; };\n"
                   f"__global__ void get(Ptrs q, float* o, int k) {{ {INDEX} if (i < q.p[k].n) o[i] = q.p[k].data[i]; }}",
                   "Ptrs p{}; for (int k = 0; k < 4; ++k) p.p[k] = {m[k], n};", GET.replace("o)", "o, 3)"), 3, 2),
    "a large row": ("struct Ptrs { float* p[24]; };\n" f"__global__ void get(Ptrs q, float* o) {{ {INDEX} o[i] = q.p[20][i]; }}",
                    "Ptrs p{}; for (int k = 0; k < 24; ++k) p.p[k] = m[k % 4];", GET, 0, 1),
    "std::array in a structure": ("struct Ptrs { std::array<float*, 4> p; };\n" f"__global__ void get(Ptrs q, float* o) {{ {INDEX} o[i] = q.p[2][i]; }}",
                                  "Ptrs p{}; for (int k = 0; k < 4; ++k) p.p[k] = m[k];", GET, 2, 1),
    "std::array": (f"__global__ void get(std::array<float*, 4> q, float* o) {{ {INDEX} for (int k = 0; k < 2; ++k) o[i] = q[k][i]; }}",
                   "std::array<float*, 4> p{m[0], m[1], m[2], m[3]};", GET, 1, 2),
    "an element of std::array": (f"__global__ void get(const float* q, float* o) {{ {INDEX} o[i] = q[i]; }}",
                                 "std::array<float*, 4> p{m[0], m[1], m[2], m[3]};", GET.replace("p,", "p[2],"), 2, 1),
    "an element of std::vector": (f"__global__ void get(const float* q, float* o) {{ {INDEX} o[i] = q[i]; }}",
                                  "std::vector<float*> p(m, m + 4);", GET.replace("p,", "p.at(2),"), 2, 1),
}  # fmt: skip


def program(way, filled):
    kernel, made, used, _, _ = way
    return PROGRAM.format(kernel=kernel, made=made, used=used, filled=f"m[{filled}]")


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_element_that_the_kernel_takes_is_a_race(tmp_path, way):
    assert [(each.code, each.severity.name) for each in loud(program(way, way[3]), tmp_path)] == [("SS109", "ERROR")]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_another_element_is_none(tmp_path, way):
    path = tmp_path / "program.cu"
    path.write_text(program(way, way[4]))
    assert [each.code for each in check([path]).findings if each.code == "SS109"] == []


@pytest.mark.parametrize("index", ["int(o[0])", "n++ % 4"], ids=["read", "changed"])
def test_an_element_that_nobody_knows_is_no_error(tmp_path, index):
    kernel = ROW + f"__global__ void get(Ptrs q, float* o, int n) {{ {INDEX} o[i] = q.p[{index}][i]; }}"
    found = loud(program((kernel, FILL, GET.replace("o)", "o, 3)"), 0, 0), 1), tmp_path)
    assert all(each.severity.name == "WARNING" for each in found)
