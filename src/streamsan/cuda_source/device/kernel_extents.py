"""How far a kernel reaches behind its pointers, also in numbers that nobody knows: `if (i < n)` is an extent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsan.cuda_source.device.picked_numbers import ROUNDS
from streamsan.cuda_source.device.unknown_extents import Bytes
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import DevicePointer, Operand, StructObject, Term, Value
from streamsan.cuda_syntax.tree import Function, Parameter
from streamsan.kernels.thread_ranges import Three
from streamsan.model.values import Symbol

RUNS = 24
"""picks for which a kernel's body is gone through, which costs much; where they do not agree, the others say nothing"""

Extents = dict[str, Symbol]
"""what stands for the bytes that are touched, by pointer parameters"""


def extents_of(
    machine: Machine, function: Function | None, operands: Sequence[Operand], grid: Value, block: Value
) -> Extents:
    """Return how far a launch reaches through each pointer of which that can be said."""
    kernels = machine.relevance.kernels
    if function is None or not kernels.may_be_followed(function):
        return {}
    if not any(isinstance(each.held, DevicePointer) for each in operands):
        return {}
    given = dict(zip((each.name for each in function.parameters), operands, strict=False))
    sizes = {each.name: _element(machine, each) for each in function.parameters}
    rounds: list[Mapping[str, tuple[int, int]]] = []
    given_numbers = [*_counts(grid), *_counts(block), *(each.held for each in operands)]
    is_known = not any(isinstance(machine.known(each), Symbol | Term) for each in given_numbers)
    for at in range(1 if is_known else RUNS):
        blocks, threads = _three(machine, grid, at), _three(machine, block, at)
        if blocks is None or threads is None:
            return {}
        numbers = {}
        for name, operand in given.items():
            value = operand.held
            number = machine.device.extents.number(value, at) if isinstance(value, int | Symbol | Term) else None
            if number is not None and not sizes[name]:
                numbers[name] = number
        rounds.append(kernels.touched_by(function, blocks, threads, numbers))
    found: Extents = {}
    for name, size in sizes.items():
        if not size or not any(name in each for each in rounds):
            continue
        touched: list[Bytes] = [_bytes(each.get(name), size) for each in rounds]
        touched += [touched[0] if len(set(touched)) == 1 else None] * (ROUNDS - len(touched))
        span = machine.device.extents.span(touched, given_numbers)
        if span is not None:
            found[name] = span
    return found


def _element(machine: Machine, parameter: Parameter) -> int:
    """Return the size of what a pointer parameter points to; 0: it is no pointer, or nobody knows."""
    if parameter.type.pointers != 1 or parameter.type.array:
        return 0
    return machine.objects.size_of(machine.resolve(parameter.type).element()) or 0


def _bytes(elements: tuple[int, int] | None, size: int) -> Bytes:
    return None if elements is None or elements[0] >= elements[1] else (elements[0] * size, elements[1] * size)


def _counts(value: Value) -> list[Value]:
    if isinstance(value, StructObject):
        return [value.fields[name].value if name in value.fields else 1 for name in "xyz"]
    return [value, 1, 1]


def _three(machine: Machine, value: Value, at: int) -> Three | None:
    """Return the counts along the three axes in one round; None where one is not known, or makes no launch."""
    found = [machine.device.extents.number(part, at) for part in _counts(value)]
    x, y, z = found
    if x is None or y is None or z is None or min(x, y, z) <= 0:
        return None
    return x, y, z
