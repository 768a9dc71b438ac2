"""Which functions have a way of their own; all others go through `calls.perform`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from streamsan.sim import active
from streamsan.sim.bindings import attributes, graph_pictures, host_function_calls, kernel_launches, local
from streamsan.sim.bindings.binding_calls import error, perform, prepare
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.outputs import convert, structure_of
from streamsan.sim.bindings.plans import Plan
from streamsan.sim.bindings.structure_classes import Structure

Handler = Callable[[Plan, Sequence[object]], object]

_OF_BOTH: dict[Handler, str] = {
    local.about_error: "GetErrorName GetErrorString",
    kernel_launches.kernel_node: "GraphAddKernelNode GraphKernelNodeSetParams GraphExecKernelNodeSetParams",
    kernel_launches.got_kernel_node: "GraphKernelNodeGetParams GraphNodeGetParams",
    host_function_calls.host_function: "LaunchHostFunc LaunchHostFunc_v2",
    host_function_calls.stream_callback: "StreamAddCallback",
    host_function_calls.user_object: "UserObjectCreate",
    host_function_calls.host_node: "GraphAddHostNode GraphHostNodeSetParams GraphExecHostNodeSetParams",
    host_function_calls.any_node: "GraphAddNode GraphAddNode_v2 GraphNodeSetParams GraphExecNodeSetParams",
    attributes.set_pool: "MemPoolSetAttribute",
    attributes.get_pool: "MemPoolGetAttribute",
    attributes.set_graph_memory: "DeviceSetGraphMemAttribute",
    attributes.get_graph_memory: "DeviceGetGraphMemAttribute",
    attributes.get_range: "MemRangeGetAttribute",
    attributes.get_ranges: "MemRangeGetAttributes",
    graph_pictures.print_graph: "GraphDebugDotPrint",
    attributes.ipc_handle: "IpcOpenMemHandle IpcOpenEventHandle MemPoolImportPointer",
}
"""functions of both modules, without `cuda` or `cu` before their names"""
_OF_ONE: dict[Handler, str] = {
    local.from_numbers: " ".join(local.FROM_NUMBERS),
    kernel_launches.launch: "cuLaunchKernel cuLaunchCooperativeKernel",
    kernel_launches.launch_configured: "cuLaunchKernelEx",
    host_function_calls.any_node: "cuGraphAddNode_v3 cuGraphNodeSetParams_v2",
    attributes.set_pointer: "cuPointerSetAttribute",
    attributes.get_pointer: "cuPointerGetAttribute",
    attributes.get_pointers: "cuPointerGetAttributes",
}
HANDLERS: dict[str, Handler] = {
    **{prefix + name: one for one, names in _OF_BOTH.items() for name in names.split() for prefix in ("cuda", "cu")},
    **{name: one for one, names in _OF_ONE.items() for name in names.split()},
}


def handler(name: str) -> Handler:
    """Return how a function is called."""
    if name in HANDLERS:
        return HANDLERS[name]
    # Here, not above: what loads programs is needed only by programs that do.
    from streamsan.sim import function_calls, module_calls

    loading = module_calls.HANDLERS.get(name) or function_calls.HANDLERS.get(name)
    return perform if loading is None else partial(_loading, loading)


def _loading(load: Callable[..., tuple[Any, ...]], plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """A call about modules, libraries, kernels and functions."""
    prepare(plan, arguments)
    status, *found = load(active.session(), *arguments)
    if status:
        return error(plan.module, status), *(None for _ in plan.returned)
    results = [_loaded(plan, item.word, value) for (item, _), value in zip(plan.returned, found, strict=True)]
    return error(plan.module, 0), *results


def _loaded(plan: Plan, word: str, value: Any) -> object:
    if word in ("bytes", "float"):
        return value
    kind: Any = find(plan.module, word.removeprefix("list[").removesuffix("]"))
    if isinstance(value, list):
        return [convert(kind, one) for one in value]
    if isinstance(value, dict) and issubclass(kind, Structure):
        return structure_of(kind, "it", {f"it.{key}": part for key, part in value.items()})
    return convert(kind, value) if not isinstance(value, bytes) else value
