"""Copies and fills whose size nobody knows touch their first byte; what meets whatever the numbers are is an error."""

from __future__ import annotations

import pytest
from reading import run

from expectations import check_text
from streamsan.findings.finding import Severity
from streamsan.vocabulary import SlotFlag

HEAD = "int main(int argc, char** argv) { size_t n = argc; char *d, *h; cudaMalloc(&d, 4 * n); cudaMallocHost(&h, n);"


@pytest.mark.parametrize(
    ("call", "known"),
    [
        ("cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, 0);", True),
        ("cudaMemsetAsync(d, 0, n, 0);", True),
        ("cudaMemcpyAsync(d + n, h, n, cudaMemcpyHostToDevice, 0);", True),
        ("cudaMemset2DAsync(d, n, 0, 4, 8, 0);", False),
    ],
)
def test_what_stands_for_the_bytes_is_touched(call, known, tmp_path):
    ops = run(HEAD + call + "}", tmp_path)
    found = next(op for op in ops if op.kind in ("COPY", "MEMSET"))
    assert bool(found.size) is known
    assert found.flags & SlotFlag.TOUCHES


def test_an_offset_that_nobody_can_say_need_not_touch_the_first_byte(tmp_path):
    ops = run(f"long where(const char*); {HEAD} cudaMemsetAsync(d + 0.5 * argc, 0, n, 0); }}", tmp_path)
    found = next(op for op in ops if op.kind == "MEMSET")
    assert found.size == 0
    assert not found.flags & SlotFlag.TOUCHES


def test_no_bytes_touch_nothing(tmp_path):
    ops = run(HEAD + "cudaMemsetAsync(d, 0, 0 * n, 0); }", tmp_path)
    assert next(op for op in ops if op.kind == "MEMSET").address == 0


TWO = """
__global__ void scale(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
__global__ void every_other(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i % 2) x[i] *= 2; }
int main(int argc, char** argv) {
    int n = atoi(argv[1]), m = atoi(argv[2]);
    cudaStream_t a, b;
    cudaStreamCreate(&a); cudaStreamCreate(&b);
    float *d, *h;
    cudaMalloc(&d, n * sizeof(float)); cudaMallocHost(&h, n * sizeof(float));
    CALLS
    cudaDeviceSynchronize();
}
"""
UPLOAD = "cudaMemcpyAsync(d, h, n * sizeof(float), cudaMemcpyHostToDevice, a); "
FRONT = "cudaMemsetAsync(d, 0, m * sizeof(float), a); "


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        (UPLOAD + "scale<<<(n + 255) / 256, 256, 0, b>>>(d + n / 2, n / 2);", Severity.ERROR),
        (UPLOAD + "scale<<<(n + 255) / 256, 256, 0, b>>>(d + n, n);", None),
        (FRONT + "scale<<<(n + 255) / 256, 256, 0, b>>>(d + m, n);", None),
        (FRONT + "cudaMemsetAsync(d + m / 2, 0, m * sizeof(float), b);", Severity.ERROR),
        (FRONT + "cudaMemsetAsync(d + n / 4, 0, m * sizeof(float), b);", Severity.NOTE),
        # No part of the memory lies behind its end.
        (FRONT + "cudaMemsetAsync(d + n / 2, 0, m * sizeof(float), b);", None),
        # What is behind the allocation meets nothing in it.
        (FRONT + "cudaMemsetAsync(d + n, 0, m * sizeof(float), b);", None),
        (FRONT + "cudaMemsetAsync(d + (n < m ? m : n), 0, m * sizeof(float), b);", None),
        # What is known later is not known of what was before.
        (FRONT + "if (m == 16) cudaMemsetAsync(d + 16, 0, 64, b);", Severity.NOTE),
        (FRONT + "if (m <= 16) cudaMemsetAsync(d + 16, 0, 64, b);", Severity.NOTE),
        # Which elements the kernel leaves out is not followed. What takes all is beside it wherever it is.
        (UPLOAD + "every_other<<<(n + 255) / 256, 256, 0, b>>>(d + n / 2, n / 2);", Severity.WARNING),
        (
            "every_other<<<(n + 255) / 256, 256, 0, a>>>(d, n); cudaMemsetAsync(d, 0, n * sizeof(float), b);",
            Severity.WARNING,
        ),
        (UPLOAD + "cudaMemsetAsync(d + m, 0, 64, b);", Severity.ERROR),
        # What the path has decided of both numbers says where they meet.
        (FRONT + "if (m > n / 2) exit(1); cudaMemsetAsync(d + n / 2, 0, n / 2, b);", None),
        (FRONT + "if (m < n / 2 + 2) exit(1); cudaMemsetAsync(d + n / 2, 0, 8, b);", Severity.ERROR),
        # A part may be what the kernel leaves out; so may the other kernel's elements be.
        (FRONT + "every_other<<<(n + 255) / 256, 256, 0, b>>>(d, n);", Severity.NOTE),
        (
            "every_other<<<(n + 255) / 256, 256, 0, a>>>(d, n); every_other<<<(n + 255) / 256, 256, 0, b>>>(d, n);",
            Severity.NOTE,
        ),
    ],
)
def test_uses_meet_where_they_do_so_for_all_numbers(calls, severity, tmp_path):
    found = [each for each in check_text(TWO.replace("CALLS", calls), tmp_path) if each.code == "SS109"]
    assert [each.severity for each in found] == ([] if severity is None else [severity])
    assert not any("byte" in line.message for each in found for line in each.related)
