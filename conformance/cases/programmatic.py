"""Programmatic dependent launches."""

from __future__ import annotations

import ctypes

from conformance.lab import Lab
from conformance.registry import Family, Observations

programmatic_case = Family("programmatic", timed=True)


# -- programmatic dependent launch ------------------------------------------------------------------------------
def _dependent(lab: Lab, second: str, programmatic: bool) -> Observations:
    """The first kernel triggers at once and writes late; the second one reads, with or without waiting."""
    rt, cu, stream = lab.rt, lab.cu, lab.stream()
    words = 1024
    memory, result = lab.plain(4 * words, byte=1), lab.plain(4 * words, byte=0)
    nanoseconds = lab.milliseconds * 1_000_000
    first_values = (int(memory), 0x05050505, words, nanoseconds)
    first_types = (ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_ulonglong)
    lab.kernel(second)
    lab.launch("trigger_then_write", stream, first_values, first_types, 1, 256)
    config = cu.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = 1, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 256, 1, 1
    config.sharedMemBytes = 0
    config.hStream = cu.CUstream(int(stream))
    if programmatic:
        attribute = cu.CUlaunchAttribute()
        attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        value = cu.CUlaunchAttributeValue()
        value.programmaticStreamSerializationAllowed = 1
        attribute.value = value
        config.attrs = [attribute]
        config.numAttrs = 1
    else:
        config.numAttrs = 0
    values = (int(result), int(memory), words)
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    status = lab.status(cu.cuLaunchKernelEx(config, lab.kernel(second), (values, types), 0))
    wait = lab.status(rt.cudaStreamSynchronize(stream))
    return {
        "launch": status,
        "wait": wait,
        "words from before the write": lab.wrong(result, 1, 4 * words) == "none",
        "words of the write": lab.wrong(result, 5, 4 * words) == "none",
    }


@programmatic_case("D-01", "programmatic-dependence")
def reads_at_once(lab: Lab) -> Observations:
    """The second kernel may start programmatically, and reads without waiting what the first writes late."""
    return _dependent(lab, "copy_at_once", programmatic=True)


@programmatic_case("D-02", "programmatic-dependence")
def waits(lab: Lab) -> Observations:
    """The same, the second kernel waits for its prerequisites (griddepcontrol.wait)."""
    return _dependent(lab, "copy_dependent", programmatic=True)


@programmatic_case("D-03", "programmatic-dependence")
def without_attribute(lab: Lab) -> Observations:
    """The same kernels without the attribute."""
    return _dependent(lab, "copy_at_once", programmatic=False)
