"""How calls of the API, and structures that they are given, say how a kernel is launched: its grid and its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsan.cuda_source.device.kernel_extents import Dimensions, Launched
from streamsan.cuda_source.device.kernel_memory import Kernel
from streamsan.cuda_source.device.structures import Structures
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Operand, StructObject, Value
from streamsan.cuda_syntax.tree import Function
from streamsan.effects import Role, Signature

_WHOLE = ("gridDim", "blockDim")
_NAMES = tuple(name + axis for name in _WHOLE for axis in ("", "X", "Y", "Z"))


def of_call(structures: Structures, signature: Signature, values: Sequence[Value]) -> dict[str, Value]:
    """Return the arguments of a launch that say so, by their names; `cudaLaunchKernelExC` has them in a structure."""
    found: dict[str, Value] = {}
    for parameter, value in zip(signature.parameters, values, strict=False):
        held = structures.object_of(value) if parameter.role is Role.STRUCTURE else None
        if held is not None:
            found |= of_structure(structures, held)
        elif parameter.name in _NAMES:
            found[parameter.name] = value
    return found


def of_structure(structures: Structures, held: StructObject) -> dict[str, Value]:
    """Return the members that say so, of the parameters of a node, say."""
    members = {name: structures.member(held, name) for name in _NAMES}
    return {name: value for name, value in members.items() if value != 0}


def launched(
    machine: Machine, kernel: Kernel, named: Mapping[str, Value], function: Function | None, operands: list[Operand]
) -> Launched | None:
    """Return how a kernel is launched; None where that is not said."""
    found: list[Dimensions] = []
    for name in _WHOLE:
        parts = [named[name + axis] for axis in "XYZ" if name + axis in named]
        if name in named:
            found.append(named[name])
        elif len(parts) == 3:
            found.append((parts[0], parts[1], parts[2]))
    if len(found) != len(_WHOLE) or function is None:
        return None
    return Launched(found[0], found[1], machine.overloads.bindings_of(function, operands, kernel.given, {}))
