"""Variables of the device that a kernel names: `__device__`, `__constant__`, `__managed__`."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviour, KernelBehaviours
from streamsan.vocabulary import AccessMode, SlotFlag

READ, WRITE, BOTH, OPAQUE = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE, AccessMode.OPAQUE
TOUCHES, ATOMIC = SlotFlag.TOUCHES, SlotFlag.ATOMIC
VARIABLES = """
__device__ float table[64];
__constant__ float fixed[4];
__managed__ int total;
__device__ float* indirect;
__device__ void put(int i) { table[i] = 1.0f; }
__device__ float get(int i) { return table[i] + fixed[0]; }
"""


def behaviour(kernel: str) -> KernelBehaviour:
    unit = read_text(VARIABLES + kernel, "a.cu")
    (function,) = (each for each in unit.declarations if isinstance(each, tree.Function) and each.name == "k")
    return KernelBehaviours(unit).of(function)


@pytest.mark.parametrize(
    ("body", "uses"),
    [
        ("out[0] = table[threadIdx.x];", {"table": (READ, TOUCHES)}),
        ("table[threadIdx.x] = 0;", {"table": (WRITE, TOUCHES)}),
        ("table[i] += 1;", {"table": (BOTH, 0)}),
        ("out[0] = fixed[0];", {"fixed": (READ, TOUCHES)}),
        ("total = 3;", {"total": (WRITE, 0)}),
        ("total += 3;", {"total": (BOTH, 0)}),
        ("out[0] = total;", {"total": (READ, 0)}),
        ("atomicAdd(&total, 1);", {"total": (BOTH, ATOMIC)}),
        ("put(i);", {"table": (WRITE, 0)}),
        ("out[0] = get(i);", {"table": (READ, 0), "fixed": (READ, 0)}),
        ("indirect[0] = 1;", {}),
        ("float table = 2; out[0] = table;", {}),
        ("out[0] = 1;", {}),
        ("auto* p = &total; unknown(p);", {"total": (OPAQUE, 0)}),
    ],
)
def test_uses(body: str, uses: dict[str, tuple[AccessMode, int]]) -> None:
    found = behaviour(f"__global__ void k(float* out, int i) {{ {body} }}").variable_uses
    assert {name: (use.mode, use.flags) for name, use in found.items()} == uses


@pytest.mark.parametrize(
    ("kernel", "talks"),
    [
        ("__global__ void k(volatile int* flag) { *flag = 1; }", True),
        ("__global__ void k(int* flag) { __threadfence_system(); *flag = 1; }", True),
        ("__device__ void raise(int* f) { atomicExch_system(f, 1); } __global__ void k(int* f) { raise(f); }", True),
        ("__global__ void k(int* flag) { atomicAdd(flag, 1); __threadfence(); }", False),
        ("__global__ void k(int* out) { out[threadIdx.x] = 1; }", False),
    ],
)
def test_kernels_that_talk_while_they_run(kernel: str, talks: bool) -> None:
    assert behaviour(kernel).talks is talks
