"""Copies past the end of the program's own buffers: a finding, and not the end of the process."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from simulated_cuda import driver, ok, runtime

from streamsan.testing import device
from streamsan.testing.device_under_test import Device

LARGE = 1 << 16


def overruns(found: Device) -> list[str]:
    return [finding.message for finding in found.findings() if finding.code == "SS602"]


class Holder:
    def __init__(self) -> None:
        self.inner = {"words": [np.zeros(16, dtype=np.float32)]}


def to_host(address: Any, size: int, source: Any) -> None:
    kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
    ok(runtime.cudaMemcpy(address, source, size, kind))


def to_host_on_a_stream(address: Any, size: int, source: Any) -> None:
    stream = ok(runtime.cudaStreamCreate())
    kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
    ok(runtime.cudaMemcpyAsync(address, source, size, kind, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    ok(runtime.cudaStreamDestroy(stream))


def to_host_in_rows(address: Any, size: int, source: Any) -> None:
    kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
    ok(runtime.cudaMemcpy2D(address, 64, source, 64, 32, size // 64, kind))


def by_the_driver(address: Any, size: int, source: Any) -> None:
    ok(driver.cuMemcpyDtoH(address, source, size))


@pytest.mark.parametrize("copy", [to_host, to_host_on_a_stream, to_host_in_rows, by_the_driver])
@pytest.mark.parametrize("by_address", [False, True])
def test_a_copy_writes_only_what_the_array_has(copy: Callable[[Any, int, Any], None], by_address: bool) -> None:
    with device() as found:
        words = np.zeros(16, dtype=np.float32)
        data = ok(runtime.cudaMalloc(LARGE))
        ok(runtime.cudaMemset(data, 1, LARGE))
        copy(words.ctypes.data if by_address else words, LARGE, data)
        ok(runtime.cudaFree(data))
    assert words.view(np.uint8)[0] == 1
    messages = overruns(found)
    assert len(messages) == 1
    assert "past the end of its buffer in host memory" in messages[0]
    assert " writes " in messages[0]


@pytest.mark.parametrize("stream", [False, True])
def test_a_copy_reads_only_what_the_array_has(stream: bool) -> None:
    with device() as found:
        words = np.full(16, 7, dtype=np.uint8)
        data = ok(runtime.cudaMalloc(64))
        kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
        if stream:
            ok(runtime.cudaMemcpyAsync(data, words, 64, kind, 0))
        else:
            ok(runtime.cudaMemcpy(data, words.ctypes.data, 64, kind))
        ok(runtime.cudaDeviceSynchronize())
        copied = found.read(data, 64)
        ok(runtime.cudaFree(data))
    assert copied[:16] == bytes([7]) * 16
    assert all(byte >= 0x81 for byte in copied[16:])
    assert [message.split(" ", 1)[1] for message in overruns(found)] == [
        "reads 48 bytes past the end of its buffer in host memory"
    ]


@pytest.mark.parametrize("stored", ["attribute", "ctypes", "bytearray", "array", "interface", "inside"])
def test_buffers_are_found_by_their_address(stored: str) -> None:
    with device() as found:
        data = ok(runtime.cudaMalloc(LARGE))
        holder, c_words, text, numbers = Holder(), (ctypes.c_float * 16)(), bytearray(64), array("f", [0] * 16)
        words = np.zeros(16, dtype=np.float32)
        address = {
            "attribute": holder.inner["words"][0].ctypes.data,
            "ctypes": ctypes.addressof(c_words),
            "bytearray": np.frombuffer(text, dtype=np.uint8).ctypes.data,
            "array": numbers.buffer_info()[0],
            "interface": words.__array_interface__["data"][0],
            "inside": words.ctypes.data + 32,
        }[stored]
        to_host(address, LARGE, data)
        ok(runtime.cudaFree(data))
    beyond = LARGE - (32 if stored == "inside" else 64)
    assert overruns(found) == [f"`cudaMemcpy` writes {beyond} bytes past the end of its buffer in host memory"]


def test_what_is_large_enough_is_right() -> None:
    with device() as found:
        data = ok(runtime.cudaMalloc(256))
        ok(runtime.cudaMemset(data, 1, 256))
        whole = np.zeros(64, dtype=np.float32)
        part = whole[:16]
        to_host(part, 256, data)  # a view of it: there is more behind it
        to_host(part.ctypes.data, 256, data)
        rows = np.zeros((4, 16), dtype=np.float32)
        kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
        ok(runtime.cudaMemcpy2D(rows.ctypes.data, 64, data, 64, 64, 4, kind))
        # The size of a C library's memory is nobody's to know, whatever a variable calls it.
        library = ctypes.CDLL(None)
        library.malloc.restype, library.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
        address = library.malloc(256)
        seen = (ctypes.c_ubyte * 16).from_address(address)
        view = np.ctypeslib.as_array(seen)
        to_host(address, 256, data)
        assert view[0] == 1
        library.free(address)
        ok(runtime.cudaFree(data))
    assert not overruns(found)
    assert (whole.view(np.uint8) == 1).all()
    assert (rows.view(np.uint8) == 1).all()


def test_an_address_where_nothing_is_fails_the_work_and_writes_nothing() -> None:
    with device() as found:
        data = ok(runtime.cudaMalloc(LARGE))
        kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
        assert int(runtime.cudaMemcpy(0xDEAD0000, data, LARGE, kind)[0]) == 700
    assert "cannot be written" in found.faults()[0]
