"""Pointers: what memory lies there, of which kind, whose it is; arrays."""

from __future__ import annotations

from streamsan.effects import Role
from streamsan.effects.waits import Endpoint
from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.managed import NOWHERE, accessed_by, advise, managed_allocation, range_attribute
from streamsan.model.ranges import range_status
from streamsan.model.resources import Allocation, ArrayLayout, Context, Lifetime
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.values import Handle, Outcome, Pointer, RefusalError, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import MemoryKind

_UNREGISTERED, _HOST, _DEVICE, _MANAGED = (
    CUDA.constants[f"cudaMemoryType{word}"] for word in ("Unregistered", "Host", "Device", "Managed")
)
_NO_DEVICE = -2
"""`device` of memory that belongs to none"""
_SYNC_MEMOPS = CUDA.constants["CU_POINTER_ATTRIBUTE_SYNC_MEMOPS"]
_ACCESSED_BY = CUDA.constants["cudaMemRangeAttributeAccessedBy"]
_ATTRIBUTES = {
    CUDA.constants[f"CU_POINTER_ATTRIBUTE_{word}"]: word
    for word in (
        "CONTEXT",
        "MEMORY_TYPE",
        "DEVICE_POINTER",
        "HOST_POINTER",
        "SYNC_MEMOPS",
        "BUFFER_ID",
        "IS_MANAGED",
        "DEVICE_ORDINAL",
        "IS_LEGACY_CUDA_IPC_CAPABLE",
        "RANGE_START_ADDR",
        "RANGE_SIZE",
        "MAPPED",
        "ALLOWED_HANDLE_TYPES",
        "IS_GPU_DIRECT_RDMA_CAPABLE",
        "ACCESS_FLAGS",
        "MEMPOOL_HANDLE",
        "MAPPING_SIZE",
        "MAPPING_BASE_ADDR",
        "MEMORY_BLOCK_ID",
    )
}


def _inspected(core: ModelCore, call: Call) -> tuple[Pointer | None, Allocation | None]:
    """Return the pointer that a call asks about, and the live memory of CUDA's that it lies in."""
    pointer = core.pointer_of(call.thread, call.value(Role.INSPECTED), call.site)
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is not None and allocation.registration:
        allocation = call.thread.process.allocations.get(allocation.registration, allocation)
    if allocation is None or CUDA.is_hosts_own(allocation.kind) or allocation.is_reservation:
        return pointer, None
    return pointer, allocation if allocation.lifetime in (Lifetime.LIVE, Lifetime.UNCLEAR) else None


@answers("cudaPointerGetAttributes")
def _attributes(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give what lies at an address; memory that CUDA does not know is Unregistered, which is no error."""
    pointer, allocation = _inspected(core, call)
    if pointer is None and call.value(Role.INSPECTED) != 0:
        return Outcome(INVALID_VALUE)
    if pointer is None or allocation is None:
        address = 0 if pointer is None else pointer.address
        return call.gives_fields(
            {"type": _UNREGISTERED, "device": _NO_DEVICE, "devicePointer": 0, "hostPointer": address}
        )
    kind = {Endpoint.PINNED: _HOST, Endpoint.MANAGED: _MANAGED}.get(CUDA.side(allocation.kind), _DEVICE)
    return call.gives_fields(
        {
            "type": kind,
            "device": _ordinal(allocation),
            "devicePointer": pointer,
            "hostPointer": 0 if kind == _DEVICE else pointer,
        },
    )


@answers("cuPointerGetAttribute")
def _attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give one attribute; memory that CUDA does not know is an error."""
    pointer, allocation = _inspected(core, call)
    word = _ATTRIBUTES.get(call.named("attribute") or 0)
    if pointer is None or allocation is None or word is None:
        return Outcome(INVALID_VALUE)
    value = _value(core, call, word, pointer, allocation)
    return Outcome(INVALID_VALUE) if value is None else call.gives(value)


@answers("cuPointerGetAttributes")
def _attributes_of_list(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give several attributes as `data.0`, ...; for memory that CUDA does not know they are 0, which is no error."""
    pointer, allocation = _inspected(core, call)
    asked, count = call.structures.get("attributes", {}), call.named("numAttributes") or 0
    if pointer is None and call.value(Role.INSPECTED) != 0:
        return Outcome(INVALID_VALUE)
    outputs: dict[str, Value] = {}
    for index in range(min(count, len(asked))):
        wanted = asked.get(str(index))
        word = _ATTRIBUTES.get(wanted) if isinstance(wanted, int) else None
        found = (
            None
            if pointer is None or allocation is None or word is None
            else _value(core, call, word, pointer, allocation)
        )
        none = _NO_DEVICE if word == "DEVICE_ORDINAL" else 0
        outputs[f"data.{index}"] = none if found is None else found
    return Outcome(SUCCESS, outputs)


@answers("cuPointerSetAttribute")
def _set_attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set the one attribute that can be set: whether copies and fills of this memory wait (Q-04)."""
    _, allocation = _inspected(core, call)
    value = call.setting("value")
    if allocation is None or value is None or call.named("attribute") != _SYNC_MEMOPS:
        return Outcome(INVALID_VALUE)
    allocation.sync_memops = bool(value)
    return Outcome()


@answers("cuMemGetHandleForAddressRange")
def _known_memory(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Only memory of CUDA's has attributes."""
    return Outcome(SUCCESS if _inspected(core, call)[1] is not None else INVALID_VALUE, {})


@answers("cuMemGetAddressRange")
def _address_range(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    _, allocation = _inspected(core, call)
    if allocation is None:
        return Outcome(CUDA.constants["CUDA_ERROR_NOT_FOUND"])
    return call.gives(allocation.pointer, allocation.size)


@answers("cudaHostGetFlags", "cuMemHostGetFlags")
def _host_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the flags that pinned memory was made with. All of it is mapped, under unified addressing."""
    _, allocation = _inspected(core, call)
    if allocation is None or CUDA.side(allocation.kind) is not Endpoint.PINNED:
        return Outcome(INVALID_VALUE)
    return call.gives(allocation.flags | CUDA.constants["cudaHostAllocMapped"])


@answers("cudaMemAdvise", "cuMemAdvise")
def _take_advice(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    status = range_status(core, call, call.value(Role.INSPECTED), call.value(Role.SIZE))
    return Outcome(status or advise(core, call), {})


@answers("cudaMemRangeGetAttribute", "cuMemRangeGetAttribute")
def _get_range_attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give an attribute of a managed range; devices that access it as a list."""
    allocation, wanted, size = managed_allocation(core, call), call.named("attribute"), call.named("dataSize")
    if allocation is None or wanted is None:
        return Outcome(INVALID_VALUE)
    out = call.signature.outs[0].name
    return Outcome(SUCCESS, _range_outputs(allocation, wanted, size or 4, out))


@answers("cudaMemRangeGetAttributes", "cuMemRangeGetAttributes")
def _get_range_attributes(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give several attributes of a managed range as `data.0`, ..."""
    allocation, count = managed_allocation(core, call), call.named("numAttributes") or 0
    asked, sizes = call.structures.get("attributes", {}), call.structures.get("dataSizes", {})
    if allocation is None:
        return Outcome(INVALID_VALUE)
    outputs: dict[str, Value] = {}
    for index in range(min(count, len(asked))):
        wanted, size = asked.get(str(index)), sizes.get(str(index))
        if isinstance(wanted, int):
            outputs |= _range_outputs(allocation, wanted, size if isinstance(size, int) else 4, f"data.{index}")
    return Outcome(SUCCESS, outputs)


@answers("cudaArrayGetInfo")
def _array_info(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    layout = _layout(core, call)
    fields: dict[str, Value] = {f"desc.{axis}": bits for axis, bits in zip("xyzw", layout.channels, strict=True)}
    fields |= {"desc.f": layout.format, "flags": layout.flags}
    fields |= {"extent.width": layout.width, "extent.height": layout.height, "extent.depth": layout.depth}
    return Outcome(SUCCESS, fields)


@answers("cudaGetChannelDesc")
def _channel_description(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    layout = _layout(core, call)
    return call.gives_fields({"f": layout.format} | dict(zip("xyzw", layout.channels, strict=True)))


@answers("cuArrayGetDescriptor", "cuArray3DGetDescriptor")
def _array_descriptor(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    layout = _layout(core, call)
    channels = sum(1 for bits in layout.channels if bits)
    fields: dict[str, Value] = {
        "Width": layout.width,
        "Height": layout.height,
        "Format": layout.format,
        "NumChannels": channels,
    }
    if "3D" in call.api.name:
        fields |= {"Depth": layout.depth, "Flags": layout.flags}
    return call.gives_fields(fields)


def _ordinal(allocation: Allocation) -> int:
    if allocation.pool is not None:
        return allocation.pool.ordinal
    if allocation.physical is not None:
        return allocation.physical.ordinal
    return allocation.context.ordinal if allocation.context is not None else 0


def _layout(core: ModelCore, call: Call) -> ArrayLayout:
    parameter = call.signature.first(Role.HANDLE, "array")
    value = None if parameter is None else call.values.get(parameter.name)
    allocation = core.allocation_of(call.thread, core.pointer_of(call.thread, value, call.site))
    if allocation is None or allocation.lifetime is not Lifetime.LIVE or allocation.layout is None:
        raise RefusalError(INVALID_VALUE)
    return allocation.layout


def _range_outputs(allocation: Allocation, wanted: int, size: int, name: str) -> dict[str, Value]:
    if wanted != _ACCESSED_BY:
        return {name: range_attribute(allocation, wanted)}
    count = max(size // 4, 1)
    devices = [*accessed_by(allocation)[:count], *(NOWHERE,) * count]
    return {f"{name}.{index}": devices[index] for index in range(count)}


def _value(core: ModelCore, call: Call, word: str, pointer: Pointer, allocation: Allocation) -> Value:
    """Return a CUpointer_attribute; None where this memory has none."""
    host = CUDA.side(allocation.kind) is Endpoint.PINNED
    managed = allocation.kind is MemoryKind.MANAGED
    pool = allocation.pool
    known: dict[str, Value] = {
        "MEMORY_TYPE": CUDA.constants["CU_MEMORYTYPE_HOST" if host else "CU_MEMORYTYPE_DEVICE"],
        "DEVICE_POINTER": pointer,
        "HOST_POINTER": pointer if host or managed else None,
        "SYNC_MEMOPS": int(allocation.sync_memops),
        "BUFFER_ID": allocation.generation,
        "IS_MANAGED": int(managed),
        "DEVICE_ORDINAL": _ordinal(allocation),
        "IS_LEGACY_CUDA_IPC_CAPABLE": int(allocation.kind is MemoryKind.PLAIN),
        "RANGE_START_ADDR": allocation.pointer,
        "RANGE_SIZE": allocation.size,
        "MAPPED": 1,
        "ALLOWED_HANDLE_TYPES": 0 if pool is None else pool.handle_types,
        "IS_GPU_DIRECT_RDMA_CAPABLE": 0,
        "ACCESS_FLAGS": CUDA.constants["CU_MEM_ACCESS_FLAGS_PROT_READWRITE"],
        "MEMPOOL_HANDLE": Handle("pool", 0 if pool is None else pool.handle),
        "MAPPING_SIZE": allocation.size,
        "MAPPING_BASE_ADDR": allocation.pointer,
        "MEMORY_BLOCK_ID": allocation.generation,
    }
    if word == "CONTEXT":
        return _context(allocation.context)
    return known[word]


def _context(context: Context | None) -> Value:
    # Memory of pools and mappings belongs to no context.
    return 0 if context is None else Handle("context", context.handle)
