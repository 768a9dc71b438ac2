"""Loops of the host touch a part of a pinned buffer while a copy of another part is on its way: conditions count."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import loud

PROGRAM = """#include <cuda_runtime.h>
int main() {{
    const int n = 256, busy = 0;
    float *pinned, *device;
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMallocHost(&pinned, 2 * n * sizeof(float));
    cudaMalloc(&device, 2 * n * sizeof(float));
    float sum = 0;
    cudaMemcpyAsync({copied}, {bytes}, cudaMemcpyHostToDevice, s);
    {loop}
    cudaStreamSynchronize(s);
    cudaFree(device);
    cudaFreeHost(pinned);
    cudaStreamDestroy(s);
    return sum > 0;
}}
"""
LOWER = ("device, pinned", "n * sizeof(float)")
ALL = ("device, pinned", "2 * n * sizeof(float)")
GUARDED = {
    "a slot that is left out": "for (int k = 0; k < 2; ++k) { if (k == busy) continue; for (int i = 0; i < n; ++i) pinned[k * n + i] = k; }",
    "an if": "for (int i = 0; i < 2 * n; ++i) if (i >= n) pinned[i] = i;",
    "a continue": "for (int i = 0; i < 2 * n; ++i) { if (i < n) continue; pinned[i] = i; }",
    "an else": "for (int i = 0; i < 2 * n; ++i) { if (i < n) sum += 1; else pinned[i] = sum; }",
    "a break": "for (int i = 2 * n - 1; i >= 0; i--) { if (i < n) break; pinned[i] = i; }",
    "an and": "for (int i = 0; i < 2 * n; ++i) if (i >= n && pinned[i] == 7) pinned[i] = 8;",
    "rows": "for (int r = 0; r < 64; ++r) { if (r < 32) continue; for (int c = 0; c < 8; ++c) pinned[r * 8 + c] = r; }",
}  # fmt: skip
SURE = {
    "before the condition": "for (int i = 0; i < n; ++i) { pinned[i] = i; if (i == 7) continue; sum += i; }",
    "in the condition": "for (int i = 0; i < n; ++i) if (++pinned[i] > 7) { sum = 1; break; }",
    "none": "for (int i = 0; i < n; ++i) pinned[i] = i;",
}


@pytest.mark.parametrize("loop", GUARDED.values(), ids=GUARDED)
def test_a_part_that_a_condition_leaves_out_is_not_used(tmp_path, loop):
    copied, bytes = LOWER
    assert loud(PROGRAM.format(copied=copied, bytes=bytes, loop=loop), tmp_path) == []


@pytest.mark.parametrize("loop", GUARDED.values(), ids=GUARDED)
def test_whatever_it_chooses_is_in_use_where_all_is(tmp_path, loop):
    copied, bytes = ALL
    assert {each.code for each in loud(PROGRAM.format(copied=copied, bytes=bytes, loop=loop), tmp_path)} == {"SS108"}


@pytest.mark.parametrize("loop", SURE.values(), ids=SURE)
def test_what_no_condition_leaves_out_is_used(tmp_path, loop):
    copied, bytes = LOWER
    assert {each.code for each in loud(PROGRAM.format(copied=copied, bytes=bytes, loop=loop), tmp_path)} == {"SS108"}
