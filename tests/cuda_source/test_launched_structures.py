"""Kernels that take structures by value: what each pointer in them is used for, at each way to make one."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamsan

HEAD = """#include <cuda_runtime.h>
template <class T> struct Span {
    T* data; int n;
    __host__ __device__ Span(T* d, int k) : data(d), n(k) {}
    __device__ T& at(int i) const { return data[i]; }
};
struct View { const float* in; float* out; int n; };
struct Planes { View view; float* rows[2]; };
View make(const float* in, float* out) { View v; v.in = in; v.out = out; v.n = 64; return v; }
__global__ void copy(View v) { int i = threadIdx.x; if (i < v.n) v.out[i] = v.in[i]; }
__global__ void fill(Span<float> s) { s.at(threadIdx.x) = 1; }
__global__ void total(Span<const float> s, float* o) { o[threadIdx.x] = s.at(threadIdx.x); }
__global__ void planes(Planes p) { p.rows[1][threadIdx.x] = p.view.in[threadIdx.x]; }
template <class V> __global__ void generic(V v) { v.out[threadIdx.x] = v.in[threadIdx.x]; }
__global__ void outside(View v);
int main() {
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    float *x, *y, *z;
    cudaMalloc(&x, 256); cudaMalloc(&y, 256); cudaMalloc(&z, 256);
"""
FOOT = """
    cudaDeviceSynchronize();
    cudaStreamDestroy(a); cudaStreamDestroy(b);
}
"""


def found(body: str, folder: Path) -> list[str]:
    """Return the codes and severities of findings about order and lifetime, with the lines of the body."""
    (folder / "program.cu").write_text(HEAD + body + FOOT, encoding="utf-8")
    report = streamsan.check(folder / "program.cu")
    first = HEAD.count("\n")
    return sorted(
        f"{one.severity.value} {one.code}@{one.location.line - first}"
        for one in report.findings
        if one.code in ("SS101", "SS102", "SS109") or one.code == "SS603"
    )


READS_X = "copy<<<1, 64, 0, a>>>(View{x, y, 64});\n"


@pytest.mark.parametrize(
    "launch",
    [
        "copy<<<1, 64, 0, b>>>(View{x, z, 64});",
        "copy<<<1, 64, 0, b>>>({x, z, 64});",
        "View v = {x, z, 64}; copy<<<1, 64, 0, b>>>(v);",
        "View v; v.in = x; v.out = z; v.n = 64; copy<<<1, 64, 0, b>>>(v);",
        "copy<<<1, 64, 0, b>>>(make(x, z));",
        "total<<<1, 64, 0, b>>>(Span<const float>(x, 64), z);",
        "planes<<<1, 64, 0, b>>>(Planes{{x, y, 64}, {y, z}});",
        "generic<<<1, 64, 0, b>>>(make(x, z));",
        "View v = make(x, z); void* args[] = {&v}; cudaLaunchKernel((void*)copy, dim3(1), dim3(64), args, 0, b);",
    ],
)
def test_two_kernels_that_read_one_buffer_need_no_order(launch: str, tmp_path: Path) -> None:
    assert found(READS_X + launch, tmp_path) == []


@pytest.mark.parametrize(
    "launch",
    [
        "copy<<<1, 64, 0, b>>>(View{z, x, 64});",
        "copy<<<1, 64, 0, b>>>({z, x, 64});",
        "View v; v.in = z; v.out = x; v.n = 64; copy<<<1, 64, 0, b>>>(v);",
        "copy<<<1, 64, 0, b>>>(make(z, x));",
        "fill<<<1, 64, 0, b>>>(Span<float>(x, 64));",
        "generic<<<1, 64, 0, b>>>(make(z, x));",
        "View v = make(z, x); void* args[] = {&v}; cudaLaunchKernel((void*)copy, dim3(1), dim3(64), args, 0, b);",
    ],
)
def test_a_kernel_that_writes_what_another_reads_needs_order(launch: str, tmp_path: Path) -> None:
    assert found(READS_X + launch, tmp_path) == ["error SS109@2"]


def test_what_is_not_followed_may_conflict(tmp_path: Path) -> None:
    assert found(READS_X + "outside<<<1, 64, 0, b>>>(View{z, x, 64});", tmp_path) == ["note SS109@2"]


def test_memory_that_a_field_leads_to_is_used_after_its_free(tmp_path: Path) -> None:
    body = (
        "View v = make(x, y);\ncudaFree(x);\ncopy<<<1, 64, 0, a>>>(v);\nplanes<<<1, 64, 0, a>>>({{y, x, 1}, {x, z}});"
    )
    assert found(body, tmp_path) == ["error SS101@3"]


def test_memory_is_freed_while_a_field_leads_a_kernel_to_it(tmp_path: Path) -> None:
    wrong = "copy<<<1, 64, 0, a>>>({x, y, 64});\ncudaFreeAsync(x, b);"
    assert found(wrong, tmp_path) == ["error SS102@2"]
    right = "copy<<<1, 64, 0, a>>>({x, y, 64});\ncudaFreeAsync(x, a);"
    assert found(right, tmp_path) == []
