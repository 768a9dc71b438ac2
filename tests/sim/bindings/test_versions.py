"""The modules are those of cuda-bindings 12 where that is what a program has; importing them takes little time."""

from __future__ import annotations

import os
import subprocess
import sys

CODE = """
from streamsan.sim.bindings.binding_modules import driver, runtime
from streamsan.sim.shim_path import SHIM
import inspect
import sys
def parameters(function): return list(inspect.signature(function).parameters)
assert parameters(runtime.cudaGraphAddDependencies) == ["graph", "from_", "to", "numDependencies"]
assert parameters(runtime.cudaMemAdvise) == ["devPtr", "count", "advice", "device"]
assert parameters(driver.cuCtxCreate) == ["flags", "dev"]
assert hasattr(runtime, "cudaStreamGetCaptureInfo_v3") and hasattr(driver, "cuCtxCreate_v4")
assert not hasattr(runtime, "cudaLaunchHostFunc_v2")
assert str(runtime.cudaError_t(0)) == "0"
sys.path.insert(0, SHIM)
try:
    import cuda.bindings._v2
except ImportError as error:
    assert str(error) == "No module named 'cuda.bindings._v2'", error
else:
    raise AssertionError("cuda-bindings 12 has no _v2")
print(runtime.CUDART_VERSION)
"""


def test_version_12() -> None:
    environment = {**os.environ, "STREAMSAN_CUDA_BINDINGS": "12"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("12")


def test_nothing_is_built_before_it_is_asked_for() -> None:
    code = (
        "from streamsan.sim.bindings.binding_modules import runtime, driver\n"
        "assert not [name for name in vars(runtime) if name.startswith('cuda')]\n"
        "runtime.cudaMalloc\n"
        "assert [name for name in vars(runtime) if name.startswith('cuda')] == ['cudaMalloc']\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
