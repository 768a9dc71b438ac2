"""Structures over memory of the program, 32-bit numbers, lists that grow with a count, texts of errors, versions."""

from __future__ import annotations

import ctypes

import pytest
from recorded_session import RecordedSession

from streamsan.sim.bindings.binding_modules import driver, runtime
from streamsan.sim.bindings.versions import (
    get_cuda_native_handle,
    get_minimal_required_cuda_ver_from_ptx_ver,
    get_ptx_ver,
)


def test_a_structure_lies_in_memory_of_the_program() -> None:
    words = (ctypes.c_uint * 3)(4, 5, 6)
    size = runtime.dim3(_ptr=ctypes.addressof(words))
    assert (size.x, size.y, size.z) == (4, 5, 6)
    size.y = 7
    words[2] = 8
    assert list(words) == [4, 7, 8]
    assert size.z == 8
    assert size.getPtr() == ctypes.addressof(words)


def test_parts_of_a_structure_lie_in_memory_too() -> None:
    memory = ctypes.create_string_buffer(runtime.sizeof(runtime.cudaMemcpy3DParms))
    parameters = runtime.cudaMemcpy3DParms(_ptr=ctypes.addressof(memory))
    parameters.extent = runtime.make_cudaExtent(1, 2, 3)
    parameters.srcPtr.pitch = 64
    parameters.kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    again = runtime.cudaMemcpy3DParms(_ptr=ctypes.addressof(memory))
    assert (again.extent.depth, again.srcPtr.pitch) == (3, 64)
    assert again.kind == runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    copy = runtime.cudaMemcpy3DParms()
    copy.extent = again.extent
    again.extent.depth = 9
    assert copy.extent.depth == 3


def test_an_address_with_nothing_there_is_a_structure_of_its_own() -> None:
    size = runtime.dim3(_ptr=16)
    size.x = 3
    assert size.x == 3


def test_numbers_of_32_bits_are_checked() -> None:
    assert int(driver.cuuint32_t(0xFFFF_FFFF)) == 0xFFFF_FFFF
    with pytest.raises(OverflowError):
        driver.cuuint32_t(1 << 32)
    assert int(driver.cuuint64_t(1 << 32)) == 1 << 32


def test_a_conditional_node_has_as_many_bodies_as_its_size() -> None:
    parameters = runtime.cudaGraphNodeParams()
    assert parameters.conditional.phGraph_out == []
    parameters.conditional.size = 2
    assert [int(graph) for graph in parameters.conditional.phGraph_out] == [0, 0]


def test_errors_in_words() -> None:
    assert runtime.cudaGetErrorString(runtime.cudaError_t.cudaErrorInvalidDevice)[1] == b"invalid device ordinal"
    assert driver.cuGetErrorString(driver.CUresult.CUDA_ERROR_INVALID_VALUE)[1] == b"invalid argument"
    for error in driver.CUresult:
        assert driver.cuGetErrorString(error)[1]


def test_a_setting_returns_its_error_only(session: RecordedSession) -> None:
    kind = driver.CUcoredumpSettings.CU_COREDUMP_TRIGGER_HOST
    assert len(driver.cuCoredumpSetAttributeGlobal(kind, False)) == 1
    assert len(driver.cuCoredumpGetAttributeGlobal(kind)) == 2


@pytest.mark.parametrize(
    ("ptx", "cuda"), [("9.1", 13010), ("8.8", 12090), ("8.5", 12050), ("7.2", 11020), ("6.2", 9020), ("4.3", 7050)]
)
def test_versions_of_ptx(ptx: str, cuda: int) -> None:
    assert get_ptx_ver(f"//\n.version  {ptx}\n.target sm_75\n") == ptx
    assert get_minimal_required_cuda_ver_from_ptx_ver(ptx) == cuda


@pytest.mark.parametrize("version", ["0.9", "5.9.1", "99.0", "x"])
def test_versions_that_nobody_knows(version: str) -> None:
    with pytest.raises(ValueError, match="unknown"):
        get_minimal_required_cuda_ver_from_ptx_ver(version)


def test_handles_as_numbers() -> None:
    assert get_cuda_native_handle(driver.CUstream(77)) == 77
    with pytest.raises(TypeError):
        get_cuda_native_handle([77])
