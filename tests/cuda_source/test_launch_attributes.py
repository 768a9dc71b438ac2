# ruff: noqa: E501 - programs under test stay as a person would type them
"""Launches that may begin before the kernel before them has ended: how programs say so, and what the trace says then."""

from __future__ import annotations

import pytest
from reading import kinds, only_world, reading_of, run_main

from streamsan.trace.view import iterate
from streamsan.vocabulary import OperationKind, SlotFlag, WaitClass

KERNELS = """
#include <array>
#include <vector>
__global__ void first(float* x, int n) { x[threadIdx.x] = 1; }
__global__ void second(float* y, const float* x, int n) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void waits(float* y, const float* x, int n) { cudaGridDependencySynchronize(); y[threadIdx.x] = x[threadIdx.x]; }
__global__ void partly(float* y, const float* x, int n) { float v = x[threadIdx.x]; cudaGridDependencySynchronize(); y[threadIdx.x] = v; }
__global__ void declared(float* y, const float* x, int n);
template <typename T, int N> __global__ void tiled(T* y, const T* x, int n) { for (int i = threadIdx.x; i < n; i += N) y[i] = x[i]; }
struct Launcher {
  cudaLaunchConfig_t c{}; cudaLaunchAttribute at[2];
  Launcher(cudaStream_t s) { c.gridDim = 1; c.blockDim = 256; c.stream = s; c.attrs = at; c.numAttrs = 0; }
  void programmatic() { auto& one = at[c.numAttrs++]; one.id = ID; one.val.programmaticStreamSerializationAllowed = 1; }
};
template <class K, class... A> cudaError_t launch(K kernel, cudaStream_t s, A&&... arguments) {
  cudaLaunchAttribute at[1]; at[0].id = ID; at[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t c{}; c.gridDim = dim3(1); c.blockDim = dim3(256); c.stream = s; c.attrs = at; c.numAttrs = 1;
  return cudaLaunchKernelEx(&c, kernel, std::forward<A>(arguments)...);
}
#define LAUNCH(kernel, s, ...) do { cudaLaunchAttribute at[1]; at[0].id = ID; at[0].val.programmaticStreamSerializationAllowed = 1; \\
  cudaLaunchConfig_t c = {}; c.gridDim = dim3(1); c.blockDim = dim3(256); c.stream = s; c.attrs = at; c.numAttrs = 1; cudaLaunchKernelEx(&c, kernel, __VA_ARGS__); } while (0)
""".replace("ID", "cudaLaunchAttributeProgrammaticStreamSerialization")
CONFIGURED = "cudaLaunchConfig_t c = {}; c.gridDim = 1; c.blockDim = 256; c.stream = s; "
SET = "at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization; at[0].val.programmaticStreamSerializationAllowed = 1; "
GIVEN = "c.attrs = at; c.numAttrs = 1; "
GO = "cudaLaunchKernelEx(&c, second, y, (const float*)x, n);"
DRIVER = """CUlaunchConfig c = {}; c.gridDimX = c.gridDimY = c.gridDimZ = 1; c.blockDimX = 256; c.blockDimY = c.blockDimZ = 1; c.hStream = s;
CUlaunchAttribute at[1]; at[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION; at[0].value.programmaticStreamSerializationAllowed = 1;
c.attrs = at; c.numAttrs = 1; CUmodule m; CUfunction f; cuModuleLoad(&m, "k.cubin"); cuModuleGetFunction(&f, m, "second");
void* args[] = {&y, &x, &n}; cuLaunchKernelEx(&c, f, args, nullptr);"""


def second_launch(body, folder):
    """Return the last launch of a program: its class, and the references that are used behind a wait, and before."""
    text = f"cudaStream_t s; cudaStreamCreate(&s); float *x, *y; cudaMalloc(&x, 4096); cudaMalloc(&y, 4096); int n = 1024; first<<<1, 256, 0, s>>>(x, n); {body}"
    world = only_world(reading_of(f"{KERNELS}\nint main() {{\n{text}\n}}\n", folder))
    last = [view for view in iterate(world.trace) if view.kind is OperationKind.LAUNCH][-1]
    # The slot's own reference has no such flag: there the bit is that of a call that never returned.
    behind = [bool(number and each.flags & SlotFlag.BEHIND) for number, each in enumerate(last.references)]
    return WaitClass(last.detail), behind


@pytest.mark.parametrize(
    "body",
    [
        CONFIGURED + "cudaLaunchAttribute at[2]; " + SET + GIVEN + GO,
        CONFIGURED + "std::vector<cudaLaunchAttribute> at(1); " + SET + "c.attrs = at.data(); c.numAttrs = at.size(); " + GO,
        CONFIGURED + "std::array<cudaLaunchAttribute, 1> at; " + SET + "c.attrs = at.data(); c.numAttrs = 1; " + GO,
        CONFIGURED + "cudaLaunchAttribute at; at.id = cudaLaunchAttributeProgrammaticStreamSerialization; at.val.programmaticStreamSerializationAllowed = true; c.attrs = &at; c.numAttrs = 1; " + GO,
        "cudaLaunchAttribute at[] = {{.id = cudaLaunchAttributeProgrammaticStreamSerialization, .val = {.programmaticStreamSerializationAllowed = 1}}}; cudaLaunchConfig_t c = {.gridDim = 1, .blockDim = 256, .dynamicSmemBytes = 0, .stream = s, .attrs = at, .numAttrs = 1}; " + GO,
        CONFIGURED + "cudaLaunchAttribute at[1]; " + SET + GIVEN + "const float* z = x; void* args[] = {&y, &z, &n}; cudaLaunchKernelExC(&c, (void*)second, args);",
        CONFIGURED + "cudaLaunchAttribute at[1]; " + SET + GIVEN + "auto k = tiled<float, 256>; cudaLaunchKernelEx(&c, k, y, (const float*)x, n);",
        "Launcher l(s); l.programmatic(); cudaLaunchKernelEx(&l.c, second, y, (const float*)x, n);",
        "launch(second, s, y, (const float*)x, n);",
        "LAUNCH(second, s, y, (const float*)x, n);",
        DRIVER,
    ],
)  # fmt: skip
def test_styles_of_programmatic_launches(body, tmp_path):
    assert second_launch(body, tmp_path) == (WaitClass.AT_ONCE, [False, False])


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("waits", (WaitClass.PROGRAMMATIC, [False, False])),
        ("declared", (WaitClass.PROGRAMMATIC, [False, False])),
        ("partly", (WaitClass.AT_ONCE, [False, True])),
    ],
)
def test_what_the_kernel_does_before_it_waits(kernel, expected, tmp_path):
    assert second_launch(f"launch({kernel}, s, y, (const float*)x, n);", tmp_path) == expected


@pytest.mark.parametrize(
    "body",
    [
        CONFIGURED + "cudaLaunchAttribute at[2]; " + SET + "c.attrs = at; c.numAttrs = 0; " + GO,
        CONFIGURED + "cudaLaunchAttribute at[2]; " + SET.replace("Allowed = 1", "Allowed = 0") + GIVEN + GO,
        CONFIGURED + "cudaLaunchAttribute at[2]; " + SET.replace("Allowed = 1", 'Allowed = getenv("PDL") != nullptr') + GIVEN + GO,
        CONFIGURED + "cudaLaunchAttribute at[2]; " + SET + "c.attrs = at; c.numAttrs = atoi(getenv(\"N\")); " + GO,
        CONFIGURED + GO,
        "second<<<1, 256, 0, s>>>(y, x, n);",
    ],
)  # fmt: skip
def test_what_does_not_surely_allow_it_is_ordinary(body, tmp_path):
    assert second_launch(body, tmp_path)[0] is WaitClass.NONE


def test_an_event_of_an_attribute_is_recorded_behind_the_kernel(tmp_path):
    text = CONFIGURED.replace("c.stream = s", "cudaStream_t s; cudaStreamCreate(&s); c.stream = s") + (
        "cudaEvent_t e; cudaEventCreate(&e); float* x; cudaMalloc(&x, 4); cudaLaunchAttribute at[1];"
        "at[0].id = cudaLaunchAttributeProgrammaticEvent; at[0].val.programmaticEvent.event = e; at[0].val.programmaticEvent.flags = 0;"
        "c.attrs = at; c.numAttrs = 1; cudaLaunchKernelEx(&c, first, x, 1);"
    )
    found = kinds(run_main(text, tmp_path, before=KERNELS))
    assert found[found.index("LAUNCH") :][:2] == ["LAUNCH", "EVENT_RECORD"]
