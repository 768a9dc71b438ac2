"""`cuda.bindings.utils`: handles as numbers, versions of PTX, switches."""

from streamsan.sim.bindings.versions import check_nvvm_compiler_options as check_nvvm_compiler_options
from streamsan.sim.bindings.versions import envvar_bool as envvar_bool
from streamsan.sim.bindings.versions import get_cuda_native_handle as get_cuda_native_handle
from streamsan.sim.bindings.versions import (
    get_minimal_required_cuda_ver_from_ptx_ver as get_minimal_required_cuda_ver_from_ptx_ver,
)
from streamsan.sim.bindings.versions import get_ptx_ver as get_ptx_ver
from streamsan.sim.bindings.versions import warn_if_cuda_major_version_mismatch as warn_if_cuda_major_version_mismatch
