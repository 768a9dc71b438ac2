"""Handles that are none, or none any more."""

from __future__ import annotations

import ctypes

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

handle_case = Family("handle")


# -- handles ------------------------------------------------------------------------------------------------
@handle_case("W-15", "W-12", "wrong-handles", fresh=True, undefined=True)
def launch_in_destroyed_stream(lab: Lab) -> Observations:
    """A launch in a destroyed stream."""
    stream, memory = lab.stream(), lab.plain()
    handle = int(stream)
    lab.kernel("write_words")
    lab.ok(lab.rt.cudaStreamDestroy(stream))
    return {"launch": lab.status(lab.write_words(memory, 1, handle))}


@handle_case("W-15", "W-12", "wrong-handles", fresh=True, undefined=True)
def elapsed_of_destroyed(lab: Lab) -> Observations:
    """cudaEventElapsedTime of destroyed events."""
    rt, stream = lab.rt, lab.stream()
    begin, end = lab.ok(rt.cudaEventCreate()), lab.ok(rt.cudaEventCreate())
    for event in (begin, end):
        lab.ok(rt.cudaEventRecord(event, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    for event in (begin, end):
        lab.ok(rt.cudaEventDestroy(event))
    return {"elapsed": lab.status(rt.cudaEventElapsedTime(begin, end))}


@handle_case("I-06", "wrong-handles", fresh=True, undefined=True)
def stream_destroyed_twice(lab: Lab) -> Observations:
    """A second cudaStreamDestroy."""
    rt, stream = lab.rt, lab.stream()
    lab.ok(rt.cudaStreamDestroy(stream))
    return {"second": lab.status(rt.cudaStreamDestroy(stream))}


@handle_case("W-15", "wrong-handles", fresh=True, undefined=True)
def event_destroyed_twice(lab: Lab) -> Observations:
    """A second cudaEventDestroy."""
    rt, event = lab.rt, lab.event()
    lab.ok(rt.cudaEventDestroy(event))
    return {"second": lab.status(rt.cudaEventDestroy(event))}


@handle_case("W-15", "wrong-handles", fresh=True, undefined=True)
def event_query_after_destroy(lab: Lab) -> Observations:
    """cudaEventQuery of a destroyed event."""
    rt, event = lab.rt, lab.event()
    lab.ok(rt.cudaEventDestroy(event))
    return {"query": lab.status(rt.cudaEventQuery(event))}


@handle_case("wrong-handles", fresh=True, undefined=True)
def graph_exec_destroyed_twice(lab: Lab) -> Observations:
    """A second cudaGraphExecDestroy."""
    rt = lab.rt
    executable = lab.instantiate(lab.ok(rt.cudaGraphCreate(0)))
    lab.ok(rt.cudaGraphExecDestroy(executable))
    return {"second": lab.status(rt.cudaGraphExecDestroy(executable))}


@handle_case("wrong-handles", fresh=True, undefined=True)
def pool_destroyed_twice(lab: Lab) -> Observations:
    """A second cudaMemPoolDestroy."""
    rt, pool = lab.rt, lab.pool()
    lab.ok(rt.cudaMemPoolDestroy(pool))
    return {"second": lab.status(rt.cudaMemPoolDestroy(pool))}


@handle_case("wrong-handles", "Q-07", fresh=True)
def null(lab: Lab) -> Observations:
    """NULL where a handle is wanted."""
    rt, cu = lab.rt, lab.cu
    return {
        "cudaEventRecord": lab.status(rt.cudaEventRecord(0, 0)),
        "cudaEventSynchronize": lab.status(rt.cudaEventSynchronize(0)),
        "cudaEventQuery": lab.status(rt.cudaEventQuery(0)),
        "cudaEventDestroy": lab.status(rt.cudaEventDestroy(0)),
        "cudaStreamWaitEvent": lab.status(rt.cudaStreamWaitEvent(0, 0, 0)),
        "cudaStreamDestroy": lab.status(rt.cudaStreamDestroy(0)),
        "cudaGraphLaunch": lab.status(rt.cudaGraphLaunch(0, 0)),
        "cudaGraphDestroy": lab.status(rt.cudaGraphDestroy(0)),
        "cudaGraphExecDestroy": lab.status(rt.cudaGraphExecDestroy(0)),
        "cudaGraphInstantiate": lab.status(rt.cudaGraphInstantiate(0, 0)),
        "cudaMemPoolDestroy": lab.status(rt.cudaMemPoolDestroy(0)),
        "cudaMemPoolTrimTo": lab.status(rt.cudaMemPoolTrimTo(0, 0)),
        "cuModuleUnload": lab.status(cu.cuModuleUnload(0)),
        "cuLaunchKernel": lab.status(cu.cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)),
        "cuCtxDestroy": lab.status(cu.cuCtxDestroy(0)),
    }


@handle_case("wrong-handles", "per-thread-stream", fresh=True)
def default_streams_destroyed(lab: Lab) -> Observations:
    """cudaStreamDestroy of handles 0, 1 and 2."""
    return {str(handle): lab.status(lab.rt.cudaStreamDestroy(handle)) for handle in (0, 1, 2)}


@handle_case("I-07", "wrong-handles")
def launch_refused(lab: Lab) -> Observations:
    """Launches that the device cannot take, and work afterwards."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain(byte=1)
    values, types = (int(memory), 1, 1), (ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
    observed: Observations = {
        "blocks of 4096": lab.status(lab.try_launch("write_words", stream, values, types, 1, 4096)),
        "grid of 0": lab.status(lab.try_launch("write_words", stream, values, types, 0, 1)),
        "cudaSetDevice(99)": lab.status(rt.cudaSetDevice(99)),
        "cudaMemcpy from NULL": lab.status(rt.cudaMemcpy(memory, 0, 64, lab.h2d)),
    }
    observed["last error"] = lab.status(rt.cudaGetLastError())
    lab.ok(lab.write_words(memory, 0x05050505, stream))
    observed["wrong"] = lab.wrong(memory, 5, SIZE)
    return observed


@handle_case("Q-07", fresh=True)
def null_of_modules(lab: Lab) -> Observations:
    """NULL given to functions on kernels and modules."""
    cu = lab.cu
    attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS
    return {
        "cuKernelGetName": lab.status(cu.cuKernelGetName(0)),
        "cuFuncGetName": lab.status(cu.cuFuncGetName(0)),
        "cuFuncGetModule": lab.status(cu.cuFuncGetModule(0)),
        "cuFuncGetParamInfo": lab.status(cu.cuFuncGetParamInfo(0, 0)),
        "cuFuncGetAttribute": lab.status(cu.cuFuncGetAttribute(attribute, 0)),
        "cuModuleGetFunction": lab.status(cu.cuModuleGetFunction(0, b"spin")),
        "cuModuleUnload": lab.status(cu.cuModuleUnload(0)),
    }
