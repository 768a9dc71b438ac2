"""Attributes whose value has a type of its own for each attribute: `void *` in C, one Python type or another here.

A setter passes the value to the model as `structures["value"] = {"value": number}`; a getter's result comes as the
out-parameter's own output, a list as `data.0`, `data.1`, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from streamsan.model.values import Value
from streamsan.sim.bindings import ipc
from streamsan.sim.bindings.addresses import number_of
from streamsan.sim.bindings.arguments import PRESENT
from streamsan.sim.bindings.binding_calls import Prepared, answered, finish, prepare
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.handle_classes import model_handle
from streamsan.sim.bindings.outputs import convert, plain
from streamsan.sim.bindings.plans import Plan
from streamsan.sim.bindings.structure_classes import Structure

POOL_COUNTERS = frozenset({4, 5, 6, 7, 8})
"""Attributes of pools that are cuuint64_t; the others are int. `MAX_POOL_SIZE` has a number of its own by version."""

POINTER_CLASSES = {
    "CU_POINTER_ATTRIBUTE_CONTEXT": "CUcontext",
    "CU_POINTER_ATTRIBUTE_DEVICE_POINTER": "CUdeviceptr",
    "CU_POINTER_ATTRIBUTE_RANGE_START_ADDR": "CUdeviceptr",
    "CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR": "CUdeviceptr",
    "CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE": "CUmemoryPool",
    "CU_POINTER_ATTRIBUTE_P2P_TOKENS": "CUDA_POINTER_ATTRIBUTE_P2P_TOKENS",
}
POINTER_FLAGS = frozenset(
    {
        "CU_POINTER_ATTRIBUTE_SYNC_MEMOPS",
        "CU_POINTER_ATTRIBUTE_IS_MANAGED",
        "CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE",
        "CU_POINTER_ATTRIBUTE_MAPPED",
        "CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE",
    }
)
ACCESSED_BY = 3
"""the attribute of a memory range that is a list of devices"""


def is_counter(attribute: object) -> bool:
    """Tell whether an attribute of a pool is a cuuint64_t."""
    name = attribute.name if isinstance(attribute, IntEnum) else ""
    return int(attribute) in POOL_COUNTERS or name.lower().endswith(("max_pool_size", "maxpoolsize"))  # type: ignore[call-overload]


def _set(plan: Plan, arguments: Sequence[object], value: Value) -> tuple[object, ...]:
    shortened = list(arguments)
    at = plan.position("value")
    shortened[at] = None
    prepared = prepare(plan, shortened)
    for index, slot in enumerate(plan.slots):
        if slot.argument == at:
            prepared.values[index] = PRESENT
            prepared.structures[slot.name] = {"value": value}
    return finish(plan, prepared, shortened)


def set_pool(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaMemPoolSetAttribute(memPool, attr, value)`, `cuMemPoolSetAttribute`."""
    attribute, value = arguments[plan.position("attr")], arguments[plan.position("value")]
    return _set(plan, arguments, _typed_number(value) if is_counter(attribute) else number_of(value))


def set_graph_memory(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaDeviceSetGraphMemAttribute(device, attr, value)`, `cuDeviceSetGraphMemAttribute`."""
    return _set(plan, arguments, _typed_number(arguments[plan.position("value")]))


def _typed_number(value: Any) -> int:
    """Return the number in a cuuint64_t. As in cuda.bindings a plain int is refused: it has no `getPtr`."""
    value.getPtr()
    return number_of(value)


def set_pointer(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cuPointerSetAttribute(value, attribute, ptr)`."""
    value = arguments[plan.position("value")]
    return _set(plan, arguments, number_of(value) if hasattr(type(value), "__int__") else PRESENT)


def _single(plan: Plan, arguments: Sequence[object], kind: str | type | None) -> tuple[object, ...]:
    """Make the call and give its one result a class."""
    name = plan.returned[0][1]
    return answered(plan, arguments, lambda outputs: _classed(plan, kind, outputs.get(name)))


def _classed(plan: Plan, kind: str | type | None, value: Value) -> object:
    if isinstance(kind, str):
        return convert(find(plan.module, kind), value)
    return kind(plain(value)) if kind is not None else plain(value)


def get_pool(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaMemPoolGetAttribute(memPool, attr)`, `cuMemPoolGetAttribute`."""
    return _single(plan, arguments, "cuuint64_t" if is_counter(arguments[plan.position("attr")]) else None)


def get_graph_memory(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaDeviceGetGraphMemAttribute(device, attr)`, `cuDeviceGetGraphMemAttribute`."""
    return _single(plan, arguments, "cuuint64_t")


def get_pointer(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cuPointerGetAttribute(attribute, ptr)`."""
    return _single(plan, arguments, _pointer_kind(arguments[plan.position("attribute")]))


def _pointer_kind(attribute: object) -> str | type | None:
    kind: Any = find("driver", "CUpointer_attribute")
    name = kind(int(attribute)).name  # type: ignore[call-overload]
    return bool if name in POINTER_FLAGS else POINTER_CLASSES.get(name)


def get_pointers(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cuPointerGetAttributes(numAttributes, attributes, ptr)`."""
    asked: Any = arguments[plan.position("attributes")] or []
    count: Any = arguments[plan.position("numAttributes")]
    return answered(
        plan,
        arguments,
        lambda outputs: [
            _classed(plan, _pointer_kind(attribute), outputs.get(f"data.{index}"))
            for index, attribute in enumerate(asked[: int(count)])
        ],
    )


def get_range(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaMemRangeGetAttribute(dataSize, attribute, devPtr, count)`, `cuMemRangeGetAttribute`."""
    size: Any = arguments[plan.position("dataSize")]
    attribute: Any = arguments[plan.position("attribute")]
    return answered(plan, arguments, lambda outputs: _range(outputs, "data", int(attribute), int(size)))


def get_ranges(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaMemRangeGetAttributes(dataSizes, attributes, numAttributes, devPtr, count)`, `cuMemRangeGetAttributes`."""
    sizes: Any = arguments[plan.position("dataSizes")]
    asked: Any = arguments[plan.position("attributes")] or []
    return answered(
        plan,
        arguments,
        lambda outputs: [
            _range(outputs, f"data.{index}", int(attribute), int(sizes[index])) for index, attribute in enumerate(asked)
        ],
    )


def _range(outputs: Mapping[str, Value], name: str, attribute: int, size: int) -> object:
    if attribute != ACCESSED_BY:
        return plain(outputs.get(name))
    return [plain(outputs.get(f"{name}.{index}", -2)) for index in range(size // 4)]


def ipc_handle(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """The calls that take an IPC handle by value: a structure here, a handle to the model."""
    prepared: Prepared = prepare(plan, arguments)
    for index, slot in enumerate(plan.slots):
        given = arguments[slot.argument] if slot.argument is not None else None
        if isinstance(given, Structure):
            fields = ipc.read(given)
            identity = fields.get("identity", 0)
            prepared.values[index] = model_handle(identity if isinstance(identity, int) else 0, "ipc")
            prepared.structures[slot.name] = fields
    return finish(plan, prepared, arguments)
