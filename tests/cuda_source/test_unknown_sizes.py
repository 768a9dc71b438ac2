"""Copies and fills whose size nobody knows touch their first byte; those at an offset that nobody knows need not."""

from __future__ import annotations

import pytest
from reading import run

from streamsan.vocabulary import SlotFlag

HEAD = "int main(int argc, char** argv) { size_t n = argc; char *d, *h; cudaMalloc(&d, 4 * n); cudaMallocHost(&h, n);"


@pytest.mark.parametrize(
    ("call", "touches"),
    [
        ("cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, 0);", True),
        ("cudaMemsetAsync(d, 0, n, 0);", True),
        ("cudaMemset2DAsync(d, n, 0, 4, 8, 0);", True),
        ("cudaMemcpyAsync(d + n, h, n, cudaMemcpyHostToDevice, 0);", False),
        ("cudaMemsetAsync(d + 2 * n, 0, n, 0);", False),
    ],
)
def test_whether_the_first_byte_is_touched(call, touches, tmp_path):
    ops = run(HEAD + call + "}", tmp_path)
    found = next(op for op in ops if op.kind in ("COPY", "MEMSET"))
    assert found.size == 0
    assert bool(found.flags & SlotFlag.TOUCHES) is touches


def test_no_bytes_touch_nothing(tmp_path):
    ops = run(HEAD + "cudaMemsetAsync(d, 0, 0 * n, 0); }", tmp_path)
    assert next(op for op in ops if op.kind == "MEMSET").address == 0
