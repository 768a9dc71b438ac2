"""What a library's handle keeps of the memory that calls are given: what it is told of, not asked about."""

from __future__ import annotations

import pytest
from reading import loud

TWO_PRODUCTS = """#include <cuda_runtime.h>
#include <cublasmp.h>
void multiply(cublasMpHandle_t handle, cublasMpMatmulDescriptor_t product, size_t bytes, void* out);
int main() {{
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cublasMpHandle_t handle;
    cublasMpCreate(&handle, stream);
    size_t needed;
    float *first, *second;
    cudaMalloc(&first, 4096);
    {first_call}
    cublasMpMatmul(handle, first, 64, 64);
    cudaStreamSynchronize(stream);
    cudaFree(first);
    cudaMalloc(&second, 4096);
    cublasMpMatmul(handle, second, 64, 64);
    cudaStreamSynchronize(stream);
    cudaFree(second);
    cublasMpDestroy(handle);
    cudaStreamDestroy(stream);
}}
"""


def found(folder, first_call):
    return {finding.code for finding in loud(TWO_PRODUCTS.format(first_call=first_call), folder)}


@pytest.mark.parametrize(
    "asked",
    ["cublasMpMatmul_bufferSize(handle, first, 64, 64, &needed);", "cublasMpGetWorkspaceSize(handle, first, &needed);"],
)
def test_what_it_was_asked_about_is_not_used_later(tmp_path, asked):
    assert found(tmp_path, asked) == set()


def test_what_it_was_told_of_is(tmp_path):
    assert found(tmp_path, "cublasMpSetWorkspace(handle, first, 4096);") == {"SS101"}
