"""What a kernel surely does before it may wait for the kernel before it."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviour, KernelBehaviours
from streamsan.kernels.uses import Start
from streamsan.vocabulary import AccessMode, SlotFlag

BEFORE = """
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PDL_WAIT() cudaGridDependencySynchronize()
#define PDL_SYNC asm volatile("griddepcontrol.wait;" ::: "memory");
#define NEXT() asm volatile("griddepcontrol.launch_dependents;")
#else
#define PDL_WAIT()
#define PDL_SYNC
#define NEXT()
#endif
#define CEIL(a, b) (((a) + (b) - 1) / (b))
#define LOAD(p, i) __ldg((p) + (i))
#if 0
__device__ void hidden() { cudaGridDependencySynchronize(); }
#else
__device__ void hidden() {}
#endif
__device__ void indirect() { hidden(); }
struct Pair { float a, b; };
template <class T> __device__ T plus(T a, T b) { return a + b; }
template <class T> __device__ const T* row(const T* p, int i) { return p + i; }
__device__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}
"""
WAITS: tuple[Start, dict[str, tuple[AccessMode, int]]] = (Start.WAITS, {})
R, W, TOUCHES = AccessMode.READ, AccessMode.WRITE, int(SlotFlag.TOUCHES)


def behaviour(text: str) -> KernelBehaviour:
    unit = read_text(text)
    found = next(each for each in unit.declarations if isinstance(each, Function) and each.kernel)
    return KernelBehaviours(unit).of(found)


def beginning(kernel: str) -> tuple[Start, dict[str, tuple[AccessMode, int]]]:
    found = behaviour(f"{BEFORE}\n{kernel}")
    return found.start, dict(found.early_uses)


@pytest.mark.parametrize(
    "body",
    [
        "x[0] = b[0];",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = plus<float>(LOAD(b, i), sqrtf(2.f));",
        "__shared__ float s[32]; s[threadIdx.x] = b[0]; __syncthreads(); atomicAdd(x, s[0]); (void)CEIL(n, 2);",
        "cg::this_thread_block().sync(); x[0] = static_cast<float>(n) + float(n) + Pair{1, 2}.a;",
        "long long t = clock64(); while (clock64() - t < n) {} x[0] = b[0];",
        "unsigned long long t = now(); while (now() - t < 5) {} x[0] = b[0];",
        "NEXT(); unsigned long long t = now(); for (int i = 0; i < n; ++i) x[i] = t;",
        "cudaTriggerProgrammaticLaunchCompletion(); x[0] = b[0]; // cudaGridDependencySynchronize()",
        'x[0] = __shfl_down_sync(~0u, b[0], 1); __threadfence(); printf("wait %d", n);',
    ],
)
def test_a_kernel_that_never_waits(body: str) -> None:
    assert beginning(f"__global__ void k(float* x, const float* b, int n) {{ {body} }}") == (Start.AT_ONCE, {})


@pytest.mark.parametrize(
    "body",
    [
        "cudaGridDependencySynchronize(); x[0] = b[0];",
        "PDL_WAIT(); x[0] = b[0];",
        "PDL_SYNC x[0] = b[0];",
        "\n#if __CUDA_ARCH__ >= 900\ncudaGridDependencySynchronize();\n#endif\nx[0] = b[0];",
        'asm volatile ("griddepcontrol.wait;"); x[0] = b[0];',
        "hidden(); x[0] = b[0];",
        "indirect(); x[0] = b[0];",
        "somewhere_else(); x[0] = b[0];",
        "cuda::ptx::griddepcontrol_wait(); x[0] = b[0];",
        "NOT_DEFINED_HERE; x[0] = b[0];",
        "while (b[0] == 0) {} x[0] = b[0];",
        "if (n) { cudaGridDependencySynchronize(); } x[0] = b[0];",
        "if (n) { x[0] = b[0]; cudaGridDependencySynchronize(); }",
        "while (*(volatile int*)b == 0) {} x[0] = 1;",
        "while (atomicAdd((int*)x, 0) == 0) {} x[0] = 1;",
        "const float* r = row(b, 2); PDL_WAIT(); x[0] = r[0];",
        "const float& r = b[2]; PDL_WAIT(); x[0] = r;",
        "auto load = [&](int i) { return b[i]; }; PDL_WAIT(); x[0] = load(0);",
        "auto later = [&] { x[0] = b[0]; }; PDL_WAIT(); later();",
    ],
)
def test_a_kernel_that_may_wait_first(body: str) -> None:
    assert beginning(f"__global__ void k(float* x, const float* b, int n) {{ {body} }}") == WAITS


@pytest.mark.parametrize(
    ("body", "uses"),
    [
        ("float v = b[threadIdx.x]; PDL_WAIT(); x[threadIdx.x] = v;", {"b": (R, TOUCHES)}),
        ("int i = threadIdx.x; if (i >= n) return; x[i] = 1; PDL_SYNC b[i];", {"x": (W, TOUCHES)}),
        ("x[1] = 1; if (n) { PDL_WAIT(); } x[0] = b[0];", {"x": (W, 0)}),
        ("NEXT(); PDL_WAIT(); x[0] = b[0];", {}),
        ("cudaTriggerProgrammaticLaunchCompletion(); PDL_WAIT(); x[0] = b[0];", {}),
    ],
)
def test_a_kernel_that_does_something_first(body: str, uses: dict[str, tuple[AccessMode, int]]) -> None:
    found = beginning(f"__global__ void k(float* x, const float* b, int n) {{ {body} }}")
    assert found == (Start.PARTLY, uses)


def test_a_trigger_under_a_condition_is_none() -> None:
    assert beginning("__global__ void k(float* x, int n) { if (n) { NEXT(); } PDL_WAIT(); x[0] = 1; }") == WAITS


def test_what_a_template_s_functor_does_is_not_known() -> None:
    assert beginning("template <class F> __global__ void k(float* x, F f) { x[0] = f(1); }") == WAITS


def test_a_template_s_own_type_is_no_function() -> None:
    kernel = "template <class T> __global__ void k(T* x) { x[threadIdx.x] = plus(T(1), T(2)); }"
    assert beginning(kernel) == (Start.AT_ONCE, {})


@pytest.mark.parametrize(
    ("before", "whole"),
    [
        ("#include <cooperative_groups.h>\n#include <cub/cub.cuh>\n", True),
        ("#include <cutlass/cutlass.h>\n", False),
        ('#include "not_here.h"\n', False),
        ("// the wait is in the functor: cudaGridDependencySynchronize()\n", False),
        ("__device__ void prepare();\n", False),
    ],
)
def test_where_no_file_says_a_word_of_it_nothing_waits(before: str, whole: bool) -> None:
    kernel = "template <class F> __global__ void k(float* x, F f) { prepare(); barrier.wait(); x[0] = f(1); }"
    assert behaviour(before + kernel).start is (Start.AT_ONCE if whole else Start.WAITS)
