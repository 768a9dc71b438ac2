from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernels_source import Pair, launch, loaded
from simulated_cuda import driver, nvrtc, ok, runtime

from streamsan.sim.kernel_bodies import KernelLaunch
from streamsan.testing import device
from streamsan.testing.device_under_test import Device

POINTER_INT_FLOAT = (ctypes.c_void_p, ctypes.c_int, ctypes.c_float)


def copy(source: Any, to: Any, n: int) -> None:
    to[:n] = source[:n]


def fill(x: Any, n: int, value: float) -> None:
    x[:n] = value


@pytest.fixture
def simulated() -> Iterator[Device]:
    with device(kernels={"copy": copy, "fill": fill}) as found:
        yield found


def floats(simulated: Device, address: int, count: int) -> list[float]:
    ok(runtime.cudaDeviceSynchronize())
    return np.frombuffer(simulated.read(int(address), 4 * count), np.float32).tolist()


def function(name: bytes) -> Any:
    return ok(driver.cuModuleGetFunction(loaded()[0], name))


def test_arguments_as_values_and_types(simulated: Device) -> None:
    x = ok(runtime.cudaMalloc(64))
    ok(launch(function(b"fill"), ((x, 3, 1.5), POINTER_INT_FLOAT)))
    assert floats(simulated, x, 3) == [1.5] * 3


def test_arguments_as_addresses_and_in_a_buffer(simulated: Device) -> None:
    x = ok(runtime.cudaMalloc(64))
    values = [np.array([int(x)], np.uint64), np.array([2], np.int32), np.array([2.5], np.float32)]
    table = np.array([value.ctypes.data for value in values], np.uint64)
    fill_function = function(b"fill")
    ok(launch(fill_function, table.ctypes.data))
    assert floats(simulated, x, 2) == [2.5] * 2
    values[2][0] = 3.5
    ok(launch(fill_function, table))
    assert floats(simulated, x, 2) == [3.5] * 2
    packed = np.frombuffer(values[0].tobytes() + values[1].tobytes() + np.float32(4.5).tobytes(), np.uint8)
    size = np.array([packed.size], np.uint64)
    extra = np.array([1, packed.ctypes.data, 2, size.ctypes.data, 0], np.uint64)
    ok(launch(fill_function, 0, extra=extra.ctypes.data))
    assert floats(simulated, x, 2) == [4.5] * 2


def test_a_structure_by_value_leads_to_memory(simulated: Device) -> None:
    def first(pair: Any, *, launch: KernelLaunch) -> None:
        assert launch.threads == 256
        launch.view(pair["data"], "f4")[0] = pair["n"]

    simulated.kernels["first"] = first
    x = ok(runtime.cudaMalloc(64))
    first_function = function(b"first")
    ok(launch(first_function, ((Pair(int(x), 9),), (None,))))
    assert floats(simulated, x, 1) == [9.0]
    ok(runtime.cudaFree(x))
    ok(launch(first_function, ((Pair(int(x), 9),), (None,))))
    assert "SS101" in {finding.code for finding in simulated.findings()}


def test_a_template_by_its_lowered_name(simulated: Device) -> None:
    def twice(x: Any, n: int) -> None:
        assert x.dtype == np.float64
        x[:n] *= 2

    simulated.kernels["twice"] = twice
    module, (name,) = loaded(b"twice<double>")
    x = ok(runtime.cudaMalloc(64))
    simulated.write(int(x), np.array([1.0, 2.0]).tobytes())
    ok(launch(ok(driver.cuModuleGetFunction(module, name)), ((x, 2), (ctypes.c_void_p, ctypes.c_int))))
    ok(runtime.cudaDeviceSynchronize())
    assert np.frombuffer(simulated.read(int(x), 16)).tolist() == [2.0, 4.0]


def test_a_body_that_raises_fails_the_launch_for_good(simulated: Device, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(x: Any, n: int, value: float) -> None:
        raise ValueError("no\nsuch thing")

    simulated.kernels["fill"] = wrong
    x = ok(runtime.cudaMalloc(64))
    ok(launch(function(b"fill"), ((x, 3, 1.5), POINTER_INT_FLOAT)))
    assert int(runtime.cudaDeviceSynchronize()[0]) == 719
    assert int(runtime.cudaMalloc(4)[0]) == 719
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "kernel `fill` failed: its body raised ValueError: no such thing (test_kernels.py:" in said


def test_pointers_to_const_are_read_only(simulated: Device, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(source: Any, to: Any, n: int) -> None:
        source[0] = 1

    simulated.kernels["copy"] = wrong
    x = ok(runtime.cudaMalloc(64))
    ok(launch(function(b"copy"), ((x, x, 1), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))))
    assert int(runtime.cudaDeviceSynchronize()[0]) == 719
    assert "read-only" in capsys.readouterr().err


def test_without_a_body_what_is_written_depends_on_what_is_read() -> None:
    from streamsan.testing import device as simulate

    def run(first: float) -> list[float]:
        with simulate() as found:
            x, y = ok(runtime.cudaMalloc(64)), ok(runtime.cudaMalloc(64))
            found.write(int(x), np.full(16, first, np.float32).tobytes())
            before = found.read(int(x), 64)
            ok(launch(function(b"copy"), ((x, y, 16), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))))
            result = floats(found, y, 16)
            assert found.read(int(x), 64) == before
            return result

    one, again, other = run(1.0), run(1.0), run(2.0)
    assert one == again
    assert one != other
    assert np.isfinite(one).all()


def test_what_a_module_says(simulated: Device) -> None:
    module, _ = loaded()
    assert [int(status) for status in (driver.cuModuleGetFunction(module, b"nothing")[0],)] == [500]
    address, size = ok(driver.cuModuleGetGlobal(module, b"counter"))
    value = np.zeros(1, np.int32)
    ok(driver.cuMemcpyDtoH(value.ctypes.data, address, size))
    assert value[0] == 7
    fill_function = ok(driver.cuModuleGetFunction(module, b"fill"))
    assert ok(driver.cuFuncGetParamInfo(fill_function, 2)) == (12, 4)
    assert ok(driver.cuModuleGetFunctionCount(module)) == 3
    ok(driver.cuModuleUnload(module))
    assert int(launch(fill_function, ((0, 3, 1.5), POINTER_INT_FLOAT))[0]) == 400


def test_libraries(simulated: Device) -> None:
    program = ok(nvrtc.nvrtcCreateProgram(b'extern "C" __global__ void k(int *p) { *p = 1; }', b"k.cu", 0, [], []))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_90"]))
    cubin = b" " * ok(nvrtc.nvrtcGetCUBINSize(program))
    ok(nvrtc.nvrtcGetCUBIN(program, cubin))
    library = ok(runtime.cudaLibraryLoadData(cubin, [], [], 0, [], [], 0))
    kernel = ok(runtime.cudaLibraryGetKernel(library, b"k"))
    x = ok(runtime.cudaMalloc(4))
    assert ok(driver.cuKernelGetName(int(kernel))) == b"k"
    ok(launch(int(kernel), ((x,), (ctypes.c_void_p,))))
    ok(runtime.cudaDeviceSynchronize())
    ok(runtime.cudaFree(x))
    ok(runtime.cudaLibraryUnload(library))
    assert not [finding for finding in simulated.findings() if finding.severity.value != "note"]


def test_images_that_are_none(simulated: Device) -> None:
    ok(runtime.cudaFree(0))
    assert int(driver.cuModuleLoadData(b"nonsense")[0]) == 200
    assert int(driver.cuModuleLoad(b"/no/such/file.cubin")[0]) == 301


def test_arguments_that_cannot_be(simulated: Device) -> None:
    fill_function = function(b"fill")
    with pytest.raises(TypeError):
        launch(fill_function, ((1, 2), (None, ctypes.c_int)))
    with pytest.raises(TypeError):
        launch(fill_function, ((1, 2), (ctypes.c_int,)))
    assert int(launch(fill_function, 8)[0]) == 1
