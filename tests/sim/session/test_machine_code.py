"""Kernels that a program loads as machine code: what they touch is read from it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernels_source import launch
from simulated_cuda import driver, ok, runtime

from streamsan.machine_code import disassembler
from streamsan.sim import image
from streamsan.sim.cubin_image import program_of_cubin
from streamsan.testing import device
from streamsan.testing.device_under_test import Device

CUBIN = Path(__file__).parents[2] / "machine_code" / "kernels.sm_90.cubin"
P, INT, F = ctypes.c_void_p, ctypes.c_int, ctypes.c_float
needs_disassembler = pytest.mark.skipif(not disassembler.disassemblers(), reason="no nvdisasm")


class View(ctypes.Structure):
    _fields_ = (("input", P), ("output", P), ("n", INT))


@pytest.fixture
def simulated() -> Iterator[Device]:
    with device() as found:
        yield found


def function(name: bytes) -> Any:
    return ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(CUBIN.read_bytes())), name))


def on_two_streams(name: bytes, first: tuple, second: tuple) -> None:
    """Launch a kernel on two streams that nothing orders."""
    kernel = function(name)
    streams = [ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)) for _ in range(2)]
    for stream, arguments in zip(streams, (first, second), strict=True):
        ok(launch(kernel, arguments, stream=stream))
    ok(runtime.cudaDeviceSynchronize())


def codes(simulated: Device) -> list[str]:
    return [finding.code for finding in simulated.findings() if finding.severity.value != "note"]


def axpy_of(y: Any, x: Any) -> tuple:
    return ((y, x, 2.0, 16), (P, P, F, INT))


@needs_disassembler
def test_kernels_that_read_the_same_memory_are_no_race(simulated: Device) -> None:
    x, y, z = (ok(runtime.cudaMalloc(64)) for _ in range(3))
    on_two_streams(b"axpy", axpy_of(y, x), axpy_of(z, x))
    assert codes(simulated) == []


@needs_disassembler
def test_a_kernel_that_writes_what_another_reads_is_one(simulated: Device) -> None:
    x, y, z = (ok(runtime.cudaMalloc(64)) for _ in range(3))
    on_two_streams(b"axpy", axpy_of(y, x), axpy_of(z, y))
    assert "SS109" in [finding.code for finding in simulated.findings()]


@needs_disassembler
def test_fields_of_a_structure_are_told_apart(simulated: Device) -> None:
    x, y, z, counts, more = (ok(runtime.cudaMalloc(64)) for _ in range(5))
    views = [(View(int(x), int(target), 16), count) for target, count in ((y, counts), (z, more))]
    on_two_streams(b"fields", *(((view, count), (None, P)) for view, count in views))
    assert [finding.code for finding in simulated.findings()] == []


@needs_disassembler
def test_memory_that_is_only_compared_may_go(simulated: Device) -> None:
    p, q, same = (ok(runtime.cudaMalloc(64)) for _ in range(3))
    stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
    kept = ok(runtime.cudaMallocAsync(64, stream))
    other = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
    ok(runtime.cudaStreamSynchronize(stream))
    ok(launch(function(b"only_compared"), ((kept, q, same), (P, P, P)), stream=other))
    ok(runtime.cudaFreeAsync(kept, stream))
    ok(runtime.cudaDeviceSynchronize())
    assert codes(simulated) == []
    assert p


@needs_disassembler
def test_memory_that_is_written_may_not(simulated: Device) -> None:
    q = ok(runtime.cudaMalloc(64))
    stream, other = (ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)) for _ in range(2))
    kept = ok(runtime.cudaMallocAsync(64, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    ok(launch(function(b"only_compared"), ((q, q, kept), (P, P, P)), stream=other))
    ok(runtime.cudaFreeAsync(kept, stream))
    ok(runtime.cudaDeviceSynchronize())
    assert codes(simulated) == ["SS102"]


@needs_disassembler
def test_code_that_is_not_known_says_so(simulated: Device) -> None:
    x = ok(runtime.cudaMalloc(64))
    ok(launch(function(b"calls_anything"), ((x, x), (P, P))))
    ok(runtime.cudaDeviceSynchronize())
    (note,) = [finding for finding in simulated.findings() if finding.code == "SS603"]
    assert "machine code, which calls or does something that is not known" in note.message


def test_without_a_disassembler_the_layout_is_known(simulated: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembler, "disassemblers", lambda: ())
    monkeypatch.setattr(image, "program_of_cubin", program_of_cubin.__wrapped__)  # what is known of the cubin is kept
    x = ok(runtime.cudaMalloc(64))
    kernel = function(b"fields")
    assert ok(driver.cuFuncGetParamInfo(kernel, 1)) == (24, 8)
    ok(launch(kernel, ((View(int(x), int(x), 16), x), (None, P))))
    ok(runtime.cudaDeviceSynchronize())
    (note,) = [finding for finding in simulated.findings() if finding.code == "SS603"]
    assert "pip install nvidia-cuda-nvdisasm" in note.message


def test_a_cubin_at_an_address_and_its_variables(simulated: Device) -> None:
    ok(runtime.cudaFree(0))
    content = np.frombuffer(CUBIN.read_bytes(), np.uint8)
    module = ok(driver.cuModuleLoadData(content.ctypes.data))
    assert ok(driver.cuModuleGetFunctionCount(module)) == 20
    _, size = ok(driver.cuModuleGetGlobal(module, b"counter"))
    assert size == 4
    assert int(driver.cuModuleGetFunction(module, b"nothing")[0]) == 500


def test_a_damaged_cubin_has_any_kernel(simulated: Device) -> None:
    ok(runtime.cudaFree(0))
    content = CUBIN.read_bytes()
    module = ok(driver.cuModuleLoadData(content[:200]))
    assert ok(driver.cuModuleGetFunction(module, b"axpy"))
