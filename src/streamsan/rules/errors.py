"""Names of statuses, as the API that returned them calls them."""

from __future__ import annotations

from functools import cache

from streamsan.effects.constants import CONSTANTS

FIRST_CAPTURE_ERROR = CONSTANTS["cudaErrorStreamCaptureUnsupported"]
LAST_CAPTURE_ERROR = CONSTANTS["cudaErrorStreamCaptureWrongThread"]
NO_SUCH_HANDLE = frozenset({CONSTANTS["cudaErrorInvalidValue"], CONSTANTS["cudaErrorInvalidResourceHandle"]})


@cache
def _names(prefix: str) -> dict[int, str]:
    return {
        number: name for name, number in reversed(list(CONSTANTS.items())) if name.startswith(prefix) and number > 0
    }


def error_name(status: int, api: str) -> str:
    """Return what a status of a call is called (cudaErrorInvalidValue), "error 42" where it has no name."""
    driver = api.startswith("cu") and not api.startswith("cuda")
    return _names("CUDA_ERROR_" if driver else "cudaError").get(status, f"error {status}")


def is_capture_error(status: int) -> bool:
    """Tell whether a status says that a capture was broken, or cannot go on."""
    return FIRST_CAPTURE_ERROR <= status <= LAST_CAPTURE_ERROR
