"""A driver-API program is told of the driver's functions, not of the runtime's."""

from __future__ import annotations

import re
from dataclasses import replace

from streamsan.findings.finding import Contract
from streamsan.platforms import CUDA
from streamsan.rules.case import Case

_DRIVERS = {
    "cudaDeviceSynchronize": "cuCtxSynchronize",
    "cudaEventRecord": "cuEventRecord",
    "cudaEventSynchronize": "cuEventSynchronize",
    "cudaFree": "cuMemFree",
    "cudaFreeArray": "cuArrayDestroy",
    "cudaFreeAsync": "cuMemFreeAsync",
    "cudaFreeHost": "cuMemFreeHost",
    "cudaGraphExecUpdate": "cuGraphExecUpdate",
    "cudaHostRegister": "cuMemHostRegister",
    "cudaHostUnregister": "cuMemHostUnregister",
    "cudaIpcCloseMemHandle": "cuIpcCloseMemHandle",
    "cudaIpcOpenMemHandle": "cuIpcOpenMemHandle",
    "cudaLaunchHostFunc": "cuLaunchHostFunc",
    "cudaMalloc": "cuMemAlloc",
    "cudaMallocAsync": "cuMemAllocAsync",
    "cudaStreamNonBlocking": "CU_STREAM_NON_BLOCKING",
    "cudaStreamPerThread": "CU_STREAM_PER_THREAD",
    "cudaStreamSynchronize": "cuStreamSynchronize",
    "cudaStreamWaitEvent": "cuStreamWaitEvent",
}
_RUNTIME = re.compile(r"\bcuda[A-Z]\w*")
_RUNTIME_DOCUMENT, _DRIVER_DOCUMENT = "CUDA Runtime API", "CUDA Driver API"


def calls_the_driver(case: Case) -> bool:
    """Tell whether all calls of a case that have a name are the driver API's."""
    operations = (case.operation, *(operation for _, operation in case.fact.related))
    names = [name for name in map(case.api, operations) if name]
    return bool(names) and all(map(CUDA.is_low_level, names))


def in_driver_names(text: str) -> str:
    """Return a text with the driver's functions for the runtime's; one without a counterpart stays."""
    return _RUNTIME.sub(lambda found: _DRIVERS.get(found[0], found[0]), text)


def of_driver(contract: Contract) -> Contract:
    """Return what the driver API's documentation says of its function, where it is the runtime's counterpart."""
    _, _, function = contract.source.partition(", ")
    if not contract.source.startswith(_RUNTIME_DOCUMENT) or any(
        name not in _DRIVERS for name in _RUNTIME.findall(function)
    ):
        return contract
    source = in_driver_names(contract.source).replace(_RUNTIME_DOCUMENT, _DRIVER_DOCUMENT)
    return replace(contract, text=in_driver_names(contract.text), source=source)
