"""What the programs of this folder share: a check of statuses, and kernels from source."""

from cuda.bindings import driver, nvrtc
from cuda.bindings import runtime as cudart


def check(result):
    """Return what a call returns beside its status; a status that is an error is raised."""
    status, *values = result
    if int(status) != 0:
        raise RuntimeError(f"{type(status).__name__} {int(status)}")
    return values[0] if len(values) == 1 else tuple(values)


def load_kernel(source, name, *options):
    """Compile CUDA C++, with options for the compiler, and return one of its kernels."""
    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], []))
    check(nvrtc.nvrtcCompileProgram(program, len(options), list(options)))
    size = check(nvrtc.nvrtcGetPTXSize(program))
    ptx = b" " * size
    check(nvrtc.nvrtcGetPTX(program, ptx))
    check(cudart.cudaFree(0))
    module = check(driver.cuModuleLoadData(ptx))
    return check(driver.cuModuleGetFunction(module, name.encode()))
