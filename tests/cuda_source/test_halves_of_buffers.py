"""A buffer in two halves, one filled while the other is written: `std::min(half, rest)` bytes stay in one."""

from __future__ import annotations

import pytest
from reading import loud

SAVING = """#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
void save(FILE* file, char* from, size_t bytes, size_t half, cudaStream_t stream) {{
    char* space;
    cudaMallocHost(&space, 2 * half);
    char *filled = space, *written = space + half;
    size_t amount = std::min(half, bytes), ready = amount, rest = bytes - amount;
    cudaMemcpyAsync(filled, from, amount, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    std::swap(filled, written);
    while (rest > 0) {{
        from += amount;
        amount = std::min({most}, rest);
        cudaMemcpyAsync(filled, from, amount, cudaMemcpyDeviceToHost, stream);
        fwrite({half}, 1, ready, file);
        cudaStreamSynchronize(stream);
        std::swap(filled, written);
        rest -= amount;
        ready = amount;
    }}
    fwrite(written, 1, ready, file);
    cudaFreeHost(space);
}}
int main() {{
    char* values;
    size_t bytes, half;
    scanf("%zu %zu", &bytes, &half);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&values, bytes);
    cudaMemset(values, 1, bytes);
    save(fopen("values", "wb"), values, bytes, {size}, stream);
    cudaFree(values);
}}
"""


PACKETS = """#include <cuda_runtime.h>
#include <cstdio>
int main() {{
    const size_t half = 4096;
    char *values, *space;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&values, half);
    cudaMallocHost(&space, 2 * half);
    FILE* file = fopen("values", "wb");
    char *filled = space, *written = space + half;
    for (int i = 0; i < 8; ++i) {{
        cudaMemsetAsync(values, i, half, stream);
        cudaMemcpyAsync(filled, values, half, cudaMemcpyDeviceToHost, stream);
        if (i > 0) fwrite({half}, 1, {bytes}, file);
        cudaStreamSynchronize(stream);
        char* other = filled;
        filled = written;
        written = other;
    }}
    fwrite(written, 1, half, file);
    cudaFree(values);
    cudaFreeHost(space);
    cudaStreamDestroy(stream);
}}
"""


def found(folder, program, **parts):
    return {finding.code for finding in loud(program.format(**parts), folder)}


def test_halves_stay_apart(tmp_path):
    assert found(tmp_path, SAVING, most="half", half="written", size="1 << 20") == set()


@pytest.mark.parametrize(("most", "half"), [("half", "filled"), ("2 * half", "written")], ids=["same", "too many"])
def test_a_half_that_is_being_filled_is_told(tmp_path, most, half):
    assert found(tmp_path, SAVING, most=most, half=half, size="1 << 20") == {"SS108"}


def test_halves_of_a_size_that_nobody_knows_stay_apart(tmp_path):
    assert found(tmp_path, SAVING, most="half", half="written", size="half") == set()


@pytest.mark.parametrize(("most", "half"), [("half", "filled"), ("2 * half", "written")], ids=["same", "too many"])
def test_a_half_of_a_size_that_nobody_knows_that_is_being_filled_is_told(tmp_path, most, half):
    assert found(tmp_path, SAVING, most=most, half=half, size="half") == {"SS108"}


PARTS = """#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
const int most = 1 << 16;
void download(char* to, char* from, int length, cudaStream_t* streams, int count) {{
    for (int i = 0; i < count; ++i) {{
        int part = most;
        if (i * most + part > length) part = length - i * most;
        cudaMemcpyAsync(to + i * {stride}, from + i * most, part, cudaMemcpyDeviceToHost, streams[i]);
    }}
}}
int main(int argc, char** argv) {{
    int bytes = atoi(argv[1]), devices = atoi(argv[2]);
    char *results, *values;
    cudaMallocHost(&results, bytes);
    int share = (bytes + devices - 1) / devices;
    for (int d = 0; d < devices; ++d) {{
        cudaSetDevice(d);
        int length = d * share + share > bytes ? bytes - d * share : share;
        int count = (length + most - 1) / most;
        cudaStream_t* streams = (cudaStream_t*)malloc(count * sizeof(cudaStream_t));
        for (int i = 0; i < count; ++i) cudaStreamCreate(&streams[i]);
        cudaMalloc(&values, length);
        download(results + d * share, values, length, streams, count);
    }}
    for (int d = 0; d < devices; ++d) {{
        cudaSetDevice(d);
        cudaDeviceSynchronize();
    }}
    fwrite(results, 1, bytes, stdout);
    cudaFreeHost(results);
}}
"""


def test_parts_of_pinned_memory_of_several_devices_stay_apart(tmp_path):
    assert "SS109" not in found(tmp_path, PARTS, stride="most")


def test_parts_of_pinned_memory_that_are_one_are_told(tmp_path):
    assert "SS109" in found(tmp_path, PARTS, stride="0")


def test_halves_that_are_copied_whole_stay_apart(tmp_path):
    assert found(tmp_path, PACKETS, half="written", bytes="half") == set()


@pytest.mark.parametrize(("half", "bytes_"), [("filled", "half"), ("space", "2 * half")], ids=["same", "both"])
def test_one_of_them_that_is_being_filled_is_told(tmp_path, half, bytes_):
    assert found(tmp_path, PACKETS, half=half, bytes=bytes_) == {"SS108"}
