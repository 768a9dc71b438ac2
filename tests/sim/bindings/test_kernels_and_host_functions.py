"""Launches give the kernels what the program gave; host functions are called as C functions."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from recorded_session import Launch, RecordedSession

from streamsan.model.values import Handle, Outcome
from streamsan.sim.bindings.binding_modules import driver, runtime

SUCCESS = 0
PARAMETERS = ((5, 2.0), (ctypes.c_void_p, ctypes.c_float))
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Payload:
    name = "scale"


@pytest.fixture
def launching(session: RecordedSession) -> RecordedSession:
    session.kernels.answer = Launch(0, "arguments", Payload(), "early ones")
    for api in ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel"):
        session.answers[api] = Outcome(SUCCESS, {})
    return session


@pytest.mark.parametrize("parameters", [PARAMETERS, 0, None, 0x7000, bytearray(16)], ids=str)
def test_a_launch(launching: RecordedSession, parameters: Any) -> None:
    function = driver.CUfunction(0x99)
    assert driver.cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, 0x20, parameters, 0) == (SUCCESS,)
    assert launching.kernels.given == [(0x99, parameters, 0, (1, 2, 3), (4, 5, 6), 7)]
    last = launching.last
    assert (last.kernel_arguments, last.payload.name) == ("arguments", "scale")
    assert last.early_arguments == "early ones"
    assert last.arguments[:9] == [Handle("other", 0x99), 1, 2, 3, 4, 5, 6, 7, Handle("stream", 0x20)]


def test_a_cooperative_and_a_configured_launch(launching: RecordedSession) -> None:
    assert driver.cuLaunchCooperativeKernel(0x99, 1, 1, 1, 32, 1, 1, 0, 0, PARAMETERS) == (SUCCESS,)
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = 4, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 64, 1, 1
    config.hStream = driver.CUstream(0x20)
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    attribute.value.cooperative = 1
    config.attrs = [attribute]
    config.numAttrs = 1
    assert driver.cuLaunchKernelEx(config, 0x99, PARAMETERS, 0) == (SUCCESS,)
    assert launching.kernels.given[1][3:5] == ((4, 1, 1), (64, 1, 1))
    fields = launching.last.structures["config"]
    assert fields["hStream"] == Handle("stream", 0x20)
    assert (fields["attrs.0.id"], fields["attrs.0.value.cooperative"]) == (2, 1)


def test_a_launch_that_is_refused(launching: RecordedSession) -> None:
    launching.kernels.answer = Launch(400)
    invalid = driver.CUresult.CUDA_ERROR_INVALID_HANDLE
    assert driver.cuLaunchKernel(1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) == (invalid,)
    assert launching.refused == [("cuLaunchKernel", 400)]
    assert launching.calls == []


def test_kernel_nodes(launching: RecordedSession) -> None:
    launching.answers["cudaGraphAddKernelNode"] = Outcome(SUCCESS, {"pGraphNode": Handle("node", 0x40)})
    launching.answers["cuGraphAddKernelNode"] = Outcome(SUCCESS, {"phGraphNode": Handle("node", 0x41)})
    parameters = runtime.cudaKernelNodeParams()
    parameters.func = 0x99
    parameters.gridDim.x = 3
    parameters.kernelParams = PARAMETERS
    assert int(runtime.cudaGraphAddKernelNode(0x10, None, 0, parameters)[1]) == 0x40
    assert launching.last.kernel_arguments == "arguments"
    assert launching.last.structures["pNodeParams"]["gridDim.x"] == 3
    other = driver.CUDA_KERNEL_NODE_PARAMS()
    other.func = driver.CUfunction(0x99)
    other.gridDimX, other.kernelParams = 5, PARAMETERS
    assert int(driver.cuGraphAddKernelNode(0x10, [driver.CUgraphNode(0x40)], 1, other)[1]) == 0x41
    assert launching.kernels.given[1][:4] == (0x99, PARAMETERS, 0, (5, 0, 0))


def test_parameters_that_a_node_has_go_back_as_they_are(launching: RecordedSession) -> None:
    outputs = {"pNodeParams.func": Handle("other", 0x99), "pNodeParams.gridDim.x": 8}
    launching.answers["cudaGraphKernelNodeGetParams"] = Outcome(SUCCESS, outputs)
    launching.answers["cudaGraphKernelNodeSetParams"] = Outcome(SUCCESS, {})
    _, parameters = runtime.cudaGraphKernelNodeGetParams(0x40)
    assert parameters.gridDim.x == 8
    assert parameters.kernelParams
    runtime.cudaGraphKernelNodeSetParams(0x40, parameters)
    assert launching.last.kernel_arguments is None
    assert launching.kernels.given == []


def test_nodes_of_any_type(launching: RecordedSession) -> None:
    launching.answers["cudaGraphAddNode"] = Outcome(SUCCESS, {"pGraphNode": Handle("node", 0x40)})
    parameters = runtime.cudaGraphNodeParams()
    parameters.type = runtime.cudaGraphNodeType.cudaGraphNodeTypeKernel
    parameters.kernel.func = 0x99
    parameters.kernel.kernelParams = PARAMETERS
    runtime.cudaGraphAddNode(0x10, None, None, 0, parameters)
    assert launching.kernels.given[0][:2] == (0x99, PARAMETERS)
    fields = launching.last.structures["nodeParams"]
    assert fields["kernel.func"] == 0x99
    assert not any(name.startswith(("memset.", "alloc.")) for name in fields)


@pytest.mark.parametrize("form", ["address", "object", "memory"])
def test_host_functions(session: RecordedSession, form: str) -> None:
    session.answers["cudaLaunchHostFunc"] = session.answers["cuLaunchHostFunc"] = Outcome(SUCCESS, {})
    seen: list[int | None] = []
    function = HOST(seen.append)
    address = ctypes.cast(function, ctypes.c_void_p).value
    given: Any = {
        "address": address,
        "object": runtime.cudaHostFn_t(address),
        "memory": runtime.cudaHostFn_t(_ptr=ctypes.addressof(function)),
    }[form]
    assert runtime.cudaLaunchHostFunc(0x20, given, 77) == (SUCCESS,)
    session.last.payload()
    assert driver.cuLaunchHostFunc(0x20, int(given), 78) == (SUCCESS,)
    session.last.payload()
    assert seen == [77, 78]


def test_stream_callbacks_get_the_stream_and_a_status(session: RecordedSession) -> None:
    session.answers["cudaStreamAddCallback"] = Outcome(SUCCESS, {})
    seen: list[tuple[Any, ...]] = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    function = kind(lambda *arguments: seen.append(arguments))
    callback = runtime.cudaStreamCallback_t(ctypes.cast(function, ctypes.c_void_p).value)
    assert runtime.cudaStreamAddCallback(0x20, callback, 5, 0) == (SUCCESS,)
    session.last.payload()
    assert seen == [(0x20, 0, 5)]


@pytest.mark.parametrize("address", [0, 5, None])
def test_an_address_without_code_is_refused(session: RecordedSession, address: int | None) -> None:
    invalid = runtime.cudaError_t.cudaErrorInvalidValue
    assert runtime.cudaLaunchHostFunc(0x20, address, 0) == (invalid,)
    assert session.calls == []


def test_host_nodes(session: RecordedSession) -> None:
    session.answers["cudaGraphAddHostNode"] = Outcome(SUCCESS, {"pGraphNode": Handle("node", 0x40)})
    seen: list[int | None] = []
    function = HOST(seen.append)
    parameters = runtime.cudaHostNodeParams()
    parameters.fn = ctypes.cast(function, ctypes.c_void_p).value
    parameters.userData = 9
    runtime.cudaGraphAddHostNode(0x10, None, 0, parameters)
    session.last.payload()
    assert seen == [9]
