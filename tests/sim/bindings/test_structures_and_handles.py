"""Structures copy on assignment, check types and ranges, and have an address; handles are numbers with a class."""

from __future__ import annotations

import ctypes

import pytest

from streamsan.sim.bindings.binding_modules import driver, runtime


def test_nested_structures_are_live_and_assignment_copies() -> None:
    parameters = runtime.cudaMemcpy3DParms()
    parameters.srcPtr.pitch = 512
    assert parameters.srcPtr.pitch == 512
    extent = runtime.make_cudaExtent(1, 2, 3)
    parameters.extent = extent
    extent.width = 9
    assert parameters.extent.width == 1
    part = parameters.extent
    parameters.extent = runtime.make_cudaExtent(4, 5, 6)
    assert part.width == 4


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("srcPtr", 5, TypeError),
        ("extent", None, TypeError),
        ("kind", "text", ValueError),
        ("noSuchField", 1, AttributeError),
        ("srcArray", "text", TypeError),
    ],
)
def test_wrong_values_are_refused(name: str, value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        setattr(runtime.cudaMemcpy3DParms(), name, value)


def test_numbers_are_checked() -> None:
    position = runtime.cudaPos()
    with pytest.raises(OverflowError):
        position.x = -1
    with pytest.raises(TypeError):
        position.x = "1"
    config = driver.CUlaunchConfig()
    with pytest.raises(OverflowError):
        config.gridDimX = 1 << 32


def test_arrays_keep_their_length() -> None:
    properties = runtime.cudaDeviceProp()
    properties.maxGridSize = [1, 2, 3]
    assert properties.maxGridSize == [1, 2, 3]
    with pytest.raises(IndexError):
        properties.maxGridSize = [1, 2]


def test_an_address_leads_back_to_the_structure() -> None:
    extent = runtime.make_cudaExtent(7, 8, 9)
    address = extent.getPtr()
    assert list((ctypes.c_size_t * 3).from_address(address)) == [7, 8, 9]
    same = runtime.cudaExtent(address)
    same.width = 70
    assert extent.width == 70


def test_the_memory_of_a_handle_is_its_value() -> None:
    pointer = driver.CUdeviceptr(0x1234)
    memory = ctypes.c_uint64.from_address(pointer.getPtr())
    assert memory.value == 0x1234
    memory.value = 0x5678
    assert int(pointer) == 0x5678
    assert int(driver.CUdeviceptr(_ptr=pointer.getPtr())) == 0x5678


def test_members_that_are_one_storage() -> None:
    operation = driver.CUstreamBatchMemOpParams()
    operation.writeValue.value64 = (5 << 32) + 6
    assert int(operation.writeValue.value) == 6
    operation.writeValue.value = 9
    assert int(operation.writeValue.value64) == 9
    assert isinstance(operation.writeValue.value64, driver.cuuint64_t)


def test_devices_may_be_negative() -> None:
    assert int(driver.CUdevice(-1)) == -1
    assert repr(driver.CUdevice(driver.CUdevice(-2))) == "<CUdevice -2>"
    with pytest.raises(OverflowError):
        driver.CUdevice(1 << 31)


def test_handles_compare_within_their_kind() -> None:
    assert runtime.cudaStream_t(5) == driver.CUstream(5)
    assert hash(runtime.cudaStream_t(5)) == hash(driver.CUstream(5))
    assert runtime.cudaStream_t(5) != runtime.cudaEvent_t(5)
    assert runtime.cudaStream_t(5) != 5
    assert runtime.cudaStream_t(driver.CUstream(6)) == runtime.cudaStream_t(6)
    with pytest.raises(TypeError):
        runtime.cudaStream_t("5")


def test_errors_are_numbers_with_names() -> None:
    error = runtime.cudaError_t(0)
    assert error == 0
    assert error.name == "cudaSuccess"
    assert repr(error) == "<cudaError_t.cudaSuccess: 0>"
    with pytest.raises(ValueError, match="99999"):
        runtime.cudaError_t(99999)


def test_sizes() -> None:
    assert runtime.sizeof(runtime.cudaStream_t) == 8
    assert driver.sizeof(driver.CUdevice) == 4
    assert runtime.sizeof(runtime.cudaMemcpy3DParms) == 160
    with pytest.raises(TypeError):
        runtime.sizeof(int)
