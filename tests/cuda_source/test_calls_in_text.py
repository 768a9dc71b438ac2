"""Calls of CUDA as text tells them."""

from __future__ import annotations

import pytest

from streamsan.cuda_source.program.calls_in_text import calls_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cudaFree(p); cuMemFree (q);", ["cudaFree", "cuMemFree"]),
        ("ns::fill<float, 4> <<<1, 2>>>(p); ::fill<<<1, 2>>>(p); fill <<<1, 2>>>(p);", ["<<<"] * 3),
        ("cudaError_t cudaFree(void*); return cudaFree(p);", ["cudaFree"]),
        ("object.cudaFree(p); cudaNoSuchCall(p); cudaGetErrorString(e);", []),
        ('// cudaFree(p)\n/* cudaFree(p) */ const char* s = "cudaFree(p)";', []),
        ("a::a" * 50_000 + "<<<1, 1>>>()", ["<<<"]),
        ("cudaFree" + " " * 200_000, []),
        ("k <" * 50_000, []),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_calls_in_text(text: str, names: list[str]) -> None:
    """Long texts of one sort are read in time that grows with their length."""
    assert [name for _, name in calls_in(text)] == names
