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
    size_t bytes;
    scanf("%zu", &bytes);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&values, bytes);
    cudaMemset(values, 1, bytes);
    save(fopen("values", "wb"), values, bytes, 1 << 20, stream);
    cudaFree(values);
}}
"""


def found(folder, **parts):
    source = folder / "save.cu"
    source.write_text(SAVING.format(**parts))
    return {finding.code for finding in check([str(source)]).findings if finding.severity.name != "NOTE"}


def test_halves_stay_apart(tmp_path):
    assert found(tmp_path, most="half", half="written") == set()


@pytest.mark.parametrize(("most", "half"), [("half", "filled"), ("2 * half", "written")], ids=["same", "too many"])
def test_a_half_that_is_being_filled_is_told(tmp_path, most, half):
    assert found(tmp_path, most=most, half=half) == {"SS108"}
