"""`cuda.bindings.utils`: handles as numbers, versions of PTX."""

from streamsan.sim.bindings.versions import (
    get_cuda_native_handle,
    get_minimal_required_cuda_ver_from_ptx_ver,
    get_ptx_ver,
)

__all__ = ["get_cuda_native_handle", "get_minimal_required_cuda_ver_from_ptx_ver", "get_ptx_ver"]
