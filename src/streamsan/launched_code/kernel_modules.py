"""Reads kernels from modules of SPIR-V that OpenCL programs were made from. A module is anyone's: it is only read."""

from __future__ import annotations

from collections.abc import Collection

from streamsan.kernels.spirv.spirv_kernels import spirv_kernel
from streamsan.kernels.spirv.spirv_module import SpirvError, SpirvModule
from streamsan.kernels.spirv.spirv_ranges import SpirvRanges
from streamsan.launched_code.remembered_kernels import ReadKernel, ReadKernels
from streamsan.machine_code.kernel_accesses import KernelAccesses


def read_module_kernels(content: bytes, symbols: Collection[str]) -> ReadKernels:
    """Read these kernels from a module. Those that it has not are left out. Raises `SpirvError` where it is none."""
    module = SpirvModule(content)
    ranges = SpirvRanges(module)
    found = {}
    for symbol in symbols:
        try:
            kernel = spirv_kernel(module, symbol)
        except SpirvError:
            found[symbol] = ReadKernel(KernelAccesses({}, {}, whole=False), None)
            continue
        if kernel is not None:
            accesses = KernelAccesses(kernel.uses, {}, kernel.follows_found, talks=kernel.talks)
            found[symbol] = ReadKernel(accesses, None, ranges)
    return found
