"""Names of statuses, as the API that returned them calls them."""

from __future__ import annotations

from streamsan.platforms import CUDA

FIRST_CAPTURE_ERROR = CUDA.constants["cudaErrorStreamCaptureUnsupported"]
LAST_CAPTURE_ERROR = CUDA.constants["cudaErrorStreamCaptureWrongThread"]
NO_SUCH_HANDLE = frozenset({CUDA.constants["cudaErrorInvalidValue"], CUDA.constants["cudaErrorInvalidResourceHandle"]})


def error_name(status: int, api: str) -> str:
    """Return what a status of a call is called (cudaErrorInvalidValue), "error 42" where it has no name."""
    return CUDA.error_name(status, api)


def is_capture_error(status: int) -> bool:
    """Tell whether a status says that a capture was broken, or cannot go on."""
    return FIRST_CAPTURE_ERROR <= status <= LAST_CAPTURE_ERROR
