"""Templates that have themselves as a part: what ends that, a specialisation, may not be found."""

from __future__ import annotations

import pytest
from reading import loud

HEAD = """#include <cuda_runtime.h>
template <int N> struct Shape { int first; Shape<N - 1> rest; };
template <> struct Shape<1> { int first; };
"""
TWICE = "cudaFree(d); cudaFree(d);"
ONCE = "cudaFree(d);"


@pytest.mark.parametrize("kind", ["Shape<N>", "Shape<M - 1>", "Shape<3>"])
@pytest.mark.parametrize(("frees", "codes"), [(TWICE, ["SS201"]), (ONCE, [])], ids=["wrong", "right"])
def test_the_path_goes_on_behind_their_copies(tmp_path, kind, frees, codes):
    text = (
        f"{HEAD}template <int M> void run({kind} given) {{\n"
        f"  {kind} one = given; {kind} two(one); two = one;\n"
        f"  float* d; cudaMalloc(&d, two.first); {frees}\n}}\n".replace("<N>", "<M>")
    )
    assert [each.code for each in loud(text, tmp_path)] == codes
