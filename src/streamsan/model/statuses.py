"""The statuses that the model itself returns; the runtime's and the driver's numbers agree where both have one."""

from __future__ import annotations

from streamsan.effects.constants import CONSTANTS

SUCCESS = CONSTANTS["cudaSuccess"]
INVALID_VALUE = CONSTANTS["cudaErrorInvalidValue"]
INITIALIZATION_ERROR = CONSTANTS["cudaErrorInitializationError"]
INVALID_DEVICE = CONSTANTS["cudaErrorInvalidDevice"]
INVALID_CONTEXT = CONSTANTS["CUDA_ERROR_INVALID_CONTEXT"]
INVALID_HANDLE = CONSTANTS["cudaErrorInvalidResourceHandle"]
NOT_REGISTERED = CONSTANTS["cudaErrorHostMemoryNotRegistered"]
ALREADY_REGISTERED = CONSTANTS["cudaErrorHostMemoryAlreadyRegistered"]

UNKNOWN = -32768
"""A slot's status when nobody knows it."""
