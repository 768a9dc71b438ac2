"""Programs written for cuda.bindings run on the simulated device."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from streamsan.platforms.python_bindings import catalogue
from streamsan.sim.bindings.binding_modules import driver, runtime
from streamsan.sim.session import Session

TO_DEVICE = 1
TO_HOST = 2
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def checked(result: tuple[Any, ...]) -> Any:
    """Return what a call gave back; it must have succeeded."""
    assert int(result[0]) == 0, result
    return result[1] if len(result) == 2 else result[1:]


def test_bytes_go_there_and_back(simulated: Session) -> None:
    data = np.arange(256, dtype=np.uint32)
    back = np.zeros_like(data)
    stream = checked(runtime.cudaStreamCreate())
    block = checked(runtime.cudaMalloc(data.nbytes))
    checked(runtime.cudaMemcpyAsync(block, data, data.nbytes, runtime.cudaMemcpyKind(TO_DEVICE), stream))
    checked(runtime.cudaMemsetAsync(block + 4, 0xFF, 4, stream))
    checked(runtime.cudaMemcpyAsync(back.ctypes.data, block, back.nbytes, runtime.cudaMemcpyKind(TO_HOST), stream))
    checked(runtime.cudaStreamSynchronize(stream))
    assert back[:3].tolist() == [0, 0xFFFFFFFF, 2]
    checked(runtime.cudaFree(block))
    assert int(runtime.cudaFree(block)[0]) != 0


def test_both_interfaces_on_one_context(simulated: Session) -> None:
    checked(driver.cuInit(0))
    context = checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(0))))
    checked(driver.cuCtxSetCurrent(context))
    block = checked(driver.cuMemAlloc(64))
    checked(runtime.cudaMemset(block, 7, 64))
    back = bytearray(64)
    checked(driver.cuMemcpyDtoH(back, int(block) + 1, 63))
    assert back == bytes([7] * 63 + [0])


def test_a_graph_with_a_copy_and_a_host_function(simulated: Session) -> None:
    seen: list[int | None] = []
    function = HOST(seen.append)
    data, back = np.full(8, 3, dtype=np.uint8), np.zeros(8, dtype=np.uint8)
    block = checked(runtime.cudaMalloc(8))
    graph = checked(runtime.cudaGraphCreate(0))
    kind = runtime.cudaMemcpyKind
    first = checked(runtime.cudaGraphAddMemcpyNode1D(graph, None, 0, block, data, 8, kind.cudaMemcpyHostToDevice))
    second = checked(runtime.cudaGraphAddMemcpyNode1D(graph, [first], 1, back, block, 8, kind.cudaMemcpyDeviceToHost))
    parameters = runtime.cudaHostNodeParams()
    parameters.fn, parameters.userData = ctypes.cast(function, ctypes.c_void_p).value, 42
    checked(runtime.cudaGraphAddHostNode(graph, [second], 1, parameters))
    nodes, count = checked(runtime.cudaGraphGetNodes(graph, 3))
    assert (len(nodes), count, nodes[0]) == (3, 3, first)
    executable = checked(runtime.cudaGraphInstantiate(graph, 0))
    checked(runtime.cudaGraphLaunch(executable, 0))
    checked(runtime.cudaDeviceSynchronize())
    assert back.tolist() == data.tolist()
    assert seen == [42]


def test_a_captured_graph(simulated: Session) -> None:
    stream = checked(runtime.cudaStreamCreate())
    block = checked(runtime.cudaMalloc(8))
    checked(runtime.cudaStreamBeginCapture(stream, runtime.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal))
    checked(runtime.cudaMemsetAsync(block, 9, 8, stream))
    status, _, graph, dependencies, _, count = checked(runtime.cudaStreamGetCaptureInfo(stream))
    assert status == runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusActive
    assert len(dependencies) == count == 1
    assert checked(runtime.cudaStreamEndCapture(stream)) == graph
    executable = checked(runtime.cudaGraphInstantiate(graph, 0))
    checked(runtime.cudaGraphLaunch(executable, stream))
    back = bytearray(8)
    checked(runtime.cudaMemcpyAsync(back, block, 8, runtime.cudaMemcpyKind(TO_HOST), stream))
    checked(runtime.cudaStreamSynchronize(stream))
    assert back == bytes([9] * 8)


def test_pools_keep_their_attributes(simulated: Session) -> None:
    pool = checked(runtime.cudaDeviceGetDefaultMemPool(0))
    threshold = runtime.cudaMemPoolAttr.cudaMemPoolAttrReleaseThreshold
    checked(runtime.cudaMemPoolSetAttribute(pool, threshold, driver.cuuint64_t(1 << 33)))
    assert int(checked(runtime.cudaMemPoolGetAttribute(pool, threshold))) == 1 << 33


@pytest.mark.parametrize("whole", [True, False])
def test_batched_memory_operations(simulated: Session, whole: bool) -> None:
    """The operation is one storage for all members, value and value64 are another."""
    kind = driver.CUstreamBatchMemOpType
    block = checked(runtime.cudaMalloc(64))
    operations = [driver.CUstreamBatchMemOpParams() for _ in range(2)]
    types = (kind.CU_STREAM_MEM_OP_WRITE_VALUE_32, kind.CU_STREAM_MEM_OP_WRITE_VALUE_64)
    for index, (operation, chosen) in enumerate(zip(operations, types, strict=True)):
        if whole:
            operation.operation = chosen
        else:
            operation.writeValue.operation = chosen
        operation.writeValue.address = block + 8 * index
    operations[0].writeValue.value64 = 7
    operations[1].writeValue.value64 = 1 << 40
    checked(driver.cuInit(0))
    checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(0))))
    checked(driver.cuStreamBatchMemOp(0, 2, operations, 0))
    back = np.zeros(2, dtype=np.uint64)
    checked(runtime.cudaMemcpy(back, block, 16, runtime.cudaMemcpyKind(TO_HOST)))
    assert back[1] == 1 << 40
    assert int(back[0]) & 0xFFFFFFFF == 7


def test_pitched_memory(simulated: Session) -> None:
    pitched = checked(runtime.cudaMalloc3D(runtime.make_cudaExtent(100, 3, 2)))
    assert pitched.pitch >= 100
    checked(runtime.cudaMemset3D(pitched, 5, runtime.make_cudaExtent(100, 3, 2)))
    back = bytearray(600)
    parameters = runtime.cudaMemcpy3DParms()
    parameters.srcPtr = pitched
    parameters.dstPtr = runtime.make_cudaPitchedPtr(back, 100, 100, 3)
    parameters.extent = runtime.make_cudaExtent(100, 3, 2)
    parameters.kind = runtime.cudaMemcpyKind(TO_HOST)
    checked(runtime.cudaMemcpy3D(parameters))
    assert back == bytes([5] * 600)


def argument(module: Any, word: str) -> Any:
    """An argument of the right type."""
    kind = getattr(module, word.removesuffix("?"), None)
    if word.startswith("list["):
        return []
    if word in ("char *", "bytes"):
        return b"x"
    if kind is None or word == "Any" or hasattr(kind, "_held"):
        return 0
    return next(iter(kind)) if issubclass(kind, IntEnum) else kind()


@pytest.mark.parametrize("name", ["runtime", "driver"])
def test_every_function_answers(simulated: Session, name: Any) -> None:
    """Whatever it is given: an error code, and as many results as it has."""
    module: Any = {"runtime": runtime, "driver": driver}[name]
    for function in catalogue(name).functions:
        entry = catalogue(name).function(function)
        assert entry is not None
        arguments = [argument(module, item.word) for item in entry.parameters]
        if function.endswith("SetGraphMemAttribute"):
            arguments[-1] = driver.cuuint64_t(0)
        result = getattr(module, function)(*arguments)
        if not function.startswith("make_"):
            assert isinstance(result[0], IntEnum), function
