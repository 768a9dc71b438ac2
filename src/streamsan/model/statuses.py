"""The statuses that the model itself returns; the runtime's and the driver's numbers agree where both have one."""

from __future__ import annotations

from streamsan.effects.constants import CONSTANTS

SUCCESS = CONSTANTS["cudaSuccess"]
INVALID_VALUE = CONSTANTS["cudaErrorInvalidValue"]
OUT_OF_MEMORY = CONSTANTS["cudaErrorMemoryAllocation"]
INITIALIZATION_ERROR = CONSTANTS["cudaErrorInitializationError"]
INVALID_CONFIGURATION = CONSTANTS["cudaErrorInvalidConfiguration"]
INVALID_PITCH = CONSTANTS["cudaErrorInvalidPitchValue"]
INVALID_CHANNEL_DESCRIPTOR = CONSTANTS["cudaErrorInvalidChannelDescriptor"]
INVALID_DIRECTION = CONSTANTS["cudaErrorInvalidMemcpyDirection"]
NO_DEVICE = CONSTANTS["cudaErrorNoDevice"]
INVALID_DEVICE = CONSTANTS["cudaErrorInvalidDevice"]
INVALID_CONTEXT = CONSTANTS["CUDA_ERROR_INVALID_CONTEXT"]
INVALID_HANDLE = CONSTANTS["cudaErrorInvalidResourceHandle"]
INVALID_FUNCTION = CONSTANTS["cudaErrorInvalidDeviceFunction"]
NOT_READY = CONSTANTS["cudaErrorNotReady"]
PEER_ALREADY_ENABLED = CONSTANTS["cudaErrorPeerAccessAlreadyEnabled"]
PEER_UNSUPPORTED = CONSTANTS["CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"]
PEER_NOT_ENABLED = CONSTANTS["cudaErrorPeerAccessNotEnabled"]
MAP_FAILED = CONSTANTS["cudaErrorMapBufferObjectFailed"]
CONTEXT_IS_DESTROYED = CONSTANTS["cudaErrorContextIsDestroyed"]
NOT_SUPPORTED = CONSTANTS["cudaErrorNotSupported"]
NOT_REGISTERED = CONSTANTS["cudaErrorHostMemoryNotRegistered"]
ALREADY_REGISTERED = CONSTANTS["cudaErrorHostMemoryAlreadyRegistered"]
ILLEGAL_STATE = CONSTANTS["cudaErrorIllegalState"]
CAPTURE_UNSUPPORTED = CONSTANTS["cudaErrorStreamCaptureUnsupported"]
CAPTURE_INVALIDATED = CONSTANTS["cudaErrorStreamCaptureInvalidated"]
CAPTURE_MERGE = CONSTANTS["cudaErrorStreamCaptureMerge"]
CAPTURE_UNMATCHED = CONSTANTS["cudaErrorStreamCaptureUnmatched"]
CAPTURE_UNJOINED = CONSTANTS["cudaErrorStreamCaptureUnjoined"]
CAPTURE_ISOLATION = CONSTANTS["cudaErrorStreamCaptureIsolation"]
CAPTURE_IMPLICIT = CONSTANTS["cudaErrorStreamCaptureImplicit"]
CAPTURED_EVENT = CONSTANTS["cudaErrorCapturedEvent"]
CAPTURE_WRONG_THREAD = CONSTANTS["cudaErrorStreamCaptureWrongThread"]
GRAPH_EXEC_UPDATE_FAILURE = CONSTANTS["cudaErrorGraphExecUpdateFailure"]

UNKNOWN = -32768
"""A slot's status when nobody knows it."""
