"""Which parameters every launch of a kernel surely touches at their first element."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.kernels.uses import Use
from streamsan.vocabulary import SlotFlag

BEFORE = """
#define N 1024
#define LAST(n) ((n) - 1)
#define LEAVE_IF(x) do { if (x) return; } while (0)
__constant__ int shift;
struct Plan { int n; int first; };
__device__ int global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ void put(float* o, int i, float v) { o[i] = v; }
struct Levels {
    float* base; int w, levels;
    __device__ static int offset(int w, int l) { int o = 0; for (int k = 0; k < l; ++k) o += w >> k; return o; }
    __device__ float* level(int l) const { return base + offset(w, l); }
    __device__ float* upper(int l) const { return base + offset(w, l + 1); }
};
__device__ void put_some(float* o, int i, int n) { if (i < n) o[i] = 1; }
"""
I = "int i = blockIdx.x * blockDim.x + threadIdx.x; "  # noqa: E741


def uses(text: str) -> dict[str, Use]:
    unit = read_text(f"{BEFORE}\n{text}")
    found = next(d for d in unit.declarations if isinstance(d, Function) and d.kernel)
    return dict(KernelBehaviours(unit).of(found).uses)


def touched(text: str) -> set[str]:
    return {name for name, use in uses(text).items() if use.flags & SlotFlag.TOUCHES}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"float* a, int n) {{ {I} if (i < n) a[i] = 1; }}", {"a"}),
        (f"float* a, int n) {{ {I} if (i >= n) return; a[i] = 1; }}", {"a"}),
        (f"float* a) {{ {I} if (i < N) a[i] = 1; }}", {"a"}),
        ("float* a, int n) { for (int i = global_index(); i < n; i += blockDim.x * gridDim.x) a[i] = 1; }", {"a"}),
        ("float* a, int n) { int i = global_index(); put(a, i, 2.0f); }", {"a"}),
        ("float* a, int n) { put_some(a, global_index(), n); }", {"a"}),
        ("float* a, size_t n) { size_t i = threadIdx.x; while (i < n) { a[i] = 1; i += 64; } }", {"a"}),
        (
            "float* a, int w, int h) { int x = threadIdx.x, y = blockIdx.y; if (x < w && y < h) a[y * w + x] = 0; }",
            {"a"},
        ),
        ("float* a, Plan p) { int i = global_index(); if (i < p.n) a[i] = 1; }", {"a"}),
        ("float4* a) { a[threadIdx.x].x = 1; }", {"a"}),
        ("float* a) { reinterpret_cast<float4*>(a)[threadIdx.x] = make_float4(0, 0, 0, 0); }", {"a"}),
        ("float* a) { if (threadIdx.x == 0) atomicAdd(a, 1.0f); }", {"a"}),
        ("float* a) { a += blockIdx.x * 256; a[threadIdx.x] = 1; }", {"a"}),
        ("const float* a, float* o) { o[threadIdx.x] = __ldg(&a[threadIdx.x]); }", {"a", "o"}),
        ("const float* a, const int* at, float* o) { int i = global_index(); o[at[i]] = a[i]; }", {"a", "at"}),
        (
            "const float* a, const float* b, float* c, int n) { int r = blockIdx.y, q = threadIdx.x; float s = 0;"
            " for (int k = 0; k < n; ++k) s += a[r * n + k] * b[k * n + q]; c[r * n + q] = s; }",
            {"a", "b", "c"},
        ),
        (
            "float* a) { long long begin = clock64(); while (clock64() - begin < 1000) {} a[threadIdx.x] = 1; }",
            {"a"},
        ),
    ],
)
def test_first_element_is_touched(text: str, expected: set[str]) -> None:
    assert touched(f"__global__ void k({text}") == expected


@pytest.mark.parametrize(
    "text",
    [
        # an offset from elsewhere
        f"float* a, int first, int n) {{ {I} if (i < n) a[first + i] = 1; }}",
        f"float* a, int first, int n) {{ a += first; {I} if (i < n) a[i] = 1; }}",
        f"float* a, int part, int n) {{ {I} float* mine = a + part * n; if (i < n) mine[i] = 1; }}",
        f"float* a, Plan p) {{ {I} if (i < p.n) a[i + p.first] = 1; }}",
        "float* a) { a[threadIdx.x + shift] = 1; }",
        "float* a, const int* at) { a[at[threadIdx.x]] = 1; }",
        "float* a, int first, int last) { for (int i = first + threadIdx.x; i < last; i += blockDim.x) a[i] = 1; }",
        "float* a) { a[LAST(5)] = 1; }",
        "float* a) { a[threadIdx.x + 1] = 1; }",
        "float* a) { float* b = a - 4; b[threadIdx.x] = 1; }",
        "float* a) { a[threadIdx.x - 1] = 1; }",
        "float* a, int n) { a[n - 1 - threadIdx.x] = 1; }",
        # not for certain
        "float* a, int on) { if (on) a[threadIdx.x] = 1; }",
        "float* a, int on) { if (on > 0) a[threadIdx.x] = 1; }",
        "float* a, int on) { if (!on) return; a[threadIdx.x] = 1; }",
        "float* a, int on) { LEAVE_IF(on); a[threadIdx.x] = 1; }",
        "float* a, int n) { if (threadIdx.x < n - 1) a[threadIdx.x] = 1; }",
        "float* a, int who) { if (threadIdx.x == who) a[threadIdx.x] = 1; }",
        "float* a, float* b, int n) { if (threadIdx.x < n) a[0] = 1; else b[0] = 1; }",
        "float* a, const int* lengths) { int n = lengths[blockIdx.x]; if (threadIdx.x < n) a[threadIdx.x] = 1; }",
        "float* a, int n) { for (int i = 1; i < n; ++i) a[i] = 1; }",
        "float* a, int mode) { switch (mode) { case 0: return; } a[0] = 1; }",
        "float* a) { if (threadIdx.x > 0) a[threadIdx.x] = 1; }",
        "float* a, volatile int* ready) { while (*ready == 0) {} a[threadIdx.x] = 1; }",
        "float* a, int n) { int i = threadIdx.x; unknown(i); a[i] = 1; }",
        # another member of the first element
        "float4* a) { a[threadIdx.x].y = 1; }",
        # the first element is read only, the others are written
        "float* a, int n) { int i = threadIdx.x; if (i < n) a[i + 1] = a[i]; }",
        # what escapes
        "float* a) { a[0] = 1; elsewhere(a); }",
        "float** a) { a[0][0] = 1; }",
        # no body
        "float* a);",
    ],
)
def test_first_element_may_not_be_touched(text: str) -> None:
    assert "a" not in touched(f"__global__ void k({text}")


ALL_LEVELS = (
    "__global__ void k(Levels a) { for (int l = 0; l < a.levels; ++l) { int n = a.w >> l;"
    " for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a.level(l)[i] = 1; } }"
)


def test_a_function_that_sums_up_in_a_loop_gives_the_first_offset() -> None:
    assert touched(ALL_LEVELS) == {"a.base"}
    assert touched(ALL_LEVELS.replace("a.level(", "a.upper(")) == set()


def test_a_count_shifted_by_what_nobody_knows_may_be_no_range() -> None:
    assert touched(ALL_LEVELS.replace("int n = a.w >> l", "int n = a.w >> shift")) == set()


def test_a_parameter_of_a_template_is_an_offset_nobody_knows() -> None:
    assert touched("template <int First> __global__ void k(float* a) { a[threadIdx.x + First] = 1; }") == set()


def test_atomics_are_so_only_without_any_other_access() -> None:
    text = (
        "__global__ void k(int* counts, int* mixed, int* first, cuda::atomic<int>* flag, const int* in) {"
        " atomicAdd(&counts[in[0]], 1); atomicAdd(mixed, 1); mixed[1] = 2;"
        " cuda::atomic_ref<int> one(first[0]); one.fetch_add(1); flag->fetch_add(1); }"
    )
    found = uses(text)
    assert {name for name, use in found.items() if use.flags & SlotFlag.ATOMIC} == {"counts", "first", "flag"}
    modes = {name: use.mode.name for name, use in found.items()}
    assert (modes["counts"], modes["mixed"], modes["in"]) == (
        "READ_WRITE",
        "OPAQUE",
        "READ",
    )
