"""Arguments that are objects, addresses that nobody follows, variables beside a kernel, buffers that are gone."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from simulated_cuda import driver, nvrtc, ok, runtime

from streamsan.sim.kernel_bodies import KernelLaunch
from streamsan.testing import device

SOURCE = b"""
__device__ int total;
extern "C" __global__ void store(int *to, int value, void *unused) { *to = value; if (unused == (void *)1) *to = 0; }
extern "C" __global__ void count(int by) { total += by; }
extern "C" __global__ void size_of(dim3 from, dim3 *to) { to->x = from.x; }
"""


def function(name: bytes) -> tuple[Any, Any]:
    """Return a kernel of SOURCE and its module."""
    program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"source.cu", 0, None, None))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_90"]))
    image = b" " * ok(nvrtc.nvrtcGetCUBINSize(program))
    ok(nvrtc.nvrtcGetCUBIN(program, image))
    ok(driver.cuInit(0))
    ok(runtime.cudaFree(0))
    module = ok(driver.cuModuleLoadData(np.char.array(image)))
    return ok(driver.cuModuleGetFunction(module, name)), module


def run(kernel: Any, parameters: Any) -> int:
    """Launch one thread; return what the wait for it gives."""
    ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, parameters, 0))
    return int(driver.cuCtxSynchronize()[0])


def test_a_void_pointer_takes_the_place_of_an_object() -> None:
    def store(source: Any, to: Any) -> None:
        to[0] = source

    with device(kernels={"size_of": store}) as simulated:
        kernel, _ = function(b"size_of")
        shared = ok(runtime.cudaHostAlloc(runtime.sizeof(runtime.dim3), runtime.cudaHostAllocMapped))
        size = runtime.dim3()
        size.x = 5
        result = runtime.dim3(_ptr=shared)
        assert run(kernel, ((size, result), (None, ctypes.c_void_p))) == 0
        assert result.x == 5
        with pytest.raises(TypeError):
            driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, ((size, [1]), (None, ctypes.c_void_p)), 0)
        ok(runtime.cudaFreeHost(shared))
        assert not simulated.findings()


@pytest.mark.parametrize("with_body", [True, False])
def test_an_address_that_nobody_follows_is_a_number(with_body: bool) -> None:
    def store(to: Any, value: int, unused: Any) -> None:
        to[0] = value if int(unused) == 0xDEAD_BEEF else -1

    with device(kernels={"store": store} if with_body else {}) as simulated:
        kernel, _ = function(b"store")
        memory = ok(runtime.cudaMalloc(4))
        types = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
        assert run(kernel, ((memory, 9, 0xDEAD_BEEF), types)) == 0
        if with_body:
            assert simulated.read(int(memory), 4) == (9).to_bytes(4, "little")


def test_an_address_that_is_followed_must_be_one() -> None:
    def store(to: Any, value: int, unused: Any) -> None:
        to[0] = value + unused[0]

    with device(kernels={"store": store}):
        kernel, _ = function(b"store")
        memory = ok(runtime.cudaMalloc(4))
        types = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
        assert run(kernel, ((memory, 9, 0xDEAD_BEEF), types)) == 700


def test_a_body_reaches_the_variables_beside_it() -> None:
    def count(by: int, launch: KernelLaunch) -> None:
        launch.variable("total", np.int32)[0] += by

    with device(kernels={"count": count}) as simulated:
        kernel, module = function(b"count")
        assert [run(kernel, ((by,), (ctypes.c_int,))) for by in (3, 4)] == [0, 0]
        address, size = driver.cuModuleGetGlobal(module, b"total")[1:]
        assert simulated.read(int(address), size) == (7).to_bytes(4, "little")


def test_an_argument_that_the_program_let_go_of_is_still_there() -> None:
    """NumPy keeps small freed buffers; what streamsan does between is not to write into them."""

    def store(to: Any, value: int, unused: Any) -> None:
        to[0] = value

    with device(kernels={"store": store}) as simulated:
        kernel, _ = function(b"store")
        memory = ok(runtime.cudaMalloc(64))
        first = np.array([int(memory)], np.uint64)
        held = [np.array(5, np.int32), np.array([0], np.uint64)]
        arguments = [first + np.uint64(8), *held]
        table = np.array([each.ctypes.data for each in arguments], np.uint64)
        del arguments
        context = ok(driver.cuCtxGetCurrent())
        ok(driver.cuCtxSetCurrent(context))
        assert run(kernel, table.ctypes.data) == 0
        assert simulated.read(int(memory) + 8, 4) == (5).to_bytes(4, "little")
