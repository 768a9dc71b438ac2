"""A default stream is one of each device: it is named with its device where a finding is about several."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_text

HEAD = """\
#include <cuda_runtime.h>
__global__ void scale(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2.0f; }
int main(int argc, char** argv) {
    const int n = 1 << 20;
    float* p;
    cudaMalloc(&p, n * sizeof(float));
    cudaDeviceSynchronize();
"""
END = """\
    cudaDeviceSynchronize();
    return 0;
}
"""


def words(folder: Path, body: str) -> str:
    """Return all that the one SS109 of a program says."""
    (found,) = [each for each in check_text(HEAD + body + END, folder) if each.code == "SS109"]
    fix = found.fix.summary if found.fix is not None else ""
    return "\n".join([found.message, *(each.message for each in found.related), *found.witness, fix])


def test_two_devices_have_a_default_stream_each(tmp_path: Path) -> None:
    said = words(
        tmp_path,
        "    cudaSetDevice(1);\n    scale<<<n / 256, 256>>>(p, n);\n"
        "    cudaSetDevice(0);\n    scale<<<n / 256, 256>>>(p, n);\n",
    )
    assert "used here, in the order of the default stream of device 1" in said
    assert "nothing orders the default stream of device 0 after the kernel" in said
    assert "cudaStreamWaitEvent(0, streamsan_event, 0)" in said, "in code it is 0 for both"


@pytest.mark.parametrize("device", ["1", "argc"])
def test_a_device_is_named_only_where_it_tells_two_streams_apart(tmp_path: Path, device: str) -> None:
    said = words(
        tmp_path,
        "    cudaStream_t s;\n    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);\n"
        f"    cudaSetDevice({device});\n    scale<<<n / 256, 256>>>(p, n);\n"
        "    scale<<<n / 256, 256, 0, s>>>(p, n);\n",
    )
    assert "in the order of the default stream" in said
    assert "the default stream of" not in said
