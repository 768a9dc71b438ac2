"""Functions of the host that streams and graphs call: C function pointers, as ctypes makes them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from streamsan.model.statuses import INVALID_VALUE
from streamsan.sim.bindings.addresses import address_of, number_of
from streamsan.sim.bindings.binding_calls import Prepared, finish, prepare, refused
from streamsan.sim.bindings.kernel_launches import attach_node
from streamsan.sim.bindings.plans import Plan
from streamsan.sim.bindings.structure_classes import Structure
from streamsan.sim.executor.host_bytes import is_mapped

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
KERNEL_NODE, HOST_NODE = 0, 3


def host_body(function: object, data: object) -> Callable[[], None] | None:
    """Return what calls a host function; None if there is no code at its address."""
    return _body(function, data, lambda address, argument: _HOST_FUNCTION(address)(argument))


def _body(function: object, data: object, call: Callable[[int, int], None]) -> Callable[[], None] | None:
    address = number_of(0 if function is None else function)
    if not is_mapped(address, 1):
        return None
    argument = address_of(data)

    # The objects that the program gave live as long as the body does, as far as it does not free the code itself.
    def body(owners: tuple[object, object] = (function, data)) -> None:
        call(address, argument)

    return body


def host_function(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaLaunchHostFunc(stream, fn, userData)`, `cuLaunchHostFunc`."""
    body = host_body(arguments[1], arguments[2])
    return _with_body(plan, prepare(plan, arguments), arguments, body)


def stream_callback(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaStreamAddCallback(stream, callback, userData, flags)`, `cuStreamAddCallback`."""
    stream = number_of(0 if arguments[0] is None else arguments[0])
    body = _body(arguments[1], arguments[2], lambda address, argument: _CALLBACK(address)(int(stream), 0, argument))
    return _with_body(plan, prepare(plan, arguments), arguments, body)


def user_object(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaUserObjectCreate(ptr, destroy, initialRefcount, flags)`: `destroy` is called with `ptr` at the end."""
    body = host_body(arguments[1], arguments[0])
    return _with_body(plan, prepare(plan, arguments), arguments, body)


def host_node(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """Add a host node, or set its parameters, in a graph or an executable graph."""
    prepared = prepare(plan, arguments)
    given = next((one for one in arguments if isinstance(one, Structure)), None)
    if given is None:
        return finish(plan, prepared, arguments)
    return _with_body(plan, prepared, arguments, _node_body(given))


def any_node(plan: Plan, arguments: Sequence[object]) -> tuple[object, ...]:
    """`cudaGraphAddNode` and its like: the parameters of a node of any type."""
    prepared = prepare(plan, arguments)
    given: Any = next((one for one in arguments if isinstance(one, Structure) and "kernel" in one._fields), None)
    kind = int(given.type) if given is not None else -1
    if kind == KERNEL_NODE and (status := attach_node(prepared, given.kernel)):
        return refused(plan, status)
    if kind == HOST_NODE:
        return _with_body(plan, prepared, arguments, _node_body(given.host))
    return finish(plan, prepared, arguments)


def _node_body(parameters: Any) -> Callable[[], None] | None:
    return host_body(parameters.fn, parameters.userData)


def _with_body(
    plan: Plan, prepared: Prepared, arguments: Sequence[object], body: Callable[[], None] | None
) -> tuple[object, ...]:
    prepared.payload = body
    return finish(plan, prepared, arguments, INVALID_VALUE if body is None else 0)
