"""Questions that the simulated machine cannot answer: it says so, where a zero would pass for an answer."""

from __future__ import annotations

from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.statuses import NOT_SUPPORTED
from streamsan.model.values import Outcome


@answers(
    # what arrays take, and the tiles of sparse ones
    "cudaArrayGetMemoryRequirements",
    "cudaMipmappedArrayGetMemoryRequirements",
    "cudaArrayGetSparseProperties",
    "cudaMipmappedArrayGetSparseProperties",
    "cuArrayGetMemoryRequirements",
    "cuMipmappedArrayGetMemoryRequirements",
    "cuArrayGetSparseProperties",
    "cuMipmappedArrayGetSparseProperties",
    # texture references, which CUDA 12 took away
    "cuTexRefGetAddress",
    "cuTexRefGetAddressMode",
    "cuTexRefGetArray",
    "cuTexRefGetBorderColor",
    "cuTexRefGetFilterMode",
    "cuTexRefGetFlags",
    "cuTexRefGetFormat",
    "cuTexRefGetMaxAnisotropy",
    "cuTexRefGetMipmapFilterMode",
    "cuTexRefGetMipmapLevelBias",
    "cuTexRefGetMipmapLevelClamp",
    "cuTexRefGetMipmappedArray",
    "cuSurfRefGetArray",
    # parts of a device
    "cudaDeviceGetDevResource",
    "cudaDevResourceGenerateDesc",
    "cudaDevSmResourceSplit",
    "cudaDevSmResourceSplitByCount",
    "cudaStreamGetDevResource",
    "cudaExecutionCtxGetDevResource",
    "cuDeviceGetDevResource",
    "cuDevResourceGenerateDesc",
    "cuDevSmResourceSplit",
    "cuDevSmResourceSplitByCount",
    "cuCtxGetDevResource",
    "cuGreenCtxGetDevResource",
    "cuStreamGetDevResource",
    "cuCtxGetExecAffinity",
    "cudaDeviceGetHostAtomicCapabilities",
    "cudaDeviceGetP2PAtomicCapabilities",
    "cuDeviceGetHostAtomicCapabilities",
    "cuDeviceGetP2PAtomicCapabilities",
    "cudaDeviceGetTexture1DLinearMaxWidth",
    "cuDeviceGetTexture1DLinearMaxWidth",
    "cuDeviceGetCliqueCount",
    "cuDeviceGetCliqueInfo",
    "cuDeviceGetFabricClusterUuid",
    # processes: checkpoints, core dumps, logs
    "cuCheckpointProcessGetRestoreThreadId",
    "cuCheckpointProcessGetState",
    "cuCheckpointProcessLock",
    "cuCheckpointProcessCheckpoint",
    "cuCheckpointProcessRestore",
    "cuCheckpointProcessUnlock",
    "cuCoredumpGetAttribute",
    "cuCoredumpGetAttributeGlobal",
    "cuCoredumpSetAttribute",
    "cuCoredumpSetAttributeGlobal",
    "cudaLogsCurrent",
    "cudaLogsDumpToFile",
    "cudaLogsDumpToMemory",
    "cuLogsCurrent",
    "cuLogsDumpToFile",
    "cuLogsDumpToMemory",
    # code of the driver's own
    "cudaGetExportTable",
    "cuGetExportTable",
    "cudaGetDriverEntryPoint",
    "cudaGetDriverEntryPointByVersion",
    "cuGetProcAddress",
)
def _not_supported(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    return Outcome(NOT_SUPPORTED)
