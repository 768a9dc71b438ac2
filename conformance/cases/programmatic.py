"""Programmatic dependent launches."""

from __future__ import annotations

import ctypes

from conformance.lab import Lab
from conformance.registry import Observations, case


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


@case(
    "programmatic/reads-at-once",
    "the second kernel may start programmatically, and reads without waiting what the first writes late",
    ["D-01", "programmatic-dependence"],
    timed=True,
)
def programmatic_at_once(lab: Lab) -> Observations:
    return _dependent(lab, "copy_at_once", programmatic=True)


@case(
    "programmatic/waits",
    "the same, the second kernel waits for its prerequisites (griddepcontrol.wait)",
    ["D-02", "programmatic-dependence"],
    timed=True,
)
def programmatic_waits(lab: Lab) -> Observations:
    return _dependent(lab, "copy_dependent", programmatic=True)


@case(
    "programmatic/without-attribute",
    "the same kernels without the attribute",
    ["D-03", "programmatic-dependence"],
    timed=True,
)
def without_attribute(lab: Lab) -> Observations:
    return _dependent(lab, "copy_at_once", programmatic=False)
