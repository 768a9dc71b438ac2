"""What GetParams gives of a node, with the field names of the domain that asks."""

from __future__ import annotations

from streamsan.model.graphs import descriptions
from streamsan.model.process_state import Process
from streamsan.model.streams_and_graphs import Node
from streamsan.model.values import Pointer, Value
from streamsan.model.work import CopyWork, FillWork, Place
from streamsan.trace.references import Reference

_DEFAULT_DIRECTION = 4
"""cudaMemcpyDefault"""
_UNIFIED = 4
"""CU_MEMORYTYPE_UNIFIED: the address says where it is"""


def parameters_of(process: Process, node: Node, domain: str) -> dict[str, Value]:
    """Return the fields: as they were given, or what they must have been for a node that other means described."""
    found = dict(node.parameters)
    if node.type == descriptions.KERNEL:
        to_runtime = descriptions.KERNEL_FIELDS
        renamed = to_runtime if domain == "runtime" else {old: new for new, old in to_runtime.items()}
        return {renamed.get(key, key): value for key, value in found.items()}
    if isinstance(node.work, CopyWork) and not _described(found, domain):
        return _copy_fields(process, node, node.work, domain)
    if isinstance(node.work, FillWork) and "dst" not in found:
        return _fill_fields(process, node, node.work)
    return found


def _described(parameters: dict[str, Value], domain: str) -> bool:
    """Return whether a copy was described by the structure of this domain."""
    return ("extent.width" if domain == "runtime" else "WidthInBytes") in parameters


def _copy_fields(process: Process, node: Node, work: CopyWork, domain: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    places = {"dst": work.to, "src": work.source}
    for position, (side, place) in enumerate(places.items()):
        reference = node.references[position] if position < len(node.references) else None
        address = _pointer(process, place.address, reference)
        pitch = place.pitch or work.width
        rows = _rows(place, pitch, work)
        if domain == "runtime":
            found |= {f"{side}Ptr.ptr": address, f"{side}Ptr.pitch": pitch}
            found |= {f"{side}Ptr.xsize": work.width, f"{side}Ptr.ysize": rows}
        else:
            found |= {f"{side}MemoryType": _UNIFIED, f"{side}Device": address}
            found |= {f"{side}Pitch": pitch, f"{side}Height": rows}
    names = ("extent.width", "extent.height", "extent.depth")
    if domain != "runtime":
        return found | {"WidthInBytes": work.width, "Height": work.height, "Depth": work.depth}
    return found | dict(zip(names, (work.width, work.height, work.depth), strict=True)) | {"kind": _DEFAULT_DIRECTION}


def _rows(place: Place, pitch: int, work: CopyWork) -> int:
    return place.slice_pitch // pitch if place.slice_pitch and pitch else work.height


def _fill_fields(process: Process, node: Node, work: FillWork) -> dict[str, Value]:
    reference = node.references[0] if node.references else None
    return {
        "dst": _pointer(process, work.to.address, reference),
        "pitch": work.to.pitch,
        "value": work.value,
        "elementSize": work.element,
        "width": work.width,
        "height": work.height,
    }


def _pointer(process: Process, address: int, reference: Reference | None) -> Value:
    """Return an address with the allocation that it was derived from, where that is known."""
    allocation = None if reference is None else process.allocations.get(reference.generation)
    return address if allocation is None else Pointer(address, allocation.address, allocation.generation)
