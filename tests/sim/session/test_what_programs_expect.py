"""What programs expect of the simulated modules beyond order: names, files, sizes; and what nobody could read."""

from __future__ import annotations

import ctypes
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simulated_cuda import driver, nvrtc, ok, runtime

from streamsan.testing import device

PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 n) { ret; }
"""
SOURCE = b"""extern "C" __global__ void scale(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }"""


def notes(image: bytes) -> list[str]:
    """Launch `scale` of an image twice; return what is not understood."""
    with device() as found:
        ok(runtime.cudaFree(0))
        kernel = ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(image)), b"scale"))
        data = ok(runtime.cudaMalloc(256))
        for _ in range(2):
            arguments = ((data, 64), (ctypes.c_void_p, ctypes.c_int))
            ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, 0, arguments, 0))
        ok(runtime.cudaDeviceSynchronize())
        ok(runtime.cudaFree(data))
    return [finding.message for finding in found.findings() if finding.code == "SS603"]


def test_a_kernel_that_cannot_be_read_is_named_once() -> None:
    messages = notes(PTX)
    assert len(messages) == 1
    assert "of kernel `scale` there is only PTX: how it uses the memory that it is given is not known" in messages[0]


def test_a_kernel_that_is_read_is_not_named() -> None:
    with device():
        program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"scale.cu", 0, [], []))
        ok(nvrtc.nvrtcCompileProgram(program, 0, []))
        image = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
        ok(nvrtc.nvrtcGetPTX(program, image))
    assert notes(image) == []


def test_a_device_has_as_much_memory_as_it_is_given() -> None:
    with device(memory=64 << 20):
        assert ok(runtime.cudaMemGetInfo())[1] == 64 << 20
        assert ok(runtime.cudaGetDeviceProperties(0)).totalGlobalMem == 64 << 20
        assert int(runtime.cudaMalloc(128 << 20)[0]) == 2
    with device(memory=8 << 30):
        data = ok(runtime.cudaMalloc(6 << 30))
        ok(runtime.cudaFree(data))


def test_dir_shows_the_names_of_the_modules_only() -> None:
    with device():
        for module in (driver, runtime, nvrtc):
            names = dir(module.it())
            assert not [name for name in names if name.startswith("_") and not name.startswith("__")]
        assert "itertools" not in dir(nvrtc.it())
        assert "nvrtcCompileProgram" in dir(nvrtc.it())


@pytest.mark.parametrize(
    ("word", "is_on"),
    [("1", True), ("yes", True), ("0", False), ("off", False), ("-0", False), (" ", True), ("?", True)],
)
def test_utils_of_later_releases(word: str, is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCH", word)
    with device():
        utils = importlib.import_module("cuda.bindings.utils")
        assert utils.envvar_bool("SWITCH", default=True) is is_on
        assert utils.check_nvvm_compiler_options(["-g"]) is False
        utils.warn_if_cuda_major_version_mismatch()


def test_a_graph_is_printed_into_its_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    with device():
        stream = ok(runtime.cudaStreamCreate())
        data = ok(runtime.cudaMalloc(64))
        words = np.zeros(16, dtype=np.float32)
        ok(runtime.cudaStreamBeginCapture(stream, runtime.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed))
        ok(runtime.cudaMemsetAsync(data, 0, 64, stream))
        kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
        ok(runtime.cudaMemcpyAsync(words, data, 64, kind, stream))
        graph = ok(runtime.cudaStreamEndCapture(stream))
        ok(runtime.cudaGraphDebugDotPrint(graph, str(path).encode(), 0))
        assert int(runtime.cudaGraphDebugDotPrint(graph, b"/nonexistent/folder/graph.dot", 0)[0]) == 304
        ok(runtime.cudaGraphDestroy(graph))
        ok(runtime.cudaFree(data))
    text = path.read_text()
    assert text.startswith("digraph")
    assert '"graph_1_node_0" -> "graph_1_node_1";' in text


def test_the_first_call_of_a_program_may_ask_for_the_device(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from cuda.bindings import driver\n"
        "driver.cuInit(0)\n"
        "major = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR\n"
        "print(driver.cuDeviceGetAttribute(major, 0)[1], driver.cuDeviceGetName(32, 0)[1].decode())\n"
    )
    command = [sys.executable, "-m", "streamsan", "--no-config", "sim", "app.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.match(r"[1-9]\d* Simulated device", done.stdout), done.stdout
