"""The statuses that the model itself returns; the runtime's and the driver's numbers agree where both have one."""

from __future__ import annotations

from streamsan.platforms import CUDA

SUCCESS = CUDA.constants["cudaSuccess"]
INVALID_VALUE = CUDA.constants["cudaErrorInvalidValue"]
OUT_OF_MEMORY = CUDA.constants["cudaErrorMemoryAllocation"]
INITIALIZATION_ERROR = CUDA.constants["cudaErrorInitializationError"]
INVALID_CONFIGURATION = CUDA.constants["cudaErrorInvalidConfiguration"]
INVALID_PITCH = CUDA.constants["cudaErrorInvalidPitchValue"]
INVALID_CHANNEL_DESCRIPTOR = CUDA.constants["cudaErrorInvalidChannelDescriptor"]
INVALID_DIRECTION = CUDA.constants["cudaErrorInvalidMemcpyDirection"]
NO_DEVICE = CUDA.constants["cudaErrorNoDevice"]
INVALID_DEVICE = CUDA.constants["cudaErrorInvalidDevice"]
INVALID_CONTEXT = CUDA.constants["CUDA_ERROR_INVALID_CONTEXT"]
INVALID_HANDLE = CUDA.constants["cudaErrorInvalidResourceHandle"]
INVALID_FUNCTION = CUDA.constants["cudaErrorInvalidDeviceFunction"]
NOT_READY = CUDA.constants["cudaErrorNotReady"]
PEER_ALREADY_ENABLED = CUDA.constants["cudaErrorPeerAccessAlreadyEnabled"]
PEER_UNSUPPORTED = CUDA.constants["CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"]
PEER_NOT_ENABLED = CUDA.constants["cudaErrorPeerAccessNotEnabled"]
MAP_FAILED = CUDA.constants["cudaErrorMapBufferObjectFailed"]
CONTEXT_IS_DESTROYED = CUDA.constants["cudaErrorContextIsDestroyed"]
NOT_SUPPORTED = CUDA.constants["cudaErrorNotSupported"]
NOT_REGISTERED = CUDA.constants["cudaErrorHostMemoryNotRegistered"]
ALREADY_REGISTERED = CUDA.constants["cudaErrorHostMemoryAlreadyRegistered"]
ILLEGAL_STATE = CUDA.constants["cudaErrorIllegalState"]
CAPTURE_UNSUPPORTED = CUDA.constants["cudaErrorStreamCaptureUnsupported"]
CAPTURE_INVALIDATED = CUDA.constants["cudaErrorStreamCaptureInvalidated"]
CAPTURE_MERGE = CUDA.constants["cudaErrorStreamCaptureMerge"]
CAPTURE_UNMATCHED = CUDA.constants["cudaErrorStreamCaptureUnmatched"]
CAPTURE_UNJOINED = CUDA.constants["cudaErrorStreamCaptureUnjoined"]
CAPTURE_ISOLATION = CUDA.constants["cudaErrorStreamCaptureIsolation"]
CAPTURE_IMPLICIT = CUDA.constants["cudaErrorStreamCaptureImplicit"]
CAPTURED_EVENT = CUDA.constants["cudaErrorCapturedEvent"]
CAPTURE_WRONG_THREAD = CUDA.constants["cudaErrorStreamCaptureWrongThread"]
GRAPH_EXEC_UPDATE_FAILURE = CUDA.constants["cudaErrorGraphExecUpdateFailure"]

UNKNOWN = -32768
"""A slot's status when nobody knows it."""
