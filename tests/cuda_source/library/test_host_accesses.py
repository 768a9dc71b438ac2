"""Library calls that read or write host memory say so, if CUDA has seen the memory."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import loud, run_main

from streamsan.vocabulary import AccessMode

READ, WRITE, BOTH = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE
START = "float* d; cudaMalloc(&d, 400); cudaStream_t s; cudaStreamCreate(&s); float* h; cudaMallocHost(&h, 400); cudaMemcpyAsync(h, d, 400, cudaMemcpyDeviceToHost, s);"

ACCESSES = {
    "memset": ("memset(h, 0, 400);", [WRITE]),
    "memcpy from": ("float a[100]; memcpy(a, h, 400);", [READ]),
    "memcpy to": ("float a[100]; std::memcpy(h, a, 400);", [WRITE]),
    "strcpy": ('strcpy((char*)h, "text");', [WRITE]),
    "sprintf": ('sprintf((char*)h, "%d", 3);', [WRITE]),
    "printf of text": ('printf("%d %s", 3, (char*)h);', [READ]),
    "printf of the address": ('printf("%p", h);', []),
    "puts": ("puts((char*)h);", [READ]),
    "fread": ("fread(h, 4, 100, stdin);", [WRITE]),
    "fwrite": ("fwrite(h, 4, 100, stdout);", [READ]),
    "stream read": ('std::ifstream f("x"); f.read((char*)h, 400);', [WRITE]),
    "stream write": ('std::ofstream f("x"); f.write((char*)h, 400);', [READ]),
    "input of a number": ("std::cin >> h[3];", [WRITE]),
    "output of a number": ("std::cout << h[3];", [READ]),
    "fill": ("std::fill(h, h + 100, 1.f);", [WRITE]),
    "fill_n": ("std::fill_n(h, 100, 1.f);", [WRITE]),
    "iota": ("std::iota(h, h + 100, 0);", [WRITE]),
    "generate": ("std::generate(h, h + 100, rand);", [WRITE]),
    "sort": ("std::sort(h, h + 100);", [BOTH]),
    "accumulate": ("float x = std::accumulate(h, h + 100, 0.f);", [READ]),
    "copy from": ("std::vector<float> v(100); std::copy(h, h + 100, v.begin());", [READ]),
    "copy to": ("std::vector<float> v(100); std::copy(v.begin(), v.end(), h);", [WRITE]),
    "transform": ("std::transform(h, h + 100, h, [](float x) { return 2 * x; });", [READ, WRITE]),
    "vector from a range": ("std::vector<float> v(h, h + 100);", [READ]),
    "memcmp": ("float a[100]; bool same = !memcmp(a, h, 400);", [READ]),
}  # fmt: skip


@pytest.mark.parametrize(("body", "modes"), ACCESSES.values(), ids=ACCESSES)
def test_access(body, modes, tmp_path):
    ops = run_main(f"{START}\n{body}\n cudaStreamSynchronize(s); cudaFreeHost(h); cudaFree(d);", tmp_path)
    pinned = next(op.object for op in ops if op.kind == "ALLOC" and op.label == "h")
    assert [op.flags & 3 for op in ops if op.kind == "HOST_ACCESS" and op.object == pinned] == modes
    assert [op.label for op in ops if op.kind in ("NOT_UNDERSTOOD", "OPAQUE_CALL")] == []


@pytest.mark.parametrize(
    "row", ["std::vector<int>(256)", "std::vector<int>(columns)", "std::vector<int>(16 * columns)"]
)
def test_each_element_of_a_vector_of_vectors_is_a_copy_of_its_own(row, tmp_path):
    body = f"""  int *d, columns = 256; cudaStream_t s; cudaMalloc(&d, 1024); cudaStreamCreate(&s);
  std::vector<std::vector<int>> rows(3, {row});
  cudaMemcpyAsync(d, rows[0].data(), 1024, cudaMemcpyHostToDevice, s);
  rows[WHICH][0] = 1; cudaStreamSynchronize(s); cudaFree(d);"""
    found = {}
    for which in "01":
        program = f"#include <vector>\nint main() {{\n{body.replace('WHICH', which)}\n}}\n"
        found[which] = [each.code for each in loud(program, tmp_path)]
    assert found == {"0": ["SS108"], "1": []}
