"""Libraries that work on host memory and order nothing on a device: OpenGL and its helpers, NVRTC, NVML, MPI, OpenMP.

Given no device memory, a call of theirs reads and writes what its arguments point to and no more. Given device memory
(CUDA-aware MPI), it is code nobody can see.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from streamsan.cuda_source.interpreter.library import family, function
from streamsan.cuda_source.interpreter.library.face import CallSite, FunctionModel, Machine
from streamsan.cuda_source.interpreter.library.operands import forget_numbers, touch
from streamsan.cuda_source.interpreter.library.text_streams import receive
from streamsan.cuda_source.interpreter.values import (
    HOST_READABLE,
    CellPointer,
    DevicePointer,
    ElementPointer,
    Operand,
    SymbolPointer,
    Value,
    held_by,
    is_pointer,
)
from streamsan.vocabulary import AccessMode

_NAMES = re.compile(
    r"(gl(ut|ew|fw|X|u)?[A-Z]|nvrtc[A-Z]|nvml[A-Z]|MPI_|omp_|SDL_|nppGet|cupti[A-Z]|stbi_|lodepng|gzopen|gzread|gzclose|H5"
    r"|cblas_|LAPACKE_|fftwf?_)"
    r"\w*$"
)
_RUNS_CALLBACKS = re.compile(r"(MainLoop|DispatchCompute|Iteration)\w*$")
"""Calls that run functions registered before, or work on the device by another API."""
_READS = re.compile(
    r"(Send|Bcast|BufferData|BufferSubData|write|Write|ShaderSource|TexImage|CreateProgram|Gather|Reduce)"
)


def _host_call(name: str, machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    if _RUNS_CALLBACKS.search(name) or _gives_memory(machine, operands):
        return machine.unseen.call(name, operands, call.span)
    mode = AccessMode.READ if _READS.search(name) else AccessMode.READ_WRITE
    for operand in operands:
        value = machine.expressions.load(operand, call.span)
        if not is_pointer(value):
            continue
        touch(machine, value, mode, call.span)
        if isinstance(value, CellPointer) and not is_pointer(value.cell.value):
            receive(machine, value.cell, call.span)
        elif isinstance(value, ElementPointer) and mode is not AccessMode.READ:
            forget_numbers(value)
    # A status: libraries' functions succeed, as the API's do.
    return 0 if name.startswith(("nvrtc", "nvml", "MPI_", "cupti")) else machine.fresh(name, "input")


def _gives_memory(machine: Machine, operands: list[Operand]) -> bool:
    """Tell whether device memory is among the arguments, or a pointer that may be one."""
    reached: list[Value] = []
    for operand in operands:
        machine.reach.collect(held_by(operand), reached)
    for value in reached:
        if isinstance(value, DevicePointer) and machine.device.kind_of(value.pointer) not in HOST_READABLE:
            return True
        if isinstance(value, SymbolPointer) and machine.device.symbol_block(value.symbol) is not None:
            return True
    return False


@family
def find_library(name: str) -> FunctionModel | None:
    """Return the model of a function of these libraries."""
    return partial(_host_call, name) if _NAMES.match(name) else None


@function("findCudaDevice", "gpuGetMaxGflopsDeviceId", "gpuDeviceInit", "findIntegratedGPU", "checkCudaCapabilities",
          "findCudaDeviceDRV", "printLastCudaError")  # fmt: skip
def choose_device(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The helpers of NVIDIA's samples that choose a device; their header is often not at hand."""
    for operand in operands:
        held_by(operand)
    return 0
