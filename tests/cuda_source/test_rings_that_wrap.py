"""A loop runs until what it comes nearer to has come: a ring is used for the second time, a slot comes again."""

from __future__ import annotations

import pytest
from reading import loud

RING = """#include <cuda_runtime.h>
#include <cstdlib>
#include <cstring>
int main(int argc, char** argv) {{
    const int updates = {updates};
    const size_t size = {slots} * 4096, bytes = 4096;
    char *values, *base;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&values, bytes);
    cudaMallocHost(&base, size);
    size_t head = 0;
    for (int i = 0; i < updates; ++i) {{
        if (head + bytes > size) {{
            {wait}
            head = 0;
        }}
        char* place = base + head;
        head += bytes;
        memset(place, i, bytes);
        cudaMemcpyAsync(values, place, bytes, cudaMemcpyHostToDevice, stream);
    }}
    cudaStreamSynchronize(stream);
    cudaFreeHost(base);
    cudaFree(values);
    cudaStreamDestroy(stream);
}}
"""

SLOTS = """#include <cuda_runtime.h>
#include <cstdlib>
#include <cstring>
int main(int argc, char** argv) {{
    const int slots = {slots};
    char *values, *base;
    cudaEvent_t used[slots];
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < slots; ++i) cudaEventCreate(&used[i]);
    cudaMalloc(&values, 4096);
    cudaMallocHost(&base, slots * 4096);
    for (int i = 0; i < atoi(argv[1]); ++i) {{
        const int slot = i % slots;
        {wait}
        memset(base + slot * 4096, i, 4096);
        cudaMemcpyAsync(values, base + slot * 4096, 4096, cudaMemcpyHostToDevice, stream);
        cudaEventRecord(used[slot], stream);
    }}
    cudaStreamSynchronize(stream);
    cudaFreeHost(base);
    cudaFree(values);
    for (int i = 0; i < slots; ++i) cudaEventDestroy(used[i]);
    cudaStreamDestroy(stream);
}}
"""


def found(folder, program, **parts):
    return {finding.code for finding in loud(program.format(**parts), folder)}


@pytest.mark.parametrize("updates", ["argc > 1 ? atoi(argv[1]) : 100", "atoi(argv[1])", "100"])
@pytest.mark.parametrize("slots", [8, 20])
def test_a_ring_that_wraps_late_is_seen_to_wrap(tmp_path, updates, slots):
    assert found(tmp_path, RING, updates=updates, slots=slots, wait="") == {"SS108"}
    assert found(tmp_path, RING, updates=updates, slots=slots, wait="cudaStreamSynchronize(stream);") == set()


def test_a_ring_that_does_not_wrap_needs_no_wait(tmp_path):
    assert found(tmp_path, RING, updates="20", slots=20, wait="") == set()


def test_a_ring_that_wraps_after_very_many_turns_is_not_waited_for(tmp_path):
    assert found(tmp_path, RING, updates="atoi(argv[1])", slots=1000, wait="") == set()


@pytest.mark.parametrize("slots", [6, 20])
def test_the_first_slot_comes_again(tmp_path, slots):
    assert found(tmp_path, SLOTS, slots=slots, wait="") == {"SS108"}
    assert found(tmp_path, SLOTS, slots=slots, wait="cudaEventSynchronize(used[slot]);") == set()
