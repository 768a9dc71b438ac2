"""Which memory a kernel polls, by its text."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviours

BEFORE = """
#include <cuda/atomic>
struct Control { volatile int stop; int rounds; };
struct View { int* flag; float* data; };
__device__ volatile int gate;
__device__ int turn;
__device__ int load_acquire(const int* p) {
    int v;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ int plain(const int* p) { return *p; }
__device__ void await(volatile int* flag, int value) { while (*flag != value) { } }
"""


def polls(kernel: str) -> set[str]:
    unit = read_text(f"{BEFORE}\n{kernel}")
    found = next(each for each in unit.declarations if isinstance(each, Function) and each.kernel)
    return set(KernelBehaviours(unit).of(found).polls)


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("volatile int* flag", "while (*flag == 0) { }"),
        ("volatile int* flag", "while (!flag[0]);"),
        ("volatile int* flag", "if (threadIdx.x == 0) { while (*flag == 0) __nanosleep(20); } __syncthreads();"),
        ("volatile int* flag", "do { } while (*flag == 0);"),
        ("volatile int* flag", "for (;;) { if (*flag) break; }"),
        ("volatile int* flag", "for (int i = 0; i < 10 && !*flag; ++i) out[i] = 1;"),
        ("volatile int* flag", "int v; do { v = *flag; } while (v == 0);"),
        ("int* flag", "while (*(volatile int*)flag == 0) { }"),
        ("int* flag", "while (*reinterpret_cast<volatile int*>(flag) == 0) { }"),
        ("int* flag", "volatile int* f = flag; while (*f == 0) { }"),
        ("int* flag", "while (atomicAdd(flag, 0) == 0) { }"),
        ("int* flag", "while (atomicOr(&flag[0], 0) == 0) { }"),
        ("int* flag", "while (atomicCAS(flag, 0, 1) != 0) { } out[0] = 1; atomicExch(flag, 0);"),
        ("int* flag", "while (atomicExch(flag, 1) != 0) { }"),
        ("int* flag", "while (load_acquire(flag) == 0) { }"),
        ("int* flag", "int v = 0; while (v == 0) v = load_acquire(flag);"),
        ("int* flag", "await(flag, 1);"),
        ("int* flag", "cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag); while (f.load() == 0) { }"),
        ("int* flag", "cuda::atomic_ref<int> f{*flag}; while (f.load(cuda::memory_order_acquire) == 0) { }"),
        ("int* flag", "cuda::atomic_ref<int> f(*flag); while (f.load() != 1) { } f.store(0);"),
        ("int* flag", "cuda::atomic_ref<int> f(*flag); f.wait(0);"),
        ("cuda::atomic<int>* flag", "while (flag->load() == 0) { }"),
        ("volatile int* flag", "while (flag[1] == 0) { } flag[0] = 1;"),
        ("volatile int* flag, int i", "while (flag[i] == 0) { }"),
        ("Control* flag", "while (!flag->stop) out[0] += 1;"),
    ],
)
def test_kernels_that_poll(parameters: str, body: str) -> None:
    assert polls(f"__global__ void k({parameters}, float* out) {{ {body} }}") == {"flag"}


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("int* flag", "while (*flag == 0) { }"),
        ("const int* flag", "for (int i = 0; flag[i] != 0; ++i) out[i] = 1;"),
        ("int* flag", "while (plain(flag) == 0) { }"),
        ("volatile int* flag", "if (*flag) out[0] = 1;"),
        ("volatile int* flag, int n", "for (int i = 0; i < n; ++i) out[i] = flag[i];"),
        ("int* flag, int n", "for (int i; (i = atomicAdd(flag, 1)) < n;) out[i] = 1;"),
        (
            "int* flag",
            "int old = *flag, seen; do { seen = old; old = atomicCAS(flag, seen, seen + 1); } while (old != seen);",
        ),
        ("int* flag", "if (atomicCAS(flag, 0, 1) == 0) out[0] = 1;"),
        ("int* flag", "cuda::atomic_ref<int> f(*flag); if (f.load()) out[0] = 1;"),
        # What its blocks hand on to each other.
        ("volatile int* flag", "int b = blockIdx.x; while (b && flag[b - 1] == 0) { } flag[b] = 1;"),
        ("Control* flag", "for (int i = 0; i < flag->rounds; ++i) out[i] = 1;"),
    ],
)
def test_kernels_that_do_not(parameters: str, body: str) -> None:
    assert polls(f"__global__ void k({parameters}, float* out) {{ {body} }}") == set()


def test_variables_and_structures() -> None:
    assert polls("__global__ void k(float* out) { while (gate == 0) { } out[0] = 1; }") == {"gate"}
    assert polls("__global__ void k(float* out) { while (turn == 0) { } out[0] = 1; }") == set()
    assert polls("__global__ void k(float* out) { while (atomicAdd(&turn, 0) == 0) { } }") == {"turn"}
    assert polls("__global__ void k(View v) { while (load_acquire(v.flag) == 0) { } v.data[0] = 1; }") == {"v.flag"}
