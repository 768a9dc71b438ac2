"""Kernels use the memory that texture and surface objects were made of."""

from __future__ import annotations

import pytest
from reading import loud

HEAD = """#include <cuda.h>
#include <cuda_runtime.h>
__global__ void sample(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
__global__ void filter(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 0); }
__global__ void draw(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, threadIdx.x * 4, blockIdx.x); }
class Texture {
public:
    explicit Texture(const cudaResourceDesc& from) {
        cudaTextureDesc how{};
        cudaCreateTextureObject(&object, &from, &how, nullptr);
    }
    operator cudaTextureObject_t() const { return object; }
private:
    cudaTextureObject_t object = 0;
};
int main() {
    float *memory, *out; cudaMalloc(&memory, 256); cudaMalloc(&out, 256);
    cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b);
    cudaEvent_t done; cudaEventCreate(&done);
    cudaResourceDesc described{};
"""
FOOT = "cudaDeviceSynchronize(); cudaFree(memory); cudaFree(out); }\n"
LINEAR = """
    described.resType = cudaResourceTypeLinear;
    described.res.linear.devPtr = memory;
    described.res.linear.sizeInBytes = 256;
"""
ARRAY = """
    cudaArray_t array; cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &channel, 64, 64, cudaArraySurfaceLoadStore);
    described.resType = cudaResourceTypeArray;
    described.res.array.array = array;
    cudaSurfaceObject_t surface; cudaCreateSurfaceObject(&surface, &described);
"""
TEXTURE = "cudaTextureDesc how{}; cudaTextureObject_t t; cudaCreateTextureObject(&t, &described, &how, nullptr);"
WAIT = "cudaEventRecord(done, a); cudaStreamWaitEvent(b, done, 0);"
PROGRAMS = {
    "linear memory": (LINEAR + TEXTURE, "sample<<<1, 64, 0, a>>>(t, out);", "cudaMemsetAsync(memory, 0, 256, b);"),
    "an object of a class": (
        LINEAR + "Texture t(described);",
        "sample<<<1, 64, 0, a>>>(t, out);",
        "cudaMemsetAsync(memory, 0, 256, b);",
    ),
    "an array": (ARRAY + TEXTURE, "filter<<<1, 64, 0, a>>>(t, out);", "draw<<<64, 64, 0, b>>>(surface);"),
    "two surfaces": (ARRAY, "draw<<<64, 64, 0, a>>>(surface);", "draw<<<64, 64, 0, b>>>(surface);"),
}


@pytest.mark.parametrize("parts", PROGRAMS.values(), ids=PROGRAMS)
def test_work_of_another_stream_must_wait(parts, tmp_path):
    made, first, second = parts
    assert [finding.code for finding in loud(HEAD + made + first + second + FOOT, tmp_path)] == ["SS109"]
    assert not loud(HEAD + made + first + WAIT + second + FOOT, tmp_path)


DRAWS = "__global__ void draw(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s,"
FILTERS = "__global__ void filter(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex2D<float>(t,"
NAMES = {
    "aliases": (
        "using Texture_ = cudaTextureObject_t; typedef cudaSurfaceObject_t Surface_;\n",
        "__global__ void draw(const Surface_ s) { surf2Dwrite(1.0f, s,",
        "__global__ void filter(Texture_ t, float* out) { out[threadIdx.x] = tex2D<float>(t,",
    ),
    "aliases of a class": (
        "template <class T> struct Image { using Read = cudaTextureObject_t; using Write = cudaSurfaceObject_t; };\n",
        "__global__ void draw(Image<float>::Write s) { surf2Dwrite(1.0f, s,",
        "__global__ void filter(Image<float>::Read t, float* out) { out[threadIdx.x] = tex2D<float>(t,",
    ),
    "functions and locals": (
        "using Surface_ = cudaSurfaceObject_t; using Texture_ = cudaTextureObject_t;\n"
        "__device__ void put(Surface_ to, int x, int y) { surf2Dwrite(1.0f, to, x, y); }\n",
        "__global__ void draw(Surface_ s) { put(s,",
        "__global__ void filter(Texture_ t, float* out) { Texture_ from = t; out[threadIdx.x] = tex2D<float>(from,",
    ),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("parts", PROGRAMS.values(), ids=PROGRAMS)
def test_objects_by_other_names(names, parts, tmp_path):
    made, first, second = parts
    declared, draws, filters = names
    head = HEAD.replace(DRAWS, draws).replace(FILTERS, filters)
    head = head.replace("__global__ void sample", f"{declared}__global__ void sample", 1)
    assert [finding.code for finding in loud(head + made + first + second + FOOT, tmp_path)] == ["SS109"]
    assert not loud(head + made + first + WAIT + second + FOOT, tmp_path)


def test_a_free_waits_for_the_kernel_that_samples(tmp_path):
    made = HEAD + "float* scratch; cudaMallocAsync((void**)&scratch, 256, b);" + LINEAR.replace("memory", "scratch")
    made += "cudaStreamSynchronize(b);" + TEXTURE + "sample<<<1, 64, 0, a>>>(t, out);"
    free = "cudaFreeAsync(scratch, b);"
    assert [finding.code for finding in loud(made + free + FOOT, tmp_path)] == ["SS102"]
    assert not loud(made + WAIT + free + FOOT, tmp_path)


def test_two_kernels_that_sample_need_no_order(tmp_path):
    both = "sample<<<1, 64, 0, a>>>(t, out); sample<<<1, 64, 0, b>>>(t, out + 64);"
    assert not loud(HEAD.replace("(&out, 256)", "(&out, 512)") + LINEAR + TEXTURE + both + FOOT, tmp_path)
