"""A buffer in two halves, one filled while the other is written: `std::min(half, rest)` bytes stay in one."""

from __future__ import annotations

import pytest

from streamsan import check

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
    source = folder / "save.cu"
    source.write_text(program.format(**parts))
    return {finding.code for finding in check([str(source)]).findings if finding.severity.name != "NOTE"}


def test_halves_stay_apart(tmp_path):
    assert found(tmp_path, SAVING, most="half", half="written", size="1 << 20") == set()


@pytest.mark.parametrize(("most", "half"), [("half", "filled"), ("2 * half", "written")], ids=["same", "too many"])
def test_a_half_that_is_being_filled_is_told(tmp_path, most, half):
    assert found(tmp_path, SAVING, most=most, half=half, size="1 << 20") == {"SS108"}


def test_halves_that_are_copied_whole_stay_apart(tmp_path):
    assert found(tmp_path, PACKETS, half="written", bytes="half") == set()


@pytest.mark.parametrize(("half", "bytes_"), [("filled", "half"), ("space", "2 * half")], ids=["same", "both"])
def test_one_of_them_that_is_being_filled_is_told(tmp_path, half, bytes_):
    assert found(tmp_path, PACKETS, half=half, bytes=bytes_) == {"SS108"}
