"""Kernels that are templates, take views, or call functions: which elements they touch is known all the same."""

# ruff: noqa: E501 - programs under test stay as a person would type them

import pytest
from reading import loud

from streamsan import check

PROGRAM = """#include <cuda_runtime.h>
namespace views {{
template <class T> struct Span {{ T* data; int n; __device__ T& operator[](int i) const {{ return data[i]; }} }};
}}
using views::Span;
{kernels}
int main() {{
  float *a, *o; int n = 4096;
  cudaStream_t s, t; cudaStreamCreate(&s); cudaStreamCreate(&t);
  cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&o, n * sizeof(float));
  {writes}
  {between}
  {reads}
  cudaDeviceSynchronize(); cudaFree(a); cudaFree(o); cudaStreamDestroy(s); cudaStreamDestroy(t);
}}
"""
WAIT = "cudaStreamSynchronize(s);"
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
TEMPLATES = (
    f"template <class T> __global__ void put(T* out, int n) {{ {INDEX} if (i < n) out[i] = 1; }}\n"
    f"template <class T> __global__ void get(const T* in, T* out, int n) {{ {INDEX} if (i < n) out[i] = in[i]; }}"
)
SPANS = (
    f"template <class T> __global__ void put(Span<T> out) {{ {INDEX} if (i < out.n) out[i] = 1; }}\n"
    f"template <class T> __global__ void get(Span<const T> in, Span<T> out) {{ {INDEX} if (i < in.n) out[i] = in[i]; }}"
)
BLOCKS = (
    "template <int B, class T> __global__ void put(T* out) { int i = blockIdx.x * B + threadIdx.x; out[i] = 1; }\n"
    "template <int B, class T> __global__ void get(const T* in, T* out) { int i = blockIdx.x * B + threadIdx.x;"
    " out[i] = in[i]; }"
)
CALLS = (
    "__device__ float square(float x) { return x * x; }\n"
    "__device__ void store(float* to, int at, float value) { to[at] = value; }\n"
    f"__global__ void put(float* out, int n) {{ {INDEX} if (i < n) store(out, i, 1); }}\n"
    f"__global__ void get(const float* in, float* out, int n) {{ {INDEX} if (i < n) out[i] = square(in[i]); }}"
)
EDGE = (
    f"__global__ void put(float* out, int n) {{ {INDEX} if (i < n) out[i] = 1; }}\n"
    f"__global__ void get(const float* left, float* out, int n) {{ {INDEX} if (i >= n) return;"
    " out[i] = i > 0 ? 1 : left ? *left : 0; }"
)
POLICIES = (
    "struct Scaled { template <class T> __device__ static void put(T* to, int at) { to[at] = 1; }\n"
    " __device__ static float get(const Span<float>& from, int at) { return 2 * from[at]; } };\n"
    f"template <class P> __global__ void put(float* out, int n) {{ {INDEX} if (i < n) P::put(out, i); }}\n"
    f"template <class P> __global__ void get(Span<float> in, float* out) {{ {INDEX} if (i < in.n) out[i] = P::get(in, i); }}"
)
INNER = (
    "template <class T> struct Grid { struct Row { char* first; int n;\n"
    " __device__ T& operator[](int i) const { return reinterpret_cast<T*>(first)[i]; } }; };\n"
    f"template <class R> __global__ void put(R row) {{ {INDEX} if (i < row.n) row[i] = 1; }}\n"
    f"__global__ void get(Grid<float>::Row in, float* out) {{ {INDEX} if (i < in.n) out[i] = in[i]; }}"
)
CONSTANTS = (
    "namespace sizes { constexpr int half = 2048; enum { quarter = half / 2 }; }\n"
    f"__global__ void put(float* out) {{ {INDEX} if (i < sizes::half) out[i] = 1; }}\n"
    f"__global__ void get(const float* in, float* out, int first) {{ {INDEX}"
    " if (i < sizes::quarter) out[i] = in[(first + i) % (sizes::half * 2)]; }"
)
ALIASES = (
    "typedef float* Floats; using Values = const float*;\n"
    f"__global__ void put(const Floats out, int n) {{ {INDEX} if (i < n) out[i] = 1; }}\n"
    f"__global__ void get(Values in, Floats out, int n) {{ {INDEX} Floats to = out; if (i < n) to[i] = in[i]; }}"
)
PITCHED = f"""struct Image {{ cudaPitchedPtr p; __device__ float& operator()(int i) const {{ return ((float*)p.ptr)[i]; }} }};
__global__ void put(Image out, int n) {{ {INDEX} if (i < n) out(i) = 1; }}
__global__ void get(Image in, float* out, int n) {{ {INDEX} if (i < n) out[i] = in(i); }}
"""
MEET = {
    "a structure of CUDA's in a view": (PITCHED, "Image m{make_cudaPitchedPtr(a, n * 4, n * 4, 1)}; put<<<32, 128, 0, s>>>(m, n);", "get<<<32, 128, 0, t>>>(m, o, n);"),
    "templates": (TEMPLATES, "put<<<32, 128, 0, s>>>(a, n);", "get<float><<<32, 128, 0, t>>>(a, o, n);"),
    "views": (SPANS, "put<<<32, 128, 0, s>>>(Span<float>{a, n});", "get<<<32, 128, 0, t>>>(Span<const float>{a, n}, Span<float>{o, n});"),
    "views in braces": (SPANS, "put<float><<<32, 128, 0, s>>>({a, n});", "get<float><<<32, 128, 0, t>>>({a, n}, {o, n});"),
    "numbers of templates": (BLOCKS, "put<128><<<32, 128, 0, s>>>(a);", "get<128, float><<<32, 128, 0, t>>>(a, o);"),
    "calls": (CALLS, "put<<<32, 128, 0, s>>>(a, n);", "get<<<32, 128, 0, t>>>(a, o, n);"),
    "an edge": (EDGE, "put<<<32, 128, 0, s>>>(a, n);", "get<<<32, 128, 0, t>>>(a + n - 1, o, n);"),
    "constants": (CONSTANTS, "put<<<32, 128, 0, s>>>(a);", "get<<<32, 128, 0, t>>>(a, o, n + 1024);"),
    "pointers by other names": (ALIASES, "put<<<32, 128, 0, s>>>(a, n);", "get<<<32, 128, 0, t>>>(a, o, n);"),
    "policies": (POLICIES, "put<Scaled><<<32, 128, 0, s>>>(a, n);", "get<Scaled><<<32, 128, 0, t>>>({a, n}, o);"),
    "classes in templates": (INNER, "put<<<32, 128, 0, s>>>(Grid<float>::Row{(char*)a, n});", "get<<<32, 128, 0, t>>>({(char*)a, n}, o);"),
}  # fmt: skip
APART = {
    "templates": (TEMPLATES, "put<<<16, 128, 0, s>>>(a, n / 2);", "get<float><<<16, 128, 0, t>>>(a + n / 2, o, n / 2);"),
    "views": (SPANS, "put<<<16, 128, 0, s>>>(Span<float>{a, n / 2});", "get<<<16, 128, 0, t>>>(Span<const float>{a + n / 2, n / 2}, Span<float>{o, n});"),
    "numbers of templates": (BLOCKS, "put<128><<<16, 128, 0, s>>>(a);", "get<128, float><<<16, 128, 0, t>>>(a + 2048, o);"),
    "constants": (CONSTANTS, "put<<<32, 128, 0, s>>>(a);", "get<<<32, 128, 0, t>>>(a, o, n + 3072);"),
    "pointers by other names": (ALIASES, "put<<<16, 128, 0, s>>>(a, n / 2);", "get<<<16, 128, 0, t>>>(a + n / 2, o, n / 2);"),
    "policies": (POLICIES, "put<Scaled><<<16, 128, 0, s>>>(a, n / 2);", "get<Scaled><<<16, 128, 0, t>>>({a + n / 2, n / 2}, o);"),
    "classes in templates": (INNER, "put<<<16, 128, 0, s>>>(Grid<float>::Row{(char*)a, n / 2});", "get<<<16, 128, 0, t>>>({(char*)(a + n / 2), n / 2}, o);"),
    "no edge": (EDGE, "put<<<32, 128, 0, s>>>(a, n);", "get<<<32, 128, 0, t>>>(nullptr, o, n);"),
}  # fmt: skip
UNCLEAR = {
    "a call that asks for the thread": f"__device__ int at() {{ {INDEX} return i; }}\n"
    "__global__ void put(float* out, int n) { int i = at(); if (i < n / 2) out[i] = 1; }\n",
    "a call that may change the place": f"__device__ void halve(int& i) {{ i /= 2; }}\n"
    f"__global__ void put(float* out, int n) {{ {INDEX} halve(i); if (i < 100) out[i] = 1; }}\n",
    "a number that nobody knows": f"extern __device__ int limit;\n"
    f"__global__ void put(float* out, int n) {{ {INDEX} if (i < limit) out[i] = 1; }}\n",
}
READS = f"__global__ void get(const float* in, float* out, int n) {{ {INDEX} if (i < n) out[i] = in[i + n]; }}\n"


def program(shape, between=""):
    kernels, writes, reads = shape
    return PROGRAM.format(kernels=kernels, writes=writes, reads=reads, between=between)


@pytest.mark.parametrize("shape", MEET.values(), ids=MEET)
def test_the_same_elements_are_a_race(tmp_path, shape):
    assert [each.code for each in loud(program(shape), tmp_path)] == ["SS109"]


@pytest.mark.parametrize("shape", MEET.values(), ids=MEET)
def test_an_ordered_one_is_none(tmp_path, shape):
    assert loud(program(shape, WAIT), tmp_path) == []


@pytest.mark.parametrize("shape", APART.values(), ids=APART)
def test_other_elements_are_none(tmp_path, shape):
    path = tmp_path / "program.cu"
    path.write_text(program(shape))
    assert [each.code for each in check([path]).findings if each.code == "SS109"] == []


@pytest.mark.parametrize("kernel", UNCLEAR.values(), ids=UNCLEAR)
def test_what_nobody_can_follow_is_no_error(tmp_path, kernel):
    shape = kernel + READS, "put<<<16, 128, 0, s>>>(a, n);", "get<<<16, 128, 0, t>>>(a, o, n / 2);"
    assert loud(program(shape), tmp_path) == []
