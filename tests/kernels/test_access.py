"""Access modes of kernel parameters."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.vocabulary import SlotFlag

BEFORE = """
__device__ void store(float* o, const float* i) { *o = *i; }
__device__ void bump(float& x) { x += 1; }
__device__ float load(float* p) { return p[0]; }
"""


def kernel(text: str) -> tuple[dict[str, str], set[str]]:
    unit = read_text(f"{BEFORE}\n__global__ void k({text}")
    found = next(d for d in unit.declarations if isinstance(d, Function) and d.kernel)
    uses = KernelBehaviours(unit).of(found).uses
    return {n: use.mode.name for n, use in uses.items()}, {n for n, use in uses.items() if use.flags & SlotFlag.ATOMIC}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const float* a, float* b, int n) { b[n] = a[n] * 2; }", {"a": "READ", "b": "WRITE"}),
        ("float* a) { a[0] += 1; }", {"a": "READ_WRITE"}),
        ("float* a) { a[0]++; }", {"a": "READ_WRITE"}),
        ("float* a, float* b) { float* q = a + 3; *q = b[1]; }", {"a": "WRITE", "b": "READ"}),
        ("float* a, float* b) { store(a, b); }", {"a": "WRITE", "b": "READ"}),
        ("float* a) { bump(a[2]); }", {"a": "READ_WRITE"}),
        ("float* a, float* o) { o[0] = load(a); }", {"a": "READ", "o": "WRITE"}),
        ("float* a) { elsewhere(a); }", {"a": "OPAQUE"}),
        ("float* a, const float* b);", {"a": "OPAQUE", "b": "READ"}),
        ("const float* a) { float* w = (float*)a; w[0] = 1; }", {"a": "WRITE"}),
        ("float* a) { float& r = a[1]; r = 2; }", {"a": "WRITE"}),
        ('float* a) { asm volatile("ld %0;" :: "l"(a)); }', {"a": "OPAQUE"}),
        ("float* a) { S s = {a}; }", {"a": "OPAQUE"}),
        ("float** a) { a[0][0] = 1; }", {"a": "OPAQUE"}),
        ("float4* a, float* b) { a[0].x = expf(b[0]); }", {"a": "WRITE", "b": "READ"}),
        ("float* a) { __stcg(a, __ldg(a + 1)); }", {"a": "READ_WRITE"}),
        ("float* a) { /* kernel code */ }", {"a": "OPAQUE"}),
        ("int n, float x) { }", {}),
    ],
)
def test_access(text: str, expected: dict[str, str]) -> None:
    assert kernel(text)[0] == expected


def test_atomics() -> None:
    assert kernel("int* a, int* b) { atomicAdd(a, 1); atomicMax(&b[2], 3); b[0] = 1; }")[1] == {"a"}
