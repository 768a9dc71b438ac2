"""The names of `cuda.bindings._v2`, made from those of `cuda.bindings`: `cuMemFree` is `mem_free_v2` there."""

from __future__ import annotations

import builtins
import re
from collections.abc import Container, Iterable, Mapping
from itertools import takewhile

from streamsan.platforms import CUDA
from streamsan.platforms.python_bindings import Catalogue
from streamsan.sim.bindings.exceptions import UNLIKE_C

_WORD_BEGINS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER_BEGINS = re.compile(r"(?<=[a-z])(?=[0-9]D)|(?<=[0-9])(?=Async)")
_DIRECTION = re.compile(r"(?<=memcpy)_?([adh])to_([adh])(?![a-z])")
_VERSION = re.compile(r"_v([2-9])$")
_TURNED = re.compile(r"^(\d+D)(\w+)$")
_OTHER = re.compile("_AS_INT$|^ATTRIBUTE_")
"""constants that begin as those of a group, and are none"""
_UNUSUAL = {
    "cuOccupancyAvailableDynamicSMemPerBlock": "occupancy_available_dynamic_smem_per_block",
    "cuTexRefSetAddress2D": "tex_ref_set_address2d_v3",
    "cuGraphAddNode": "graph_add_node_v2",
    "nvrtcGetOptiXIR": "get_optix_ir",
    "nvrtcGetOptiXIRSize": "get_optix_ir_size",
}
_SECOND_NAMES = {
    "graph_instantiate_with_flags": "cuGraphInstantiate",
    "graph_get_edges": "cuGraphGetEdges",
    "graph_node_get_dependencies": "cuGraphNodeGetDependencies",
    "graph_node_get_dependent_nodes": "cuGraphNodeGetDependentNodes",
    "memcpy_batch_async": "cuMemcpyBatchAsync",
    "stream_get_capture_info_v2": "cuStreamGetCaptureInfo",
}
_UNVERSIONED = frozenset(
    {"cuMemHostAlloc", "cuMemcpy", "cuGraphInstantiate", "cuGraphNodeSetParams", "cuLaunchHostFunc"}
)
"""Functions whose versioned symbol is internal, or that have one of each."""
_KEYWORDS = frozenset({"IF"})
"""of the language that the real module is written in"""
_ENUMERATIONS = {
    "CUmemorytype": "MemoryType",
    "CUresourcetype": "ResourceType",
    "CUsharedconfig": "SharedConfig",
    "CUcomputemode": "ComputeMode",
    "CUGLmap_flags": "GLMapFlags",
    "CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS": "PointerAttributeAccessFlags",
}


def snake_case(name: str) -> str:
    """Return a name in snake_case: `hStream` is `h_stream`, `Memcpy2DAsync` `memcpy_2d_async`."""
    return _NUMBER_BEGINS.sub("_", _WORD_BEGINS.sub("_", name)).lower()


def function_name(name: str) -> str:
    """Return the name of one function, without its version: `cuMemcpyHtoDAsync` is `memcpy_htod_async`."""
    if name in _UNUSUAL:
        return _UNUSUAL[name]
    bare = snake_case(name.removeprefix("nvrtc").removeprefix("cu"))
    return _DIRECTION.sub(r"_\1to\2", bare)


def parameter_name(name: str, c_names: Container[str] = ()) -> str:
    """Return the name of a parameter: that of the C function, where `cuda.bindings` avoids a built-in name."""
    plain = name if name in c_names else UNLIKE_C.get(name, name)
    return _WORD_BEGINS.sub("_", plain if plain == "from_" else plain.rstrip("_")).lower()


def driver_functions(entries: Catalogue) -> dict[str, str]:
    """Return the functions of `_v2.driver` and the names that `cuda.bindings.driver` has for them.

    The version in a name is that of the driver's latest symbol, except where `cuda.bindings` has several, too.
    """
    found = {}
    latest: dict[str, int] = {}
    for symbol in CUDA.driver_symbols:
        version = _VERSION.search(symbol)
        if version is not None:
            base = symbol[: version.start()]
            latest[base] = max(latest.get(base, 0), int(version[1]))
    versioned = {_VERSION.sub("", name) for name in entries.functions if _VERSION.search(name)}
    for name in entries.functions:
        suffix = (
            f"_v{latest[name]}" if name in latest and name not in versioned | _UNVERSIONED | _UNUSUAL.keys() else ""
        )
        found[function_name(name) + suffix] = name
    return found | _SECOND_NAMES


def exception_name(status: str) -> str:
    """Return the class of a status without its prefix: `ERROR_OUT_OF_MEMORY` is `OutOfMemoryError`."""
    words = status.removeprefix("ERROR_").removesuffix("_ERROR").split("_")
    name = "".join(word.capitalize() for word in words) + "Error"
    return f"Driver{name}" if hasattr(builtins, name) else name


def enumeration_name(name: str) -> str | None:
    """Return the name of an enumeration: `CUevent_flags` is `EventFlags`; None for OpenCL's, and for second names."""
    if not name.startswith("CU") or name.endswith("AttrID"):
        return None
    words = (
        name.removeprefix("CU").replace("memcpy", "memCpy").replace("OOBfill", "OOBFill").replace("L2prom", "L2Prom")
    )
    return _ENUMERATIONS.get(name) or "".join(word[:1].upper() + word[1:] for word in words.split("_"))


def shortened(kind: str, members: Mapping[str, int]) -> dict[str, int]:
    """Return the members of an enumeration without the words that all of them begin with, as far as names remain."""
    plain = {name: name.removeprefix("CU_").removeprefix("CUDA_").removeprefix("NVRTC_") for name in members}
    common = _common_words(plain.values())
    bare = {name: text[common:] for name, text in plain.items()}
    if len(members) == 1:
        bare = {name: text.removeprefix(f"{snake_case(kind).upper()}_") for name, text in plain.items()}
    elif not all(text.isidentifier() for text in bare.values()):
        bare = plain
    return {text + "_" * (text in _KEYWORDS): members[name] for name, text in bare.items()}


def _common_words(names: Iterable[str]) -> int:
    """Return how many characters the words take that all names begin with."""
    lists = [name.split("_") for name in names]
    same = takewhile(lambda words: len(set(words)) == 1, zip(*lists, strict=False))
    return sum(len(words[0]) + 1 for words in same)


def structure_key(name: str) -> str:
    """Return what a structure's names have in common: `CUDA_MEMCPY2D`, `MemCpy2d_v2` and `mem_cpy2d_v2_dtype`."""
    bare = re.sub(r"(_v\d|V\d|_st)$", "", name.removesuffix("_dtype").removeprefix("CUDA_").removeprefix("CU"))
    return re.sub(r"_?v\d$", "", bare).replace("_", "").lower()


CONSTANT_GROUPS = {
    "Array3dFlags": "CUDA_ARRAY3D_",
    "CooperativeLaunchMultiDeviceFlags": "CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_",
    "ExternalMemoryFlags": "CUDA_EXTERNAL_MEMORY_",
    "ExternalSemaphoreSignalFlags": "CUDA_EXTERNAL_SEMAPHORE_SIGNAL_",
    "ExternalSemaphoreWaitFlags": "CUDA_EXTERNAL_SEMAPHORE_WAIT_",
    "GraphConditionalHandleFlags": "CU_GRAPH_COND_",
    "GraphKernelNodePort": "CU_GRAPH_KERNEL_NODE_PORT_",
    "LaunchParam": "CU_LAUNCH_PARAM_",
    "MemCreateUsage": "CU_MEM_CREATE_USAGE_",
    "MemHostAllocFlags": "CU_MEMHOSTALLOC_",
    "MemHostRegisterFlags": "CU_MEMHOSTREGISTER_",
    "MemPoolCreateUsage": "CU_MEM_POOL_CREATE_USAGE_",
    "SpecialDevice": "CU_DEVICE_",
    "SpecialStream": "CU_STREAM_",
    "TexRefFlags": "CU_TRSF_",
}
"""enumerations of what are single constants in `cuda.bindings`, and what those begin with"""


def grouped(kind: str, constants: Mapping[str, int]) -> dict[str, int]:
    """Return the members of an enumeration that is made of constants."""
    prefix = CONSTANT_GROUPS[kind]
    found = {name.removeprefix(prefix): value for name, value in constants.items() if name.startswith(prefix)}
    # A name cannot begin with a digit: `CUDA_ARRAY3D_2DARRAY`.
    return {_TURNED.sub(r"\2_\1", name): value for name, value in found.items() if not _OTHER.search(name)}
