"""Arguments of a kernel that a variadic template packs, and kernels that it got a handle of."""

from __future__ import annotations

import pytest
from reading import run

from streamsan.vocabulary import AccessMode

LAUNCHERS = {
    "runtime": "cudaLaunchKernel((const void*)kernel, 1, 1, packed, 0, s);",
    "function": (
        "cudaFunction_t f; cudaGetFuncBySymbol(&f, (const void*)kernel);"
        "cuLaunchKernel((CUfunction)f, 1, 1, 1, 1, 1, 1, 0, s, packed, nullptr);"
    ),
    "kernel": (
        "cudaKernel_t k; cudaGetKernel(&k, (const void*)kernel); CUfunction f; cuKernelGetFunction(&f, (CUkernel)k);"
        "cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, packed, nullptr);"
    ),
}
TEXT = """template <typename... Args> void go(cudaStream_t s, void (*kernel)(Args...), Args... args) {
    void* packed[] = {&args...};
    %s
}
int main() {
    float *a, *b; cudaMalloc(&a, 64); cudaMalloc(&b, 64);
    go<const float*, float*>(0, add, a, b);
}
"""


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_kernel_s_uses_are_those_of_the_packed_arguments(launcher, tmp_path):
    ops = run(TEXT % LAUNCHERS[launcher], tmp_path)
    first = next(op for op in ops if op.kind == "ALLOC")
    launch = next(op for op in ops if op.kind == "LAUNCH")
    assert launch.address == first.address
    assert launch.flags & 3 == AccessMode.READ
    assert launch.label == "add"


def test_a_pack_stands_among_other_items(tmp_path):
    text = TEXT.replace("{&args...}", "{&first, &args...}").replace("Args... args", "const float* first, Args... args")
    text = text.replace("void (*kernel)(Args...)", "void (*kernel)(const float*, Args...)")
    text = text.replace("go<const float*, float*>", "go<float*>") % LAUNCHERS["runtime"]
    ops = run(text, tmp_path)
    launch = next(op for op in ops if op.kind == "LAUNCH")
    assert launch.flags & 3 == AccessMode.READ
