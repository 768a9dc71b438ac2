"""Why a run left no trace, as far as it can be told."""

from __future__ import annotations

from streamsan.recorder.injection import DRIVER, has_driver
from streamsan.recorder.opencl_layer import loader_without_layers, was_taken


def why_nothing(name: str, counter: str) -> str:
    """Return one line for a program that left nothing and said nothing. `counter`: the run's."""
    driver = has_driver()
    unused = "did not use CUDA" if driver else f"there is no CUDA driver ({DRIVER}) on this machine"
    if was_taken(counter):
        return f"nothing recorded: {name} made no OpenCL context, and {unused}"
    line = f"nothing recorded: {name} used neither CUDA nor OpenCL"
    if loader := loader_without_layers():
        # What it called there nobody has seen.
        return f"nothing recorded: the OpenCL loader {loader} takes no layers (ocl-icd's and Khronos' do), and {unused}"
    return line if driver else f"{line}; {unused}"
