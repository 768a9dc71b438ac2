"""Modules and libraries: the calls that load and link them, and look up what is in them.

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
from typing import Any

from streamsan.model.statuses import INVALID_HANDLE, INVALID_VALUE, SUCCESS
from streamsan.sim.call_handlers import Answer, Handlers
from streamsan.sim.device_program import Program
from streamsan.sim.image import InvalidImageError, binary_of, image_bytes, program_of
from streamsan.sim.launch_arguments import number_of
from streamsan.sim.loaded_kernels import Module, variable_of
from streamsan.sim.session import Session

NOT_FOUND = 500
INVALID_IMAGE = 200
FILE_NOT_FOUND = 301

HANDLERS = Handlers()


def _text(name: object) -> str:
    if isinstance(name, bytes | bytearray):
        return bytes(name).split(b"\0", 1)[0].decode("utf-8", "replace")
    return str(name)


@HANDLERS.of("cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary")
def _module_load(api: str, session: Session, image: object, *options: object) -> Answer:
    return _load(session, image, library=False)


@HANDLERS.of("cuLibraryLoadData", "cudaLibraryLoadData")
def _library_load(api: str, session: Session, code: object, *options: object) -> Answer:
    return _load(session, code, library=True)


@HANDLERS.of("cuModuleLoad")
def _module_load_file(api: str, session: Session, name: object) -> Answer:
    return _load_file(session, name, library=False)


@HANDLERS.of("cuLibraryLoadFromFile", "cudaLibraryLoadFromFile")
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


@HANDLERS.of_module("cuModuleUnload", "cuLibraryUnload", "cudaLibraryUnload")
def _unload(api: str, session: Session, module: Module) -> Answer:
    session.kernels.unload(module)
    return (SUCCESS,)


@HANDLERS.of("cuModuleGetLoadingMode")
def _loading_mode(api: str, session: Session) -> Answer:
    return SUCCESS, 2  # lazy, which is the default


_links: dict[int, list[Program]] = {}


_linked: dict[int, Any] = {}
"""link state -> the image that it made, which lives until the state is destroyed"""


@HANDLERS.of("cuLinkCreate")
def _link_create(api: str, session: Session, *options: object) -> Answer:
    state = session.model.core.fresh_handle()
    _links[state] = []
    return SUCCESS, state


@HANDLERS.of("cuLinkAddData")
def _link_add_data(api: str, session: Session, state: object, kind: object, data: object, *rest: object) -> Answer:
    parts = _links.get(number_of(state))
    if parts is None:
        return (INVALID_HANDLE,)
    try:
        parts.append(program_of(image_bytes(data)))
    except InvalidImageError:
        return (INVALID_IMAGE,)
    return (SUCCESS,)


@HANDLERS.of("cuLinkAddFile")
def _link_add_file(api: str, session: Session, state: object, kind: object, path: object, *rest: object) -> Answer:
    try:
        with open(os.fsencode(_text(path)), "rb") as file:
            image = file.read()
    except (OSError, ValueError):
        return (FILE_NOT_FOUND,)
    return _link_add_data(api, session, state, kind, image)


@HANDLERS.of("cuLinkComplete")
def _link_complete(api: str, session: Session, state: object) -> Answer:
    parts = _links.get(number_of(state))
    if parts is None:
        return (INVALID_HANDLE,)
    image = binary_of(Program().merged(parts))
    buffer = ctypes.create_string_buffer(image, len(image))
    _linked[number_of(state)] = buffer
    return SUCCESS, ctypes.addressof(buffer), len(image)


@HANDLERS.of("cuLinkDestroy")
def _link_destroy(api: str, session: Session, state: object) -> Answer:
    _linked.pop(number_of(state), None)
    return (INVALID_HANDLE,) if _links.pop(number_of(state), None) is None else (SUCCESS,)


@HANDLERS.of_module("cuModuleGetFunction", "cuLibraryGetKernel", "cudaLibraryGetKernel")
def _function(api: str, session: Session, module: Module, name: object) -> Answer:
    found = session.kernels.function_of(module, _text(name))
    return (NOT_FOUND,) if found is None else (SUCCESS, found.handle)


@HANDLERS.of_module("cuModuleGetFunctionCount", "cuLibraryGetKernelCount", "cudaLibraryGetKernelCount")
def _count(api: str, session: Session, module: Module) -> Answer:
    return SUCCESS, len(module.program.kernels)


@HANDLERS.of_module("cuModuleEnumerateFunctions", "cuLibraryEnumerateKernels", "cudaLibraryEnumerateKernels")
def _enumerate(api: str, session: Session, most: object, module: Module) -> Answer:
    return SUCCESS, [function.handle for function in session.kernels.functions_of(module)][: number_of(most)]


@HANDLERS.of_module(
    "cuModuleGetGlobal", "cuLibraryGetGlobal", "cudaLibraryGetGlobal", "cuLibraryGetManaged", "cudaLibraryGetManaged"
)
def _variable(api: str, session: Session, module: Module, name: object) -> Answer:
    variable = variable_of(module, _text(name))
    if variable is None or not variable.size or ("Managed" in api and not variable.managed):
        return (NOT_FOUND,)
    return SUCCESS, *session.variables.place(module, variable)


@HANDLERS.of_module("cuLibraryGetModule")
def _library_module(api: str, session: Session, module: Module) -> Answer:
    return SUCCESS, module.handle


@HANDLERS.of_module(
    "cuLibraryGetUnifiedFunction", "cudaLibraryGetUnifiedFunction", "cuModuleGetTexRef", "cuModuleGetSurfRef"
)
def _nothing_such(api: str, session: Session, module: Module, name: object) -> Answer:
    return (NOT_FOUND,)
