"""Where the Python functions cannot be derived from the C functions and cuda.bindings' own description of itself."""

from __future__ import annotations

from streamsan.platforms.python_bindings import Item

UNLIKE_C = {
    "typename": "type",
    "length": "len",
    "numbytes": "bytes",
    "pformat": "format",
    "graphId": "graphID",
    "phGraphNode": "pGraphNode",
    "handle_out": "shareableHandle",
    "shareData_out": "exportData",
    "pool_out": "memPool",
    "ptr_out": "ptr",
}
"""Python's name of a parameter -> the C header's, where a keyword or built-in name was avoided, or it just differs."""

RETURNED: dict[str, tuple[Item, ...]] = {
    "cudaGetExportTable": (Item("ppExportTable", "Any"),),
    "cudaGetErrorName": (Item("name", "bytes"),),
    "cudaGetErrorString": (Item("text", "bytes"),),
    "cuDeviceGetCliqueInfo": (Item("cliqueInfo", "list[CUcliqueInfo]"), Item("count", "unsigned int")),
    "cuTexRefGetBorderColor": (Item("pBorderColor", "float"),),
    "cuCoredumpGetAttribute": (Item("value", "Any"),),
    "cuCoredumpGetAttributeGlobal": (Item("value", "Any"),),
    "cuCoredumpSetAttribute": (),
    "cuCoredumpSetAttributeGlobal": (),
}
"""Results of functions whose description leaves them out or names others."""

UNCHECKED_LISTS = frozenset({"cuPointerGetAttributes"})
"""Functions that do not compare the length of a list with the count that follows it."""
