"""`--pools driver`: the switches by which frameworks take the driver's own pools, of which it is seen who has what.

CuPy has no such variable: its allocator is set where the program runs (pool_adapters.py).
"""

from __future__ import annotations

from collections.abc import Mapping

_PYTORCH = (b"PYTORCH_CUDA_ALLOC_CONF", b"PYTORCH_ALLOC_CONF")
"""the older name, and the newer one, of which a version reads one"""
_BACKEND = b"backend:cudaMallocAsync"
_OTHERS = {b"XLA_PYTHON_CLIENT_ALLOCATOR": b"cuda_async", b"TF_GPU_ALLOCATOR": b"cuda_malloc_async"}


def driver_pools(environment: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the variables to set in an environment. What the user has chosen there stays."""
    variables = {name: value for name, value in _OTHERS.items() if name not in environment}
    for name in _PYTORCH:
        chosen = environment.get(name, b"")
        if b"backend:" not in chosen:
            variables[name] = b",".join(filter(None, (chosen, _BACKEND)))
    if any(b"backend:" in environment.get(name, b"") for name in _PYTORCH):
        return {name: value for name, value in variables.items() if name not in _PYTORCH}
    return variables
