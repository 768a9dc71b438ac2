"""Modules, libraries, kernels and functions: the calls that load and look them up.

The bindings call `status, *outputs = HANDLERS[name](session, *args)` for every name in HANDLERS, with the arguments of
the Python binding, positional, as the program gave them (handles and enumerators are taken by `int()`, names are bytes
or str, an image is bytes, an address or any buffer). `status` is an int. `outputs` are in the order of the binding's
returned tuple: handles as ints, device addresses as Pointer, names as bytes, lists as lists of ints, structures as a
flat dict of their C fields; there are none when `status` is not 0. The handlers make the `session.call` themselves.

For a launch, or the parameters of a kernel node:

    launch = session.kernels.launch(function, kernel_params, extra, grid=(x, y, z), block=(x, y, z), shared=bytes)
    if launch.status: return it as the call's status, else
    session.call("cuLaunchKernel", [...], kernel_arguments=launch.kernel_arguments, payload=launch.payload)

`function` is any handle of a function or kernel, `kernel_params` what the program gave: `((values...), (types...))`,
the address of a `void*[]`, a buffer that holds one, 0 or None; `extra` is an address or 0.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamsan.sim.device_program import Program
from streamsan.sim.image import InvalidImageError, binary_of, image_bytes, program_of
from streamsan.sim.loaded_kernels import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_FOUND,
    SUCCESS,
    Function,
    number_of,
    variable_of,
)

if TYPE_CHECKING:
    from streamsan.sim.session import Session

INVALID_IMAGE = 200
FILE_NOT_FOUND = 301
Answer = tuple[Any, ...]
Handler = Callable[..., Answer]

HANDLERS: dict[str, Handler] = {}
"""API name -> handler, called with the session and the binding's arguments"""

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


def _handles(*names: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Register a handler; it is called with the API's name first."""

    def register(function: Callable[..., Answer]) -> Callable[..., Answer]:
        for name in names:
            HANDLERS[name] = _bound(function, name)
        return function

    return register


def _bound(function: Callable[..., Answer], name: str) -> Handler:
    def handler(session: Session, *arguments: Any) -> Answer:
        with session.lock:
            status, *outputs = function(name, session, *arguments)
            answered = session.answer(name, status)
            return (answered, *outputs) if not answered else (answered,)

    handler.__name__ = name
    return handler


def _text(name: object) -> str:
    if isinstance(name, bytes | bytearray):
        return bytes(name).split(b"\0", 1)[0].decode("utf-8", "replace")
    return str(name)


# -- loading ------------------------------------------------------------------------------------------
@_handles("cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary")
def _module_load(api: str, session: Session, image: object, *options: object) -> Answer:
    return _load(session, image, library=False)


@_handles("cuLibraryLoadData", "cudaLibraryLoadData")
def _library_load(api: str, session: Session, code: object, *options: object) -> Answer:
    return _load(session, code, library=True)


@_handles("cuModuleLoad")
def _module_load_file(api: str, session: Session, name: object) -> Answer:
    return _load_file(session, name, library=False)


@_handles("cuLibraryLoadFromFile", "cudaLibraryLoadFromFile")
def _library_load_file(api: str, session: Session, name: object, *options: object) -> Answer:
    return _load_file(session, name, library=True)


def _load(session: Session, image: object, *, library: bool) -> Answer:
    if image is None or (isinstance(image, int) and image == 0):
        return (INVALID_VALUE,)
    try:
        program = program_of(image_bytes(image))
    except InvalidImageError:
        return (INVALID_IMAGE,)
    return SUCCESS, session.kernels.load(program, None if library else session.current_context()).handle


def _load_file(session: Session, name: object, *, library: bool) -> Answer:
    try:
        with open(os.fsencode(_text(name)), "rb") as file:
            image = file.read()
    except (OSError, ValueError):
        return (FILE_NOT_FOUND,)
    return _load(session, image, library=library)


@_handles("cuModuleUnload", "cuLibraryUnload", "cudaLibraryUnload")
def _unload(api: str, session: Session, handle: object) -> Answer:
    module = session.kernels.module(handle)
    if module is None:
        return (INVALID_HANDLE,)
    session.kernels.unload(module)
    return (SUCCESS,)


@_handles("cuModuleGetLoadingMode")
def _loading_mode(api: str, session: Session) -> Answer:
    return SUCCESS, 2  # lazy, which is the default


# -- linking ------------------------------------------------------------------------------------------
_links: dict[int, list[Program]] = {}
_linked: dict[int, Any] = {}
"""link state -> the image that it made, which lives until the state is destroyed"""


@_handles("cuLinkCreate")
def _link_create(api: str, session: Session, *options: object) -> Answer:
    state = session.model.core.fresh_handle()
    _links[state] = []
    return SUCCESS, state


@_handles("cuLinkAddData")
def _link_add_data(api: str, session: Session, state: object, kind: object, data: object, *rest: object) -> Answer:
    parts = _links.get(number_of(state))
    if parts is None:
        return (INVALID_HANDLE,)
    try:
        parts.append(program_of(image_bytes(data)))
    except InvalidImageError:
        return (INVALID_IMAGE,)
    return (SUCCESS,)


@_handles("cuLinkAddFile")
def _link_add_file(api: str, session: Session, state: object, kind: object, path: object, *rest: object) -> Answer:
    try:
        with open(os.fsencode(_text(path)), "rb") as file:
            image = file.read()
    except (OSError, ValueError):
        return (FILE_NOT_FOUND,)
    return _link_add_data(api, session, state, kind, image)


@_handles("cuLinkComplete")
def _link_complete(api: str, session: Session, state: object) -> Answer:
    parts = _links.get(number_of(state))
    if parts is None:
        return (INVALID_HANDLE,)
    image = binary_of(Program().merged(parts))
    buffer = ctypes.create_string_buffer(image, len(image))
    _linked[number_of(state)] = buffer
    return SUCCESS, ctypes.addressof(buffer), len(image)


@_handles("cuLinkDestroy")
def _link_destroy(api: str, session: Session, state: object) -> Answer:
    _linked.pop(number_of(state), None)
    return (INVALID_HANDLE,) if _links.pop(number_of(state), None) is None else (SUCCESS,)


# -- what a module has --------------------------------------------------------------------------------
@_handles("cuModuleGetFunction", "cuLibraryGetKernel", "cudaLibraryGetKernel")
def _function(api: str, session: Session, handle: object, name: object) -> Answer:
    module = session.kernels.module(handle)
    if module is None:
        return (INVALID_HANDLE,)
    found = session.kernels.function_of(module, _text(name))
    return (NOT_FOUND,) if found is None else (SUCCESS, found.handle)


@_handles("cuModuleGetFunctionCount", "cuLibraryGetKernelCount", "cudaLibraryGetKernelCount")
def _count(api: str, session: Session, handle: object) -> Answer:
    module = session.kernels.module(handle)
    return (INVALID_HANDLE,) if module is None else (SUCCESS, len(module.program.kernels))


@_handles("cuModuleEnumerateFunctions", "cuLibraryEnumerateKernels", "cudaLibraryEnumerateKernels")
def _enumerate(api: str, session: Session, most: object, handle: object) -> Answer:
    module = session.kernels.module(handle)
    if module is None:
        return (INVALID_HANDLE,)
    return SUCCESS, [function.handle for function in session.kernels.functions_of(module)][: number_of(most)]


@_handles(
    "cuModuleGetGlobal", "cuLibraryGetGlobal", "cudaLibraryGetGlobal", "cuLibraryGetManaged", "cudaLibraryGetManaged"
)
def _variable(api: str, session: Session, handle: object, name: object) -> Answer:
    module = session.kernels.module(handle)
    if module is None:
        return (INVALID_HANDLE,)
    variable = variable_of(module, _text(name))
    if variable is None or not variable.size or ("Managed" in api and not variable.managed):
        return (NOT_FOUND,)
    return SUCCESS, *session.variables.place(module, variable)


@_handles("cuLibraryGetModule")
def _library_module(api: str, session: Session, handle: object) -> Answer:
    module = session.kernels.module(handle)
    return (INVALID_HANDLE,) if module is None else (SUCCESS, module.handle)


@_handles("cuLibraryGetUnifiedFunction", "cudaLibraryGetUnifiedFunction", "cuModuleGetTexRef", "cuModuleGetSurfRef")
def _nothing_such(api: str, session: Session, handle: object, name: object) -> Answer:
    return (INVALID_HANDLE,) if session.kernels.module(handle) is None else (NOT_FOUND,)


# -- what a function is -------------------------------------------------------------------------------
def _known(session: Session, handle: object) -> Function | None:
    return session.kernels.function(handle)


@_handles("cuKernelGetFunction", "cudaGetKernel")
def _same(api: str, session: Session, handle: object) -> Answer:
    found = _known(session, handle)
    return (INVALID_HANDLE,) if found is None else (SUCCESS, found.handle)


def _no_function(handle: object) -> int:
    """Return what a question about a function that is none gives; some take NULL for a wrong value (Q-07)."""
    return INVALID_HANDLE if number_of(handle) else INVALID_VALUE


@_handles("cuKernelGetLibrary", "cuFuncGetModule")
def _module_of(api: str, session: Session, handle: object) -> Answer:
    found = _known(session, handle)
    return (_no_function(handle),) if found is None else (SUCCESS, found.module.handle)


@_handles("cuKernelGetName", "cuFuncGetName")
def _name(api: str, session: Session, handle: object) -> Answer:
    found = _known(session, handle)
    return (_no_function(handle),) if found is None else (SUCCESS, found.kernel.lowered.encode())


@_handles("cuKernelGetParamInfo", "cuFuncGetParamInfo")
def _parameter(api: str, session: Session, handle: object, index: object) -> Answer:
    found = _known(session, handle)
    if found is None:
        return (_no_function(handle),)
    parameters, number = found.kernel.parameters or (), number_of(index)
    if not 0 <= number < len(parameters):
        return (INVALID_VALUE,)
    return SUCCESS, parameters[number].offset, parameters[number].size


@_handles("cuKernelGetParamCount", "cuFuncGetParamCount", "cudaFuncGetParamCount")
def _parameter_count(api: str, session: Session, handle: object) -> Answer:
    found = _known(session, handle)
    return (INVALID_HANDLE,) if found is None else (SUCCESS, len(found.kernel.parameters or ()))


@_handles("cuFuncIsLoaded")
def _is_loaded(api: str, session: Session, handle: object) -> Answer:
    return (INVALID_HANDLE,) if _known(session, handle) is None else (SUCCESS, 1)


@_handles(
    "cuFuncLoad", "cuFuncSetCacheConfig", "cudaFuncSetCacheConfig", "cuFuncSetSharedMemConfig",
    "cudaFuncSetSharedMemConfig", "cuKernelSetCacheConfig", "cuFuncSetBlockShape", "cuFuncSetSharedSize",
)  # fmt: skip
def _accepted(api: str, session: Session, handle: object, *rest: object) -> Answer:
    return (INVALID_HANDLE,) if _known(session, handle) is None else (SUCCESS,)


@_handles("cuFuncGetAttribute")
def _attribute(api: str, session: Session, attribute: object, handle: object, *device: object) -> Answer:
    found, number = _known(session, handle), number_of(attribute)
    if found is None:
        return (INVALID_HANDLE,)
    if not 0 <= number < len(_ATTRIBUTES):
        return (INVALID_VALUE,)
    return SUCCESS, found.attributes.get(number, _ATTRIBUTES[number])


HANDLERS["cuKernelGetAttribute"] = _bound(_attribute, "cuKernelGetAttribute")


@_handles("cuFuncSetAttribute", "cudaFuncSetAttribute", "cudaKernelSetAttributeForDevice")
def _set_attribute(
    api: str, session: Session, handle: object, attribute: object, value: object, *rest: object
) -> Answer:
    found, number = _known(session, handle), number_of(attribute)
    if found is None:
        return (INVALID_HANDLE,)
    if number not in _SETTABLE or (number == 8 and not 0 <= number_of(value) <= _MOST_SHARED):
        return (INVALID_VALUE,)
    found.attributes[number] = number_of(value)
    return (SUCCESS,)


@_handles("cuKernelSetAttribute")
def _set_kernel_attribute(
    api: str, session: Session, attribute: object, value: object, handle: object, device: object
) -> Answer:
    return _set_attribute(api, session, handle, attribute, value)


@_handles("cudaFuncGetAttributes")
def _all_attributes(api: str, session: Session, handle: object) -> Answer:
    found = _known(session, handle)
    if found is None:
        return (INVALID_HANDLE,)
    values = [found.attributes.get(number, value) for number, value in enumerate(_ATTRIBUTES)]
    return SUCCESS, dict(zip(_FUNCTION_FIELDS, values, strict=True))


# -- occupancy ----------------------------------------------------------------------------------------
def _resident(block: int, shared: int) -> int:
    """Return how many blocks of a size fit on a multiprocessor of an H200."""
    if block > 1024 or shared > _MOST_SHARED:
        return 0
    by_threads = _THREADS_OF_MULTIPROCESSOR // (-(-block // 32) * 32)
    return min(_MOST_BLOCKS, by_threads, _SHARED_OF_MULTIPROCESSOR // (shared + 1024))


@_handles(
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
)  # fmt: skip
def _active_blocks(api: str, session: Session, handle: object, block: object, shared: object, *flags: object) -> Answer:
    if _known(session, handle) is None:
        return (INVALID_HANDLE,)
    if number_of(block) <= 0:
        return (INVALID_VALUE,)
    return SUCCESS, _resident(number_of(block), number_of(shared))


@_handles("cuOccupancyMaxPotentialBlockSize", "cuOccupancyMaxPotentialBlockSizeWithFlags")
def _potential_block(
    api: str, session: Session, handle: object, shared_of: object, shared: object, limit: object, *flags: object
) -> Answer:
    if _known(session, handle) is None:
        return (INVALID_HANDLE,)
    block = min(1024, number_of(limit) or 1024)
    return SUCCESS, _MULTIPROCESSORS * max(1, _resident(block, number_of(shared))), block


@_handles("cuOccupancyAvailableDynamicSMemPerBlock", "cudaOccupancyAvailableDynamicSMemPerBlock")
def _available_shared(api: str, session: Session, handle: object, blocks: object, block: object) -> Answer:
    if _known(session, handle) is None:
        return (INVALID_HANDLE,)
    if number_of(blocks) <= 0 or number_of(block) <= 0:
        return (INVALID_VALUE,)
    return SUCCESS, min(_MOST_SHARED, max(0, _SHARED_OF_MULTIPROCESSOR // number_of(blocks) - 1024))


@_handles("cuOccupancyMaxPotentialClusterSize", "cuOccupancyMaxActiveClusters")
def _clusters(api: str, session: Session, handle: object, configuration: object) -> Answer:
    if _known(session, handle) is None:
        return (INVALID_HANDLE,)
    return SUCCESS, 8 if api.endswith("Size") else _MULTIPROCESSORS // 8
