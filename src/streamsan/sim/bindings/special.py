"""Which functions have a way of their own; all others go through `calls.perform`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from streamsan.sim import active
from streamsan.sim.bindings import attributes, host_function_calls, kernel_launches, local
from streamsan.sim.bindings.binding_calls import error, perform, prepare
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.outputs import convert, structure_of
from streamsan.sim.bindings.plans import Plan
from streamsan.sim.bindings.structure_classes import Structure

Handler = Callable[[Plan, Sequence[object]], object]

HANDLERS: dict[str, Handler] = {
    "make_cudaExtent": local.make_extent,
    "make_cudaPos": local.make_position,
    "make_cudaPitchedPtr": local.make_pitched,
    "cudaCreateChannelDesc": local.channel_description,
    "cudaGetErrorName": local.error_name,
    "cudaGetErrorString": local.error_text,
    "cuGetErrorName": local.error_name,
    "cuGetErrorString": local.error_text,
    # -- kernels
    "cuLaunchKernel": kernel_launches.launch,
    "cuLaunchCooperativeKernel": kernel_launches.launch,
    "cuLaunchKernelEx": kernel_launches.launch_configured,
    "cudaGraphAddKernelNode": kernel_launches.kernel_node,
    "cudaGraphKernelNodeSetParams": kernel_launches.kernel_node,
    "cudaGraphExecKernelNodeSetParams": kernel_launches.kernel_node,
    "cudaGraphKernelNodeGetParams": kernel_launches.got_kernel_node,
    "cuGraphAddKernelNode": kernel_launches.kernel_node,
    "cuGraphKernelNodeSetParams": kernel_launches.kernel_node,
    "cuGraphExecKernelNodeSetParams": kernel_launches.kernel_node,
    "cuGraphKernelNodeGetParams": kernel_launches.got_kernel_node,
    # -- host functions
    "cudaLaunchHostFunc": host_function_calls.host_function,
    "cudaLaunchHostFunc_v2": host_function_calls.host_function,
    "cuLaunchHostFunc": host_function_calls.host_function,
    "cuLaunchHostFunc_v2": host_function_calls.host_function,
    "cudaStreamAddCallback": host_function_calls.stream_callback,
    "cuStreamAddCallback": host_function_calls.stream_callback,
    "cudaUserObjectCreate": host_function_calls.user_object,
    "cuUserObjectCreate": host_function_calls.user_object,
    "cudaGraphAddHostNode": host_function_calls.host_node,
    "cudaGraphHostNodeSetParams": host_function_calls.host_node,
    "cudaGraphExecHostNodeSetParams": host_function_calls.host_node,
    "cuGraphAddHostNode": host_function_calls.host_node,
    "cuGraphHostNodeSetParams": host_function_calls.host_node,
    "cuGraphExecHostNodeSetParams": host_function_calls.host_node,
    "cudaGraphAddNode": host_function_calls.any_node,
    "cudaGraphAddNode_v2": host_function_calls.any_node,
    "cudaGraphNodeSetParams": host_function_calls.any_node,
    "cudaGraphExecNodeSetParams": host_function_calls.any_node,
    "cudaGraphNodeGetParams": kernel_launches.got_kernel_node,
    "cuGraphAddNode": host_function_calls.any_node,
    "cuGraphAddNode_v2": host_function_calls.any_node,
    "cuGraphAddNode_v3": host_function_calls.any_node,
    "cuGraphNodeSetParams": host_function_calls.any_node,
    "cuGraphNodeSetParams_v2": host_function_calls.any_node,
    "cuGraphExecNodeSetParams": host_function_calls.any_node,
    "cuGraphNodeGetParams": kernel_launches.got_kernel_node,
    # -- attributes
    "cudaMemPoolSetAttribute": attributes.set_pool,
    "cuMemPoolSetAttribute": attributes.set_pool,
    "cudaMemPoolGetAttribute": attributes.get_pool,
    "cuMemPoolGetAttribute": attributes.get_pool,
    "cudaDeviceSetGraphMemAttribute": attributes.set_graph_memory,
    "cuDeviceSetGraphMemAttribute": attributes.set_graph_memory,
    "cudaDeviceGetGraphMemAttribute": attributes.get_graph_memory,
    "cuDeviceGetGraphMemAttribute": attributes.get_graph_memory,
    "cuPointerSetAttribute": attributes.set_pointer,
    "cuPointerGetAttribute": attributes.get_pointer,
    "cuPointerGetAttributes": attributes.get_pointers,
    "cudaMemRangeGetAttribute": attributes.get_range,
    "cuMemRangeGetAttribute": attributes.get_range,
    "cudaMemRangeGetAttributes": attributes.get_ranges,
    "cuMemRangeGetAttributes": attributes.get_ranges,
    "cudaIpcOpenMemHandle": attributes.ipc_handle,
    "cuIpcOpenMemHandle": attributes.ipc_handle,
    "cudaIpcOpenEventHandle": attributes.ipc_handle,
    "cuIpcOpenEventHandle": attributes.ipc_handle,
    "cudaMemPoolImportPointer": attributes.ipc_handle,
    "cuMemPoolImportPointer": attributes.ipc_handle,
}


def handler(name: str) -> Handler:
    """Return how a function is called."""
    if name in HANDLERS:
        return HANDLERS[name]
    # Here, not above: what loads programs is needed only by programs that do.
    from streamsan.sim import module_calls

    return partial(_loading, module_calls.HANDLERS[name]) if name in module_calls.HANDLERS else perform


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
