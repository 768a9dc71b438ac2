"""Kernels that find the rows of an image behind a pitch, beside copies of other rows and columns of the image."""

# ruff: noqa: E501 - programs under test stay as a person would type them

from __future__ import annotations

import pytest

from streamsan import check

WIDTH, HEIGHT = 300, 64
PROGRAM = """#include <cuda_runtime.h>
__device__ float* row_of(float* image, size_t pitch, int y) {{ return (float*)((char*)image + y * pitch); }}
__device__ size_t before(int y, size_t pitch) {{ return y * pitch; }}
__global__ void fill(float* image, size_t pitch, int width, int height) {{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {{ {body} }}
}}
int main() {{
    cudaStream_t one, other;
    float *image, *host;
    size_t pitch;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMallocPitch(&image, &pitch, 300 * sizeof(float), 64);
    cudaMallocHost(&host, 300 * 64 * sizeof(float));
    fill<<<dim3(10, 8), dim3(32, 8), 0, one>>>(image, pitch, {width}, {height});
    cudaMemcpy2DAsync(host, 300 * sizeof(float), (char*)image + {first} * pitch + {column} * sizeof(float), pitch,
                      {columns} * sizeof(float), {rows}, cudaMemcpyDeviceToHost, other);
    cudaDeviceSynchronize();
    cudaFree(image);
    cudaFreeHost(host);
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
}}
"""
WAYS = {
    "a row in the style of C": "float* row = (float*)((char*)image + y * pitch); row[x] = 1;",
    "a row in the style of C++": "auto* row = reinterpret_cast<float*>(reinterpret_cast<char*>(image) + pitch * y); row[x] = 1;",
    "in one expression": "*((float*)((char*)image + y * pitch) + x) = 1;",
    "the address of an element": "float* p = (float*)((char*)image + y * pitch + x * sizeof(float)); *p = 1;",
    "a pitch in elements": "image[y * (pitch / sizeof(float)) + x] = 1;",
    "a function that gives rows": "row_of(image, pitch, y)[x] = 1;",
    "a function that gives bytes": "((float*)((char*)image + before(y, pitch)))[x] = 1;",
}


def codes(tmp_path, body, part, *, width=WIDTH, height=HEIGHT // 2):
    first, column, rows, columns = part
    source = tmp_path / "rows.cu"
    source.write_text(PROGRAM.format(
        body=body, width=width, height=height, first=first, column=column, rows=rows, columns=columns
    ))  # fmt: skip
    return {each.code for each in check([str(source)]).findings if each.severity.name != "NOTE"}


@pytest.mark.parametrize("body", WAYS.values(), ids=WAYS.keys())
def test_blocks_of_rows(tmp_path, body):
    assert codes(tmp_path, body, (32, 0, 32, WIDTH)) == set()
    assert codes(tmp_path, body, (31, 0, 32, WIDTH)) == {"SS109"}


@pytest.mark.parametrize(
    ("column", "expected"), [(100, set()), (99, {"SS109"})], ids=["beside the kernel's", "one of the kernel's"]
)
def test_blocks_of_columns(tmp_path, column, expected):
    body = next(iter(WAYS.values()))
    assert codes(tmp_path, body, (0, column, HEIGHT, WIDTH - column), width=100, height=HEIGHT) == expected


@pytest.mark.parametrize(
    ("reads", "first", "column", "expected"),
    [
        ("row[x] + row[x + 1]", 0, 101, set()),
        ("row[x] + row[x + 1]", 0, 100, {"SS109"}),
        ("row[x] + ((float*)((char*)row + pitch))[x]", 33, 0, set()),
        ("row[x] + ((float*)((char*)row + pitch))[x]", 32, 0, {"SS109"}),
        ("row[x] + row[x + 50]", 0, 100, {"SS109"}),
    ],
    ids=["beside columns", "one of the columns", "below", "one of the rows", "columns that overlap"],
)
def test_neighbours_are_read_as_well(tmp_path, reads, first, column, expected):
    """The other stream overwrites what the kernel reads."""
    body = f"const float* row = (float*)((char*)image + y * pitch); float sum = {reads};"
    source = tmp_path / "rows.cu"
    text = PROGRAM.format(body=body, width=100, height=32, first=first, column=column, rows=8, columns=8)
    copy = text[text.index("    cudaMemcpy2DAsync") : text.index("    cudaDeviceSynchronize")]
    fill = f"    cudaMemset2DAsync((char*)image + {first} * pitch + {column} * sizeof(float), pitch, 0, 8 * sizeof(float), 8, other);\n"
    source.write_text(text.replace(copy, fill))
    assert {each.code for each in check([str(source)]).findings if each.severity.name != "NOTE"} == expected


def test_a_pitch_that_nobody_knows(tmp_path):
    """Rows that lie anywhere say nothing of others."""
    assert codes(tmp_path, "((float*)((char*)image + y * (size_t)image[0]))[x] = 1;", (40, 0, 8, WIDTH)) == set()
