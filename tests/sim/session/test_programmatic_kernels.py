"""Kernels that may begin before the kernel before them has ended: they do if their code shows that they do not wait."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from simulated_cuda import driver, nvrtc, ok, runtime

from streamsan.sim.device_program import Start
from streamsan.sim.image import program_of
from streamsan.testing import device

N = 64
TEXT = """
extern "C" __global__ void write(int* to, int n) {
    asm volatile("griddepcontrol.launch_dependents;");
    if (threadIdx.x < n) to[threadIdx.x] = 5;
}
extern "C" __global__ void read(int* to, const int* from, int n) {
    BEFORE
    if (threadIdx.x < n) to[threadIdx.x] = from[threadIdx.x];
}
"""
PTX = """.version 8.5
.target sm_90
.address_size 64
.visible .entry read(.param .u64 .ptr to, .param .u64 .ptr from, .param .u32 n)
{
    CODE
    ret;
}
"""
TYPES = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


def write(to: Any, n: int) -> None:
    to[:n] = 5


def read(to: Any, source: Any, n: int) -> None:
    to[:n] = source[:n]


def kernel(text: bytes, name: bytes) -> Any:
    program = ok(nvrtc.nvrtcCreateProgram(text, b"source.cu", 0, [], []))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"]))
    ptx = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
    ok(nvrtc.nvrtcGetPTX(program, ptx))
    ok(runtime.cudaFree(0))
    return ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(ptx)), name))


def launch(function: Any, stream: Any, values: Any, types: Any, allowed: int | None) -> None:
    config = driver.CUlaunchConfig()
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
    config.blockDimX = 64
    config.hStream = driver.CUstream(int(stream))
    if allowed is not None:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        value = driver.CUlaunchAttributeValue()
        value.programmaticStreamSerializationAllowed = allowed
        attribute.value = value
        config.attrs, config.numAttrs = [attribute], 1
    ok(driver.cuLaunchKernelEx(config, function, (values, types), 0))


def run(
    before: str, allowed: int | None = 1, body: Any = read, schedule: str | int = "lazy"
) -> tuple[list[int], list[str]]:
    """Return what the second kernel read, and the findings."""
    with device(schedule=schedule, kernels={"write": write, "read": body}) as simulated:
        text = TEXT.replace("BEFORE", before).encode()
        first, second = kernel(text, b"write"), kernel(text, b"read")
        stream = ok(runtime.cudaStreamCreate())
        x, y = ok(runtime.cudaMalloc(4 * N)), ok(runtime.cudaMalloc(4 * N))
        ok(runtime.cudaMemset(x, 0, 4 * N))
        ok(runtime.cudaDeviceSynchronize())
        launch(first, stream, (x, N), (ctypes.c_void_p, ctypes.c_int), None)
        launch(second, stream, (y, x, N), TYPES, allowed)
        ok(runtime.cudaStreamSynchronize(stream))
        words = np.frombuffer(simulated.read(int(y), 4 * N), np.int32).tolist()
        for pointer in (x, y):
            ok(runtime.cudaFree(pointer))
        ok(runtime.cudaStreamDestroy(stream))
    return words, [finding.code for finding in simulated.findings() if finding.code == "SS109"]


def test_a_kernel_that_does_not_wait_begins_before_the_one_before_it_has_written() -> None:
    assert run("") == ([0] * N, ["SS109"])


def test_some_seed_begins_it_early_and_some_other_does_not() -> None:
    words = {run("", schedule=seed)[0][0] for seed in range(12)}
    assert words == {0, 5}


@pytest.mark.parametrize(
    ("before", "allowed"),
    [('asm volatile("griddepcontrol.wait;");', 1), ("cudaGridDependencySynchronize();", 1), ("", 0), ("", None)],
)
def test_it_is_an_ordinary_kernel_if_it_waits_or_the_attribute_does_not_allow_it(
    before: str, allowed: int | None
) -> None:
    assert run(before, allowed) == ([5] * N, [])


def test_a_body_in_python_declares_what_the_code_does_not_show() -> None:
    def early(to: Any, source: Any, n: int) -> None:
        to[:n] = source[:n]

    early.begins_at_once = True  # type: ignore[attr-defined]
    assert run("unknown_helper();", body=early) == ([0] * N, ["SS109"])
    early.begins_at_once = False  # type: ignore[attr-defined]
    assert run("", body=early) == ([5] * N, [])


@pytest.mark.parametrize(
    ("code", "start"),
    [
        ("st.global.u32 [%rd1], %r1;", Start.AT_ONCE),
        ("griddepcontrol.launch_dependents;", Start.AT_ONCE),
        ("griddepcontrol.wait;", Start.WAITS),
        ("call.uni (retval0), helper, (param0);", Start.WAITS),
        ("ld.acquire.gpu.u32 %r1, [%rd1];", Start.WAITS),
    ],
)
def test_ptx_tells_whether_a_kernel_waits(code: str, start: Start) -> None:
    (found,) = program_of(PTX.replace("CODE", code).encode()).kernels
    assert found.start is start


def test_an_event_of_an_attribute_is_recorded() -> None:
    with device(kernels={"write": write, "read": read}) as simulated:
        function = kernel(TEXT.replace("BEFORE", "").encode(), b"write")
        one, other = ok(runtime.cudaStreamCreate()), ok(runtime.cudaStreamCreateWithFlags(1))
        event = ok(driver.cuEventCreate(2))
        x = ok(runtime.cudaMalloc(4 * N))
        config = driver.CUlaunchConfig()
        config.gridDimX = config.gridDimY = config.gridDimZ = 1
        config.blockDimX, config.blockDimY, config.blockDimZ = 64, 1, 1
        config.hStream = driver.CUstream(int(one))
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT
        value = driver.CUlaunchAttributeValue()
        value.programmaticEvent.event = event
        attribute.value = value
        config.attrs, config.numAttrs = [attribute], 1
        ok(driver.cuLaunchKernelEx(config, function, ((x, N), (ctypes.c_void_p, ctypes.c_int)), 0))
        ok(runtime.cudaStreamWaitEvent(other, int(event), 0))
        ok(runtime.cudaMemsetAsync(x, 0, 4 * N, other))
        ok(runtime.cudaStreamSynchronize(other))
        ok(runtime.cudaFree(x))
        ok(runtime.cudaStreamDestroy(one))
        ok(runtime.cudaStreamDestroy(other))
        ok(driver.cuEventDestroy(event))
    assert [finding.code for finding in simulated.findings() if finding.code < "SS400"] == []
