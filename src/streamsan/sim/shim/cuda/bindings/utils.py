"""`cuda.bindings.utils`: handles as numbers, versions of PTX."""

from streamsan.sim.bindings.versions import get_cuda_native_handle as get_cuda_native_handle
from streamsan.sim.bindings.versions import (
    get_minimal_required_cuda_ver_from_ptx_ver as get_minimal_required_cuda_ver_from_ptx_ver,
)
from streamsan.sim.bindings.versions import get_ptx_ver as get_ptx_ver
