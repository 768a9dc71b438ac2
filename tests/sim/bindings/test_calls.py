"""Arguments reach the model in order and form of the C function; results come back as cuda.bindings returns them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from recorded_session import RecordedSession

from streamsan.model.values import Handle, Outcome, Pointer
from streamsan.sim.bindings.addresses import DevicePointer, KeptBuffers
from streamsan.sim.bindings.binding_modules import driver, runtime

SUCCESS = 0
BLOCK = Pointer(0x10000, 0x10000, 7)


def test_a_pointer_remembers_its_allocation(session: RecordedSession) -> None:
    error, pointer = runtime.cudaMalloc(100)
    assert error == runtime.cudaError_t.cudaSuccess
    assert isinstance(pointer, int)
    runtime.cudaFree(pointer)
    assert session.last.arguments == [pointer.pointer]
    assert session.last.arguments[0].generation


def test_arithmetic_gives_a_plain_address(session: RecordedSession) -> None:
    session.answers["cudaMalloc"] = Outcome(SUCCESS, {"devPtr": BLOCK})
    session.answers["cudaMemset"] = Outcome(SUCCESS, {})
    _, pointer = runtime.cudaMalloc(100)
    runtime.cudaMemset(pointer + 8, 0, 4)
    assert session.last.arguments == [BLOCK.address + 8, 0, 4]


def test_the_driver_gives_its_own_class(session: RecordedSession) -> None:
    session.answers["cuMemAlloc"] = Outcome(SUCCESS, {"dptr": BLOCK})
    error, pointer = driver.cuMemAlloc(64)
    assert error == driver.CUresult.CUDA_SUCCESS
    assert isinstance(pointer, driver.CUdeviceptr)
    assert type(int(pointer)) is int
    session.answers["cuMemFree"] = Outcome(SUCCESS, {})
    driver.cuMemFree(pointer)
    assert session.last.arguments == [BLOCK]
    driver.cuMemFree(int(pointer))
    assert session.last.arguments == [BLOCK.address]


@pytest.mark.parametrize("kind", ["array", "bytearray", "bytes", "ctypes", "memoryview", "address", "getPtr"])
def test_host_memory_in_every_form(session: RecordedSession, kind: str) -> None:
    session.answers["cudaMemcpy"] = Outcome(SUCCESS, {})
    array = np.arange(16, dtype=np.uint8)
    buffer = (ctypes.c_ubyte * 16)()
    raw = bytes(16)
    number = driver.cuuint64_t(5)
    forms: dict[str, tuple[Any, int | None]] = {
        "array": (array, array.ctypes.data),
        "bytearray": (bytearray(16), None),
        "bytes": (raw, ctypes.cast(ctypes.c_char_p(raw), ctypes.c_void_p).value),
        "ctypes": (buffer, ctypes.addressof(buffer)),
        "memoryview": (memoryview(array), array.ctypes.data),
        "address": (array.ctypes.data, array.ctypes.data),
        "getPtr": (number.getPtr(), number.getPtr()),
    }
    given, address = forms[kind]
    runtime.cudaMemcpy(0x10000, given, 16, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice)
    passed = session.last.arguments[1]
    assert isinstance(passed, int)
    assert passed == address if address is not None else passed > 4096


def test_a_buffer_can_be_resized_after_the_call(session: RecordedSession) -> None:
    session.answers["cudaMemcpy"] = Outcome(SUCCESS, {})
    buffer = bytearray(16)
    runtime.cudaMemcpy(0x10000, buffer, 16, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice)
    buffer.extend(bytes(1000))
    assert len(buffer) == 1016


def test_few_buffers_are_kept(session: RecordedSession) -> None:
    kept = KeptBuffers(100)
    for size in (60, 30, 60, 200, 5):
        kept.add(object(), size)
    assert [size for _, size in kept._held] == [5]


def test_a_view_that_is_not_contiguous_is_refused(session: RecordedSession) -> None:
    with pytest.raises(BufferError):
        runtime.cudaMemcpy(0x10000, np.arange(16)[::2], 16, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice)


def test_handles_are_interchangeable(session: RecordedSession) -> None:
    _, stream = runtime.cudaStreamCreate()
    expected = [Handle("stream", int(stream))]
    for given in (stream, driver.CUstream(stream), int(stream), runtime.cudaStream_t(int(stream))):
        driver.cuStreamSynchronize(given)
        assert session.last.arguments == expected
        runtime.cudaStreamSynchronize(given)
        assert session.last.arguments == expected
    for given, number in ((None, 0), (0, 0), (driver.CUstream(driver.CU_STREAM_PER_THREAD), 2)):
        runtime.cudaStreamSynchronize(given)
        assert session.last.arguments == [number]


def test_by_name_and_by_position(session: RecordedSession) -> None:
    runtime.cudaMalloc(size=8)
    by_name = session.last.arguments
    runtime.cudaMalloc(8)
    assert session.last.arguments == by_name == [1, 8]
    with pytest.raises(TypeError, match="unexpected keyword"):
        runtime.cudaMalloc(bytes=8)
    with pytest.raises(TypeError, match="multiple values"):
        runtime.cudaMalloc(8, size=8)


def test_structures_travel_flat(session: RecordedSession) -> None:
    session.answers["cudaMemcpy3D"] = Outcome(SUCCESS, {})
    host = bytearray(64)
    parameters = runtime.cudaMemcpy3DParms()
    parameters.srcPtr = runtime.make_cudaPitchedPtr(host, 8, 8, 8)
    parameters.dstPtr.ptr = DevicePointer(BLOCK)
    parameters.extent = runtime.make_cudaExtent(8, 8, 1)
    parameters.kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    runtime.cudaMemcpy3D(parameters)
    fields = session.last.structures["p"]
    assert session.last.arguments == [1]
    assert fields["dstPtr.ptr"] == BLOCK
    assert (fields["srcPtr.pitch"], fields["extent.height"], fields["kind"], fields["srcPos.x"]) == (8, 8, 1, 0)


def test_structures_by_value(session: RecordedSession) -> None:
    session.answers["cudaMemset3D"] = Outcome(SUCCESS, {})
    pitched = runtime.make_cudaPitchedPtr(DevicePointer(BLOCK), 512, 100, 4)
    runtime.cudaMemset3D(pitched, 1, runtime.make_cudaExtent(100, 4, 2))
    assert session.last.arguments[0] == BLOCK
    assert session.last.structures["pitchedDevPtr"]["pitch"] == 512
    assert session.last.structures["extent"] == {"width": 100, "height": 4, "depth": 2}


def test_lists_travel_by_index(session: RecordedSession) -> None:
    session.answers["cudaGraphAddDependencies"] = Outcome(SUCCESS, {})
    nodes = [runtime.cudaGraphNode_t(0x100), driver.CUgraphNode(0x200)]
    runtime.cudaGraphAddDependencies(0x10, nodes[:1], nodes[1:], None, 1)
    assert session.last.structures["from"] == {"0": Handle("node", 0x100)}
    assert session.last.structures["to"] == {"0": Handle("node", 0x200)}
    with pytest.raises(RuntimeError, match="too small"):
        runtime.cudaGraphAddDependencies(0x10, nodes, nodes, None, 3)


def test_lists_of_structures(session: RecordedSession) -> None:
    session.answers["cuMemSetAccess"] = Outcome(SUCCESS, {})
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = 3
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    driver.cuMemSetAccess(0x10000, 4096, [access], 1)
    fields = session.last.structures["desc"]
    assert (fields["0.location.type"], fields["0.location.id"], fields["0.flags"]) == (1, 3, 3)


def test_results_of_a_failure_are_none(session: RecordedSession) -> None:
    session.answers["cudaMallocPitch"] = Outcome(2, {})
    assert runtime.cudaMallocPitch(10, 10) == (runtime.cudaError_t.cudaErrorMemoryAllocation, None, None)


def test_structures_come_back(session: RecordedSession) -> None:
    outputs = {"attributes.type": 2, "attributes.device": 1, "attributes.devicePointer": BLOCK}
    session.answers["cudaPointerGetAttributes"] = Outcome(SUCCESS, outputs)
    _, attributes = runtime.cudaPointerGetAttributes(BLOCK.address)
    assert attributes.type == runtime.cudaMemoryType.cudaMemoryTypeDevice
    assert attributes.device == 1
    assert attributes.devicePointer == BLOCK.address
    session.answers["cudaFree"] = Outcome(SUCCESS, {})
    runtime.cudaFree(attributes.devicePointer)
    assert session.last.arguments == [BLOCK]


def test_texts_and_lists_in_structures_come_back(session: RecordedSession) -> None:
    outputs = {"prop.name": "simulated", "prop.maxGridSize.0": 5, "prop.maxGridSize.2": 7, "prop.major": 9}
    session.answers["cudaGetDeviceProperties"] = Outcome(SUCCESS, outputs)
    _, properties = runtime.cudaGetDeviceProperties(0)
    assert properties.name == b"simulated"
    assert properties.maxGridSize == [5, 0, 7]
    assert properties.major == 9


def test_a_structure_that_was_given_is_written(session: RecordedSession) -> None:
    answer = {"pGraphNode": Handle("node", 0x40), "nodeParams.dptr": BLOCK}
    session.answers["cudaGraphAddMemAllocNode"] = Outcome(SUCCESS, answer)
    parameters = runtime.cudaMemAllocNodeParams()
    parameters.bytesize = 128
    _, node = runtime.cudaGraphAddMemAllocNode(0x10, None, 0, parameters)
    assert isinstance(node, runtime.cudaGraphNode_t)
    assert parameters.dptr == BLOCK.address


def test_lists_come_back_as_long_as_was_asked(session: RecordedSession) -> None:
    outputs = {f"nodes.{index}": Handle("node", 0x40 + index) for index in range(3)} | {"numNodes": 3}
    session.answers["cudaGraphGetNodes"] = Outcome(SUCCESS, outputs)
    for asked, found in ((0, []), (2, [0x40, 0x41]), (4, [0x40, 0x41, 0x42, 0])):
        _, nodes, count = runtime.cudaGraphGetNodes(0x10, asked)
        assert ([int(node) for node in nodes], count) == (found, 3)
        assert session.last.arguments[2] == max(asked, 1)
    assert len(runtime.cudaGraphGetNodes(0x10)) == 3
    with pytest.raises(MemoryError):
        runtime.cudaGraphGetNodes(0x10, 1 << 40)


def test_capture_information_has_all_its_parts(session: RecordedSession) -> None:
    outputs = {
        "captureStatus_out": 1,
        "id_out": 9,
        "graph_out": Handle("graph", 0x50),
        "dependencies_out.0": Handle("node", 0x60),
        "numDependencies_out": 1,
    }
    session.answers["cudaStreamGetCaptureInfo"] = Outcome(SUCCESS, outputs)
    error, status, number, graph, dependencies, edges, count = runtime.cudaStreamGetCaptureInfo(5)
    assert error == SUCCESS
    assert status == runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusActive
    assert (number, int(graph), [int(node) for node in dependencies], count) == (9, 0x50, [0x60], 1)
    assert [type(edge).__name__ for edge in edges] == ["cudaGraphEdgeData"]


def test_a_query_is_its_status(session: RecordedSession) -> None:
    session.answers["cudaStreamQuery"] = Outcome(SUCCESS, {"return": 600})
    assert runtime.cudaStreamQuery(5) == (runtime.cudaError_t.cudaErrorNotReady,)


def test_what_is_not_simulated_says_so(session: RecordedSession) -> None:
    assert runtime.cudaEGLStreamConsumerConnect(0) == (runtime.cudaError_t.cudaErrorNotSupported, None)
    assert session.last.api == "cudaEGLStreamConsumerConnect"


def test_unknown_names_are_no_attributes() -> None:
    for module in (runtime, driver):
        with pytest.raises(AttributeError, match="has no attribute 'cudaNoSuchThing'"):
            getattr(module, "cudaNoSuchThing")  # noqa: B009 - the access is what is tested
        assert not hasattr(module, "cudaNoSuchThing")


def test_names_and_texts_of_errors() -> None:
    error = runtime.cudaError_t.cudaErrorMemoryAllocation
    assert runtime.cudaGetErrorName(error) == (SUCCESS, b"cudaErrorMemoryAllocation")
    assert driver.cuGetErrorName(driver.CUresult.CUDA_ERROR_INVALID_VALUE)[1] == b"CUDA_ERROR_INVALID_VALUE"
    assert b"memory" in runtime.cudaGetErrorString(error)[1]
    assert driver.cuGetErrorString(driver.CUresult.CUDA_SUCCESS) == (SUCCESS, b"no error")


@pytest.mark.parametrize(("module", "prefix"), [(runtime, "cuda"), (driver, "cu")])
def test_attributes_of_pools_have_types_of_their_own(session: RecordedSession, module: Any, prefix: str) -> None:
    kind = runtime.cudaMemPoolAttr if prefix == "cuda" else driver.CUmemPool_attribute
    threshold, opportunistic = kind(4), kind(2)
    setter, getter = getattr(module, f"{prefix}MemPoolSetAttribute"), getattr(module, f"{prefix}MemPoolGetAttribute")
    session.answers[f"{prefix}MemPoolGetAttribute"] = Outcome(SUCCESS, {"value": 77})
    session.answers[f"{prefix}MemPoolSetAttribute"] = Outcome(SUCCESS, {})
    setter(0x30, threshold, driver.cuuint64_t(1 << 40))
    assert session.last.structures == {"value": {"value": 1 << 40}}
    assert session.last.arguments[0] == Handle("pool", 0x30)
    setter(0x30, opportunistic, 1)
    assert session.last.structures == {"value": {"value": 1}}
    assert isinstance(getter(0x30, threshold)[1], driver.cuuint64_t)
    assert getter(0x30, opportunistic) == (SUCCESS, 77)


def test_attributes_of_pointers_have_types_of_their_own(session: RecordedSession) -> None:
    kind = driver.CUpointer_attribute
    session.answers["cuPointerGetAttribute"] = Outcome(SUCCESS, {"data": BLOCK})
    _, start = driver.cuPointerGetAttribute(kind.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, BLOCK.address)
    assert isinstance(start, driver.CUdeviceptr)
    session.answers["cuPointerGetAttribute"] = Outcome(SUCCESS, {"data": 1})
    assert driver.cuPointerGetAttribute(kind.CU_POINTER_ATTRIBUTE_IS_MANAGED, BLOCK.address)[1] is True
    session.answers["cuPointerGetAttributes"] = Outcome(SUCCESS, {"data.0": 2, "data.1": BLOCK})
    asked = [kind.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kind.CU_POINTER_ATTRIBUTE_DEVICE_POINTER]
    _, values = driver.cuPointerGetAttributes(2, asked, BLOCK.address)
    assert (values[0], int(values[1])) == (2, BLOCK.address)


def test_objects_that_the_model_does_not_know_differ(session: RecordedSession) -> None:
    description = runtime.cudaResourceDesc()
    first, second = (runtime.cudaCreateTextureObject(description, None, None)[1] for _ in range(2))
    assert int(first)
    assert int(first) != int(second)


def test_a_variable_that_is_exchanged(session: RecordedSession) -> None:
    session.answers["cudaThreadExchangeStreamCaptureMode"] = Outcome(SUCCESS, {"mode": 0})
    modes = runtime.cudaStreamCaptureMode
    _, before = runtime.cudaThreadExchangeStreamCaptureMode(modes.cudaStreamCaptureModeRelaxed)
    assert before == modes.cudaStreamCaptureModeGlobal
    assert (session.last.arguments, session.last.structures) == ([1], {"mode": {"value": 2}})


def test_the_host_is_device_minus_one(session: RecordedSession) -> None:
    session.answers["cuMemPrefetchAsync"] = Outcome(SUCCESS, {})
    driver.cuMemPrefetchAsync(0x10000, 64, driver.CUdevice(-1), 0)
    assert session.last.arguments == [0x10000, 64, -1, 0]


def test_an_error_that_only_the_runtime_has(session: RecordedSession) -> None:
    session.answers["cuMemcpy"] = Outcome(21, {})
    assert driver.cuMemcpy(1, 2, 3) == (driver.CUresult.CUDA_ERROR_INVALID_VALUE,)


def test_a_program_for_the_other_version_runs(session: RecordedSession) -> None:
    """Where cuda-bindings 12 has other parameters its calls are understood as well."""
    session.answers["cudaMemPrefetchAsync"] = Outcome(SUCCESS, {})
    session.answers["cudaMemAdvise"] = Outcome(SUCCESS, {})
    session.answers["cudaGraphAddDependencies"] = Outcome(SUCCESS, {})
    session.answers["cuCtxCreate"] = Outcome(SUCCESS, {"pctx": Handle("context", 0x70)})
    assert runtime.cudaMemPrefetchAsync(0x10000, 64, 0, 0) == (SUCCESS,)
    assert session.last.arguments == [0x10000, 64, 0, 0]
    assert runtime.cudaMemAdvise(0x10000, 64, runtime.cudaMemoryAdvise.cudaMemAdviseSetReadMostly, 0) == (SUCCESS,)
    node = runtime.cudaGraphNode_t(0x100)
    assert runtime.cudaGraphAddDependencies(0x10, [node], [node], 1) == (SUCCESS,)
    assert [int(context) for context in driver.cuCtxCreate(0, 0)[1:]] == [0x70]
