"""How far a kernel reaches behind its pointers, also in numbers that nobody knows: `if (i < n)` is an extent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from streamsan.cuda_source.device.picked_numbers import ROUNDS
from streamsan.cuda_source.device.unknown_extents import Bytes
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import CellPointer, DevicePointer, ElementPointer, Operand, StructObject, Term, Value
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Function, Parameter
from streamsan.kernels.thread_ranges import Reach, Three
from streamsan.model.values import Stride, Symbol
from streamsan.vocabulary import AccessMode

RUNS = 24
"""picks for which a kernel's body is gone through, which costs much; where they do not agree, the others say nothing"""

Interval = tuple[int, int]


class Extent(Struct, frozen=True):
    """How far a launch reaches through a pointer, or what it does to members of the elements behind it."""

    span: Symbol
    """what stands for the bytes that are touched"""
    mode: AccessMode | None = None
    """how these members are used; None: as the pointer's memory is, all of it"""
    stride: Stride | None = None
    """of members that are not all of an element"""


Extents = dict[str, tuple[Extent, ...]]
"""By pointer parameters."""


def extents_of(
    machine: Machine, function: Function | None, operands: Sequence[Operand], grid: Value, block: Value
) -> Extents:
    """Return how far a launch reaches through each pointer of which that can be said."""
    kernels = machine.relevance.kernels
    if function is None or not kernels.may_be_followed(function):
        return {}
    if not any(isinstance(each.held, DevicePointer | ElementPointer | CellPointer) for each in operands):
        return {}
    given = dict(zip((each.name for each in function.parameters), operands, strict=False))
    sizes = {each.name: _element(machine, each) for each in function.parameters}
    rounds: list[Mapping[str, Reach]] = []
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
    for parameter in function.parameters:
        reaches = [each.get(parameter.name) for each in rounds]
        if sizes[parameter.name] and any(reaches):
            found[parameter.name] = _extents(machine, parameter, reaches, given_numbers)
    return found


def _extents(
    machine: Machine, parameter: Parameter, reaches: Sequence[Reach | None], given: Sequence[Value]
) -> tuple[Extent, ...]:
    """Return what is touched behind one pointer. `reaches`: in each round."""
    size = _element(machine, parameter)
    pieces: Mapping[Interval, AccessMode | None] | None = {(0, size): None}
    if not all(each is None or each.is_whole for each in reaches):
        ways = {(each.read, each.written) for each in reaches if each is not None}
        pieces = _pieces(machine, parameter, *ways.pop()) if len(ways) == 1 else None
    found = []
    for (begin, end), mode in (pieces or {}).items():
        touched = [_bytes(each, size, begin, end) for each in reaches]
        touched += [touched[0] if len(set(touched)) == 1 else None] * (ROUNDS - len(touched))
        span = machine.device.extents.span(touched, given)
        if span is None:
            return ()
        found.append(Extent(span, mode, Stride(end - begin, size) if end - begin < size else None))
    return tuple(found)


def _pieces(
    machine: Machine, parameter: Parameter, read: Iterable[str], written: Iterable[str]
) -> dict[Interval, AccessMode] | None:
    """Return how the bytes of an element are used, in pieces that are used alike; None where nobody knows."""
    type = machine.resolve(parameter.type).element()
    ways = [(path, AccessMode.READ) for path in read] + [(path, AccessMode.WRITE) for path in written]
    places = [(_member(machine, type, path), mode) for path, mode in ways]
    cuts = sorted({edge for place, _ in places if place is not None for edge in place})
    pieces: list[tuple[int, int, int]] = []
    for begin, end in pairwise(cuts):
        mode = 0
        for place, way in places:
            if place is None:
                return None
            mode |= way if place[0] <= begin and end <= place[1] else 0
        if pieces and pieces[-1][1:] == (begin, mode):
            pieces[-1] = (pieces[-1][0], end, mode)
        elif mode:
            pieces.append((begin, end, mode))
    return {(begin, end): AccessMode(mode) for begin, end, mode in pieces}


def _member(machine: Machine, type: CType, path: str) -> Interval | None:
    """Return the bytes of a member, by its path, in an object of a type; all of the object for no path."""
    begin = 0
    for name in path.split(".") if path else ():
        cls = None if type.pointers or type.array else machine.program.class_of(type, machine.frame)
        if cls is None:
            return None
        offset = machine.objects.offset_of(cls, name)
        field = next((of for field, of in machine.objects.all_fields(cls) if field.name == name), None)
        if offset is None or field is None:
            return None
        begin, type = begin + offset, field
    size = None if type.array else machine.objects.size_of(type)
    return (begin, begin + size) if size else None


def _element(machine: Machine, parameter: Parameter) -> int:
    """Return the size of what a pointer parameter points to; 0: it is no pointer, or nobody knows."""
    if parameter.type.pointers != 1 or parameter.type.array:
        return 0
    return machine.objects.size_of(machine.resolve(parameter.type).element()) or 0


def _bytes(reach: Reach | None, size: int, begin: int, end: int) -> Bytes:
    """Return the bytes from those of the first element to those of the last one; they are those of each element."""
    if reach is None or reach.begin >= reach.end:
        return None
    return (reach.begin * size + begin, (reach.end - 1) * size + end)


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
