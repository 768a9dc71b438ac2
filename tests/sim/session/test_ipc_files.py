"""Pools and physical memory that a program passes to another process as files."""

from __future__ import annotations

import ctypes
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from other_process import Other, bytes_at, other_process
from simulated_cuda import driver, ok, runtime

from streamsan.testing import device

SIZE = 1 << 16
GRANULE = 2 << 20


def shared_pool() -> Any:
    properties = runtime.cudaMemPoolProps()
    properties.allocType = runtime.cudaMemAllocationType.cudaMemAllocationTypePinned
    properties.handleTypes = file_type()
    properties.location.type = runtime.cudaMemLocationType.cudaMemLocationTypeDevice
    return ok(runtime.cudaMemPoolCreate(properties))


def file_type() -> Any:
    return runtime.cudaMemAllocationHandleType.cudaMemHandleTypePosixFileDescriptor


def export_data(content: str) -> Any:
    data = runtime.cudaMemPoolPtrExportData()
    ctypes.memmove(data.getPtr(), bytes.fromhex(content), 64)
    return data


class Files:
    """A socket through which the processes of a test pass files; made before the fork."""

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair()
        self.here.settimeout(60)

    def send(self, file: int) -> None:
        socket.send_fds(self.there, [b"."], [file])
        os.close(file)

    def receive(self) -> int:
        return socket.recv_fds(self.here, 1, 1)[1][0]


@pytest.fixture
def files() -> Any:
    made = Files()
    yield made
    made.here.close()
    made.there.close()


@pytest.mark.parametrize("driver", ["contract", "h200"])
def test_memory_of_a_shared_pool(files: Files, driver: str) -> None:
    def exporter(other: Other) -> None:
        pool, on = shared_pool(), ok(runtime.cudaStreamCreate())
        files.send(ok(runtime.cudaMemPoolExportToShareableHandle(pool, file_type(), 0)))
        memory = ok(runtime.cudaMallocFromPoolAsync(SIZE, pool, on))
        ok(runtime.cudaMemsetAsync(memory, 3, SIZE, on))
        ok(runtime.cudaStreamSynchronize(on))
        data = ok(runtime.cudaMemPoolExportPointer(memory))
        other.send(ctypes.string_at(data.getPtr(), 64).hex())
        assert other.receive() == "written"
        other.send(sorted(bytes_at(memory, SIZE)))
        assert other.receive() == "freed"
        ok(runtime.cudaFreeAsync(memory, on))
        ok(runtime.cudaStreamSynchronize(on))
        other.send("freed")
        other.receive()

    with device(driver=driver) as found, other_process(exporter) as other:
        invalid = runtime.cudaError_t.cudaErrorInvalidValue
        file = files.receive()
        pool = ok(runtime.cudaMemPoolImportFromShareableHandle(file, file_type(), 0))
        os.close(file)
        on = ok(runtime.cudaStreamCreate())
        assert runtime.cudaMallocFromPoolAsync(SIZE, pool, on)[0] == invalid
        data = export_data(other.receive())
        memory = ok(runtime.cudaMemPoolImportPointer(pool, data))
        assert bytes_at(memory, SIZE) == {3}
        ok(runtime.cudaMemsetAsync(memory, 4, SIZE, on))
        ok(runtime.cudaStreamSynchronize(on))
        other.send("written")
        assert other.receive() == [4]
        ok(runtime.cudaFreeAsync(memory, on))
        ok(runtime.cudaStreamSynchronize(on))
        other.send("freed")
        assert other.receive() == "freed"
        assert runtime.cudaMemPoolImportPointer(pool, data) == (invalid, None)
        other.send("end")
        assert other.wait() == 0
        ok(runtime.cudaStreamDestroy(on))
        ok(runtime.cudaMemPoolDestroy(pool))
    assert [finding.code for finding in found.findings() if finding.severity != "note"] == []


def test_what_stands_for_no_pool() -> None:
    with device():
        invalid = runtime.cudaError_t.cudaErrorInvalidValue
        read, write = os.pipe()
        plain = os.memfd_create("plain")
        for file in (read, write, plain, 54321, 1 << 40):
            assert runtime.cudaMemPoolImportFromShareableHandle(file, file_type(), 0) == (invalid, None)
        for each in (read, write, plain):
            os.close(each)
        memory = ok(runtime.cudaMalloc(SIZE))
        assert runtime.cudaMemPoolExportPointer(memory) == (invalid, None)
        own = shared_pool()
        for content in ("00" * 64, "ff" * 64, random.Random(4).randbytes(64).hex()):
            assert runtime.cudaMemPoolImportPointer(own, export_data(content)) == (invalid, None)
        on = ok(runtime.cudaStreamCreate())
        unshared = ok(runtime.cudaDeviceGetDefaultMemPool(0))
        status = runtime.cudaMemPoolExportToShareableHandle(unshared, file_type(), 0)[0]
        assert status == runtime.cudaError_t.cudaErrorNotSupported
        ok(runtime.cudaStreamDestroy(on))


def physical(driver: Any) -> tuple[Any, Any]:
    """Properties of physical memory that can be shared, and how it is accessed."""
    kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.requestedHandleTypes = kind
    access = driver.CUmemAccessDesc()
    access.location = properties.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return properties, access


def mapped(driver: Any, memory: Any, access: Any) -> Any:
    address = ok(driver.cuMemAddressReserve(GRANULE, 0, 0, 0))
    ok(driver.cuMemMap(address, GRANULE, 0, memory, 0))
    ok(driver.cuMemSetAccess(address, GRANULE, [access], 1))
    return address


@pytest.mark.parametrize("mapped_first", [True, False])
def test_physical_memory(files: Files, mapped_first: bool) -> None:
    def exporter(other: Other) -> None:
        ok(runtime.cudaFree(0))
        properties, access = physical(driver)
        memory = ok(driver.cuMemCreate(GRANULE, properties, 0))
        kind = properties.requestedHandleTypes
        if mapped_first:
            address = mapped(driver, memory, access)
        file = ok(driver.cuMemExportToShareableHandle(memory, kind, 0))
        if not mapped_first:
            address = mapped(driver, memory, access)
        ok(runtime.cudaMemset(int(address), 3, GRANULE))
        ok(runtime.cudaDeviceSynchronize())
        files.send(file)
        assert other.receive() == "written"
        other.send(sorted(bytes_at(int(address), GRANULE)))
        other.receive()

    with device() as found, other_process(exporter) as other:
        ok(runtime.cudaFree(0))
        properties, access = physical(driver)
        file = files.receive()
        memory = ok(driver.cuMemImportFromShareableHandle(file, properties.requestedHandleTypes))
        os.close(file)
        address = mapped(driver, memory, access)
        assert bytes_at(int(address), GRANULE) == {3}
        ok(runtime.cudaMemset(int(address), 4, GRANULE))
        ok(runtime.cudaDeviceSynchronize())
        other.send("written")
        assert other.receive() == [4]
        other.kill()
        assert bytes_at(int(address), GRANULE) == {4}  # the memory lives as long as anybody has it
        ok(driver.cuMemUnmap(address, GRANULE))
        ok(driver.cuMemRelease(memory))
        ok(driver.cuMemAddressFree(address, GRANULE))
    assert [finding.code for finding in found.findings() if finding.severity != "note"] == []


def test_what_is_no_physical_memory() -> None:
    with device():
        ok(runtime.cudaFree(0))
        properties, _ = physical(driver)
        kind = properties.requestedHandleTypes
        invalid = driver.CUresult.CUDA_ERROR_INVALID_VALUE
        read, write = os.pipe()
        plain = os.memfd_create("plain")
        os.ftruncate(plain, GRANULE)
        for file in (read, write, plain, 54321, 1 << 40):
            assert driver.cuMemImportFromShareableHandle(file, kind) == (invalid, None)
        for each in (read, write, plain):
            os.close(each)
        properties.requestedHandleTypes = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_NONE
        unshared = ok(driver.cuMemCreate(GRANULE, properties, 0))
        assert driver.cuMemExportToShareableHandle(unshared, kind, 0) == (invalid, None)


@pytest.mark.deep
def test_older_bindings_show_the_bytes_of_a_handle(tmp_path: Path) -> None:
    """With cuda-bindings 12 a handle has an attribute for its bytes, which programs send and set."""
    program = tmp_path / "program.py"
    program.write_text(
        """\
import ctypes, os
from cuda.bindings import runtime
to_child, to_parent = os.pipe(), os.pipe()
if not os.fork():
    memory = runtime.cudaMalloc(4096)[1]
    runtime.cudaMemset(memory, 7, 4096)
    runtime.cudaDeviceSynchronize()
    os.write(to_parent[1], bytes(runtime.cudaIpcGetMemHandle(memory)[1].reserved))
    os.read(to_child[0], 1)
    os._exit(0)
handle = runtime.cudaIpcMemHandle_t()
handle.reserved = content = os.read(to_parent[0], 64)
status, memory = runtime.cudaIpcOpenMemHandle(handle, 1)
copied = runtime.cudaIpcMemHandle_t()
ctypes.memmove(copied.getPtr(), content, 64)
print(copied.reserved == content, runtime.cudaIpcOpenMemHandle(copied, 1) == (status, memory))
runtime.cudaIpcCloseMemHandle(memory)
found = bytearray(4096)
runtime.cudaMemcpy(found, memory, 4096, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost)
print(status.name, set(found))
runtime.cudaIpcCloseMemHandle(memory)
os.write(to_child[1], b".")
os.wait()
"""
    )
    ended = subprocess.run(
        [sys.executable, "-m", "streamsan", "sim", str(program)],
        env={**os.environ, "STREAMSAN_CUDA_BINDINGS": "12"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.stdout == "True True\ncudaSuccess {7}\n", ended.stderr
