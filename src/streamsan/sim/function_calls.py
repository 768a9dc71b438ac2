"""Kernels and functions: the calls that ask what one is, and how many blocks of it fit on the device."""

from __future__ import annotations

from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.sim.call_handlers import Answer, Handlers
from streamsan.sim.launch_arguments import number_of
from streamsan.sim.loaded_kernels import Function

_ATTRIBUTES = (1024, 0, 0, 0, 32, 90, 90, 0, 48 << 10, -1, 0, 0, 0, 0, 0, 0)
"""CUfunction_attribute -> what a kernel has that says nothing else: those of an H200"""
_SETTABLE = frozenset({8, 9, 10, 11, 12, 13, 14, 15})
_FUNCTION_FIELDS = (
    "maxThreadsPerBlock", "sharedSizeBytes", "constSizeBytes", "localSizeBytes", "numRegs", "ptxVersion",
    "binaryVersion", "cacheModeCA", "maxDynamicSharedSizeBytes", "preferredShmemCarveout", "clusterDimMustBeSet",
    "requiredClusterWidth", "requiredClusterHeight", "requiredClusterDepth", "nonPortableClusterSizeAllowed",
    "clusterSchedulingPolicyPreference",
)  # fmt: skip
"""Fields of cudaFuncAttributes, by CUfunction_attribute"""
_MULTIPROCESSORS = 132
_THREADS_OF_MULTIPROCESSOR = 2048
_SHARED_OF_MULTIPROCESSOR = 228 << 10
_MOST_SHARED = 227 << 10
_MOST_BLOCKS = 32

HANDLERS = Handlers()


@HANDLERS.of_function("cuKernelGetFunction", "cudaGetKernel")
def _same(api: str, function: Function) -> Answer:
    return SUCCESS, function.handle


@HANDLERS.of_function("cuKernelGetLibrary", "cuFuncGetModule", null=INVALID_VALUE)
def _module_of(api: str, function: Function) -> Answer:
    return SUCCESS, function.module.handle


@HANDLERS.of_function("cuKernelGetName", "cuFuncGetName", null=INVALID_VALUE)
def _name(api: str, function: Function) -> Answer:
    return SUCCESS, function.kernel.lowered.encode()


@HANDLERS.of_function("cuKernelGetParamInfo", "cuFuncGetParamInfo", null=INVALID_VALUE)
def _parameter(api: str, function: Function, index: object) -> Answer:
    parameters, number = function.kernel.parameters or (), number_of(index)
    if not 0 <= number < len(parameters):
        return (INVALID_VALUE,)
    return SUCCESS, parameters[number].offset, parameters[number].size


@HANDLERS.of_function("cuKernelGetParamCount", "cuFuncGetParamCount", "cudaFuncGetParamCount")
def _parameter_count(api: str, function: Function) -> Answer:
    return SUCCESS, len(function.kernel.parameters or ())


@HANDLERS.of_function("cuFuncIsLoaded")
def _is_loaded(api: str, function: Function) -> Answer:
    return SUCCESS, 1


@HANDLERS.of_function(
    "cuFuncLoad", "cuFuncSetCacheConfig", "cudaFuncSetCacheConfig", "cuFuncSetSharedMemConfig",
    "cudaFuncSetSharedMemConfig", "cuKernelSetCacheConfig", "cuFuncSetBlockShape", "cuFuncSetSharedSize",
)  # fmt: skip
def _accepted(api: str, function: Function, *rest: object) -> Answer:
    return (SUCCESS,)


@HANDLERS.of_function("cuFuncGetAttribute", "cuKernelGetAttribute", at=1)
def _attribute(api: str, function: Function, attribute: object, *device: object) -> Answer:
    number = number_of(attribute)
    if not 0 <= number < len(_ATTRIBUTES):
        return (INVALID_VALUE,)
    return SUCCESS, function.attributes.get(number, _ATTRIBUTES[number])


@HANDLERS.of_function("cuKernelSetAttribute", at=2)
@HANDLERS.of_function("cuFuncSetAttribute", "cudaFuncSetAttribute", "cudaKernelSetAttributeForDevice")
def _set_attribute(api: str, function: Function, attribute: object, value: object, *rest: object) -> Answer:
    number = number_of(attribute)
    if number not in _SETTABLE or (number == 8 and not 0 <= number_of(value) <= _MOST_SHARED):
        return (INVALID_VALUE,)
    function.attributes[number] = number_of(value)
    return (SUCCESS,)


@HANDLERS.of_function("cudaFuncGetAttributes")
def _all_attributes(api: str, function: Function) -> Answer:
    values = [function.attributes.get(number, value) for number, value in enumerate(_ATTRIBUTES)]
    return SUCCESS, dict(zip(_FUNCTION_FIELDS, values, strict=True))


def _resident(block: int, shared: int) -> int:
    """Return how many blocks of a size fit on a multiprocessor of an H200."""
    if block > 1024 or shared > _MOST_SHARED:
        return 0
    by_threads = _THREADS_OF_MULTIPROCESSOR // (-(-block // 32) * 32)
    return min(_MOST_BLOCKS, by_threads, _SHARED_OF_MULTIPROCESSOR // (shared + 1024))


@HANDLERS.of_function(
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
)  # fmt: skip
def _active_blocks(api: str, function: Function, block: object, shared: object, *flags: object) -> Answer:
    if number_of(block) <= 0:
        return (INVALID_VALUE,)
    return SUCCESS, _resident(number_of(block), number_of(shared))


@HANDLERS.of_function("cuOccupancyMaxPotentialBlockSize", "cuOccupancyMaxPotentialBlockSizeWithFlags")
def _potential_block(
    api: str, function: Function, shared_of: object, shared: object, limit: object, *flags: object
) -> Answer:
    block = min(1024, number_of(limit) or 1024)
    return SUCCESS, _MULTIPROCESSORS * max(1, _resident(block, number_of(shared))), block


@HANDLERS.of_function("cuOccupancyAvailableDynamicSMemPerBlock", "cudaOccupancyAvailableDynamicSMemPerBlock")
def _available_shared(api: str, function: Function, blocks: object, block: object) -> Answer:
    if number_of(blocks) <= 0 or number_of(block) <= 0:
        return (INVALID_VALUE,)
    return SUCCESS, min(_MOST_SHARED, max(0, _SHARED_OF_MULTIPROCESSOR // number_of(blocks) - 1024))


@HANDLERS.of_function("cuOccupancyMaxPotentialClusterSize", "cuOccupancyMaxActiveClusters")
def _clusters(api: str, function: Function, configuration: object) -> Answer:
    return SUCCESS, 8 if api.endswith("Size") else _MULTIPROCESSORS // 8
