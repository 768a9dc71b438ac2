"""Launches of kernels, and nodes of graphs that are kernels: who computes them is `streamsan.sim.loaded_kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsan.sim import active
from streamsan.sim.bindings.addresses import address_of, number_of
from streamsan.sim.bindings.binding_calls import Prepared, finish, perform, prepare
from streamsan.sim.bindings.class_index import KERNEL_PARAMETERS, KeptParameters
from streamsan.sim.bindings.plans import Plan
from streamsan.sim.bindings.structure_classes import Structure

Size = tuple[int, int, int]


def _given(plan: Plan, arguments: Sequence[object], name: str) -> Any:
    return arguments[plan.position(name)]


def _attach(
    prepared: Prepared, function: object, parameters: object, extra: object, grid: Size, block: Size, shared: int
) -> int:
    """Add what a kernel is given and how it is computed to a call; return an error that the launch itself has, or 0."""
    handle = number_of(0 if function is None else function)
    session = active.session()
    with session.lock:
        launch = session.kernels.launch(handle, parameters, address_of(extra), grid=grid, block=block, shared=shared)
    if launch.status:
        return int(launch.status)
    prepared.kernel_arguments = launch.kernel_arguments
    prepared.early_arguments = launch.early_arguments
    prepared.payload = launch.payload
    return 0


# -- launches ---------------------------------------------------------------------------------------
def launch(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cuLaunchKernel` and `cuLaunchCooperativeKernel`."""
    prepared = prepare(plan, arguments)
    sizes = [int(_given(plan, arguments, name)) for name in _SIZES]
    extra = arguments[plan.position("extra")] if "extra" in _names(plan) else 0
    parameters = _given(plan, arguments, KERNEL_PARAMETERS)
    function = arguments[0]
    shared = int(_given(plan, arguments, "sharedMemBytes"))
    status = _attach(
        prepared, function, parameters, extra, (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5]), shared
    )
    return finish(plan, prepared, arguments, status)


_SIZES = ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ")


def _names(plan: Plan) -> set[str]:
    return {item.name for item in plan.entry.parameters}


def launch_configured(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cuLaunchKernelEx(config, f, kernelParams, extra)`."""
    config, function, parameters, extra = arguments
    prepared = prepare(plan, arguments)
    status = 0
    if isinstance(config, Structure):
        grid, block, shared = _sizes_of(config)
        status = _attach(prepared, function, parameters, extra, grid, block, shared)
    return finish(plan, prepared, arguments, status)


def _sizes_of(parameters: Any) -> tuple[Size, Size, int]:
    """Return grid, block and dynamic shared memory of a structure of either module."""
    if hasattr(parameters, "gridDimX"):
        sizes = [int(getattr(parameters, name)) for name in _SIZES]
        grid, block = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
    else:
        grid, block = ((int(size.x), int(size.y), int(size.z)) for size in (parameters.gridDim, parameters.blockDim))
    return grid, block, int(parameters.sharedMemBytes)


# -- nodes ------------------------------------------------------------------------------------------
def kernel_node(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """Add a kernel node, or set its parameters, in a graph or an executable graph."""
    prepared = prepare(plan, arguments)
    given = next((one for one in arguments if isinstance(one, Structure)), None)
    status = 0 if given is None else attach_node(prepared, given)
    return finish(plan, prepared, arguments, status)


def attach_node(prepared: Prepared, parameters: Structure) -> int:
    """Add kernel arguments and payload of a node's parameters; return an error or 0.

    Parameters that came from the node itself go back without any: the node keeps its own.
    """
    raw = parameters._kept(KERNEL_PARAMETERS)
    if isinstance(raw, KeptParameters):
        return 0
    grid, block, shared = _sizes_of(parameters)
    fields = parameters._fields
    function: Any = getattr(parameters, "func", None)
    if function is not None and not int(function):
        function = next((part for part in (_part(parameters, key) for key in ("kern", "cuFunc")) if part), function)
    extra = parameters._kept("extra") if "extra" in fields else 0
    return _attach(prepared, function, raw, extra, grid, block, shared)


def _part(parameters: Structure, name: str) -> int:
    value: Any = parameters._kept(name) if name in parameters._fields else 0
    return int(value)


def got_kernel_node(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """The parameters of a kernel node: those of the kernel stay with the driver."""
    found = perform(plan, arguments)
    for one in found[1:]:
        if isinstance(one, Structure):
            keep(one)
    return found


def keep(parameters: Structure) -> None:
    """Mark parameters as those that a node has."""
    for holder in (parameters, parameters._values.get("kernel")):
        if isinstance(holder, Structure) and KERNEL_PARAMETERS in holder._fields:
            holder._values[KERNEL_PARAMETERS] = KeptParameters(1)
