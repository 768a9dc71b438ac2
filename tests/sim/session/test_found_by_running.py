"""What the simulation shows that only the memory itself can tell: stale frees, host copies, access to mappings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from simulated_cuda import driver, ok, runtime

from streamsan.testing import device
from streamsan.testing.device_under_test import Device

SIZE = 1 << 16


def codes(found: Device) -> set[str]:
    return {finding.code for finding in found.findings() if finding.severity.value != "note"}


def all_codes(found: Device) -> set[str]:
    return {finding.code for finding in found.findings()}


# -- frees of stale pointers (W-03) -----------------------------------------------------------------
@pytest.mark.parametrize("driver", ["contract", "h200"])
@pytest.mark.parametrize("pooled", [False, True])
def test_a_free_of_a_stale_pointer_releases_its_new_owner(driver: str, pooled: bool) -> None:
    with device(driver=driver) as found:
        stream = ok(runtime.cudaStreamCreate())

        def make() -> Any:
            return ok(runtime.cudaMallocAsync(SIZE, stream) if pooled else runtime.cudaMalloc(SIZE))

        def free(pointer: Any) -> int:
            return int((runtime.cudaFreeAsync(pointer, stream) if pooled else runtime.cudaFree(pointer))[0])

        p = make()
        assert free(p) == 0
        q = make()
        assert int(q) == int(p)
        assert free(p) == 0
        third = make()
        assert int(third) == int(p)
        assert free(q) == 0  # the third owner now: the driver sees a number only
        assert free(q) == 1
        ok(runtime.cudaStreamSynchronize(stream))
    messages = [finding.message for finding in found.findings() if finding.code == "SS201"]
    assert messages
    assert any("address" in message for message in messages), messages


def test_a_second_free_of_what_nobody_has_is_refused() -> None:
    with device():
        p = ok(runtime.cudaMalloc(SIZE))
        ok(runtime.cudaFree(p))
        assert int(runtime.cudaFree(p)[0]) == 1


# -- copies that the host makes itself (SS108) ---------------------------------------------------------
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("access", ["to_pinned", "to_pageable", "from_pageable", "asynchronous", "memset"])
def test_host_to_host_copies_and_fills_are_accesses_of_the_host(access: str, waits: bool) -> None:
    with device() as found:
        kinds = runtime.cudaMemcpyKind
        d, h, g = ok(runtime.cudaMalloc(SIZE)), ok(runtime.cudaMallocHost(SIZE)), ok(runtime.cudaMallocHost(SIZE))
        stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
        ok(runtime.cudaMemset(d, 1, SIZE))
        ok(runtime.cudaDeviceSynchronize())
        ok(runtime.cudaMemcpyAsync(h, d, SIZE, kinds.cudaMemcpyDeviceToHost, stream))
        if waits:
            ok(runtime.cudaStreamSynchronize(stream))
        page = np.zeros(SIZE, np.uint8)
        match access:
            case "to_pinned":
                ok(runtime.cudaMemcpy(g, h, SIZE, kinds.cudaMemcpyHostToHost))
            case "to_pageable":
                ok(runtime.cudaMemcpy(page.ctypes.data, h, SIZE, kinds.cudaMemcpyDefault))
                assert not waits or (page == 1).all()
            case "from_pageable":
                ok(runtime.cudaMemcpy(h, page.ctypes.data, SIZE, kinds.cudaMemcpyHostToHost))
            case "asynchronous":
                ok(runtime.cudaMemcpyAsync(g, h, SIZE, kinds.cudaMemcpyHostToHost, 0))
            case "memset":
                ok(runtime.cudaMemset(h, 0, SIZE))
        ok(runtime.cudaStreamSynchronize(stream))
        for memory in (h, g):
            ok(runtime.cudaFreeHost(memory))
        ok(runtime.cudaFree(d))
        ok(runtime.cudaStreamDestroy(stream))
    assert codes(found) == (set() if waits else {"SS108"})


def test_a_copy_on_the_default_stream_is_behind_blocking_streams() -> None:
    with device() as found:
        kinds = runtime.cudaMemcpyKind
        d, h, g = ok(runtime.cudaMalloc(SIZE)), ok(runtime.cudaMallocHost(SIZE)), ok(runtime.cudaMallocHost(SIZE))
        stream = ok(runtime.cudaStreamCreate())
        ok(runtime.cudaMemcpyAsync(h, d, SIZE, kinds.cudaMemcpyDeviceToHost, stream))
        ok(runtime.cudaMemcpy(g, h, SIZE, kinds.cudaMemcpyHostToHost))
        ok(runtime.cudaStreamDestroy(stream))
    assert "SS108" not in all_codes(found)


def test_a_copy_between_host_buffers_in_a_graph_is_work_of_the_graph() -> None:
    with device(schedule="lazy") as found:
        kinds = runtime.cudaMemcpyKind
        h, g = ok(runtime.cudaMallocHost(SIZE)), ok(runtime.cudaMallocHost(SIZE))
        d, e = ok(runtime.cudaMalloc(SIZE)), ok(runtime.cudaMalloc(SIZE))
        stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
        pending = ok(runtime.cudaEventCreate())
        ok(runtime.cudaMemcpyAsync(e, d, SIZE, kinds.cudaMemcpyDeviceToDevice, 0))
        ok(runtime.cudaEventRecord(pending, 0))
        graph = ok(runtime.cudaGraphCreate(0))
        # The same call on a stream would wait for the default stream's work: making a node does not.
        ok(runtime.cudaGraphAddMemcpyNode1D(graph, None, 0, h, g, SIZE, kinds.cudaMemcpyHostToHost))
        assert int(runtime.cudaEventQuery(pending)[0]) == 600
        executable = ok(runtime.cudaGraphInstantiate(graph, 0))
        ok(runtime.cudaGraphLaunch(executable, stream))
        ok(runtime.cudaMemcpy(h, g, SIZE, kinds.cudaMemcpyHostToHost))
        ok(runtime.cudaDeviceSynchronize())
    assert "SS108" in all_codes(found)


# -- access to what is mapped --------------------------------------------------------------------------
@pytest.mark.parametrize("granted", [None, 0, 3])
def test_memory_that_no_device_was_given_is_illegal_to_touch(granted: int | None) -> None:
    size = 2 << 20
    with device() as found:
        ok(runtime.cudaFree(0))
        properties = driver.CUmemAllocationProp()
        properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = 0
        physical = ok(driver.cuMemCreate(size, properties, 0))
        start = ok(driver.cuMemAddressReserve(size, 0, 0, 0))
        ok(driver.cuMemMap(start, size, 0, physical, 0))
        if granted is not None:
            access = driver.CUmemAccessDesc()
            access.location = properties.location
            access.flags = driver.CUmemAccess_flags(granted)
            ok(driver.cuMemSetAccess(start, size, [access], 1))
        ok(driver.cuMemsetD8Async(start, 1, size, 0))
        assert int(driver.cuCtxSynchronize()[0]) == (0 if granted == 3 else 700)
        assert [("not made accessible" in fault) for fault in found.faults()] == ([] if granted == 3 else [True])


# -- asking for errors ----------------------------------------------------------------------------------
@pytest.mark.parametrize("asks", ["", "last", "peek", "name", "text", "driver"])
def test_a_program_that_asks_for_an_error_has_looked(asks: str) -> None:
    with device() as found:
        d, stream = ok(runtime.cudaMalloc(64)), ok(runtime.cudaStreamCreate())
        (error,) = runtime.cudaMemsetAsync(d, 0, 1 << 30, stream)
        assert int(error) == 1
        match asks:
            case "last":
                assert int(runtime.cudaGetLastError()[0]) == 1
            case "peek":
                assert int(runtime.cudaPeekAtLastError()[0]) == 1
            case "name":
                runtime.cudaGetErrorName(error)
            case "text":
                runtime.cudaGetErrorString(error)
            case "driver":
                driver.cuGetErrorName(driver.CUresult(1))
        ok(runtime.cudaMemsetAsync(d, 0, 64, stream))
        ok(runtime.cudaStreamSynchronize(stream))
        ok(runtime.cudaFree(d))
        ok(runtime.cudaStreamDestroy(stream))
    assert all_codes(found) == (set() if asks else {"SS601"})
