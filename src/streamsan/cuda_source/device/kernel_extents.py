"""How far a kernel reaches behind its pointers, also in numbers that nobody knows: `if (i < n)` is an extent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.device.picked_numbers import ROUNDS
from streamsan.cuda_source.device.unknown_extents import Bytes
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Operand,
    Scope,
    StructObject,
    Term,
    Value,
)
from streamsan.cuda_source.values.classes import PlainContext
from streamsan.cuda_source.values.frame import Frame
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Function, Type
from streamsan.kernels.behaviour import KernelBehaviour
from streamsan.kernels.thread_ranges import Reach, Three
from streamsan.kernels.unit_classes import LONGEST_ROW
from streamsan.kernels.work_item_expressions import Declared
from streamsan.model.values import Stride, Symbol
from streamsan.vocabulary import AccessMode

RUNS = 24
"""picks for which a kernel's body is gone through, which costs much; where they do not agree, the others say nothing"""

DEEPEST = 6
"""structures in structures, whose pointers are followed"""
_POINTERS = (DevicePointer, ElementPointer, CellPointer)
Interval = tuple[int, int]


class Extent(Struct, frozen=True):
    """How far a launch reaches through a pointer, or what it does to members of the elements behind it."""

    span: Symbol
    """what stands for the bytes that are touched"""
    mode: AccessMode | None = None
    """how these members are used; None: as the pointer's memory is, all of it"""
    stride: Stride | None = None
    """of members that are not all of an element"""


Dimensions = Value | tuple[Value, Value, Value]
"""A number, a `dim3`, or its parts."""


class Launched(Struct, frozen=True):
    """How a kernel is launched."""

    grid: Dimensions
    block: Dimensions
    bindings: Mapping[str, Any]
    """what its template parameters are"""

    def context(self, function: Function) -> PlainContext:
        """Return where the types of the kernel's parameters are known."""
        return PlainContext(dict(self.bindings), function.name.rpartition("::")[0])


Extents = dict[str, tuple[Extent, ...]]
"""By pointer parameters, and paths of pointers in structures; without any: nothing is touched."""


class _Leaf(Struct, frozen=True):
    """A number or a pointer that a kernel is given, by itself or in a structure."""

    value: Value
    element: CType | None
    """what a pointer points to; None: it is no pointer, or nobody knows"""


def extents_of(
    machine: Machine,
    function: Function,
    behaviour: KernelBehaviour,
    operands: Sequence[Operand],
    launched: Launched,
) -> Extents:
    """Return how far a launch reaches through each pointer of which that can be said."""
    grid, block = launched.grid, launched.block
    context = launched.context(function)
    leaves: dict[str, _Leaf] = {}
    for parameter, operand in zip(function.parameters, operands, strict=False):
        _add(machine, parameter.name, operand.held, machine.resolve_in(parameter.type, context), leaves, 0)
    pointers = {name: leaf for name, leaf in leaves.items() if isinstance(leaf.value, _POINTERS)}
    if not pointers or not behaviour.ranges.is_followed:
        return {}
    constants = {name: value for name, value in launched.bindings.items() if isinstance(value, int)}
    addresses = dict.fromkeys(pointers, True)
    addresses |= dict.fromkeys((name for name, leaf in leaves.items() if leaf.element and leaf.value == 0), False)
    declared = _declared(machine, leaves, context)
    rounds: list[Mapping[str, Reach]] = []
    given = [*_counts(grid), *_counts(block), *(leaf.value for leaf in leaves.values())]
    is_known = not any(isinstance(machine.known(each), Symbol | Term) for each in given)
    for at in range(1 if is_known else RUNS):
        blocks, threads = _three(machine, grid, at), _three(machine, block, at)
        if blocks is None or threads is None:
            return {}
        numbers = dict(constants)
        for name, leaf in leaves.items():
            if isinstance(leaf.value, int | Symbol | Term) and leaf.element is None:
                number = machine.device.extents.number(leaf.value, at)
                numbers.update({} if number is None else {name: number})
        rounds.append(behaviour.ranges.touched_by(blocks, threads, numbers, addresses, declared))
        if not rounds[0]:
            return {}  # what the first round does not say, no other one does
    found: Extents = {}
    for name, leaf in pointers.items():
        reaches = [each.get(name) for each in rounds]
        size = declared.sizes.get(name)
        if leaf.element is not None and size and any(reaches):
            extents = _extents(machine, leaf.element, size, reaches, given)
            found.update({} if extents is None else {name: extents})
    return found


def _add(machine: Machine, path: str, value: Value, type: CType, leaves: dict[str, _Leaf], depth: int) -> None:
    """Add what a kernel is given at a path; of objects and arrays their parts, by their paths."""
    if isinstance(value, StructObject):
        if value.cls is None or depth > DEEPEST:
            return
        for declared, of in machine.objects.all_fields(value.cls):
            cell = machine.objects.field(value, declared.name)
            if cell is not None:
                _add(machine, f"{path}.{declared.name}", cell.value, of, leaves, depth + 1)
    elif isinstance(value, ArrayObject):
        for number, cell in list(value.cells.items())[:LONGEST_ROW]:
            _add(machine, f"{path}.{number}", cell.value, value.element or cell.type, leaves, depth)
    elif isinstance(value, LibraryObject):
        for part in value.parts():
            if isinstance(part, ArrayObject):
                _add(machine, path, part, type, leaves, depth)
    else:
        leaves[path] = _Leaf(value, type.element() if type.pointers == 1 and not type.array else None)


def _extents(
    machine: Machine, element: CType, size: int, reaches: Sequence[Reach | None], given: Sequence[Value]
) -> tuple[Extent, ...] | None:
    """Return what is touched behind one pointer; None where nobody knows. `reaches`: in each round."""
    if all(each is not None and each.begin == each.end for each in reaches):
        return ()
    stride = None
    if any(each is not None and each.rows is not None for each in reaches):
        stride = _stride(reaches)
        if stride is None:
            return None
    pieces: Mapping[Interval, AccessMode | None] | None = {(0, size): None}
    if not all(each is None or each.is_whole for each in reaches):
        ways = {(each.read, each.written) for each in reaches if each is not None}
        pieces = _pieces(machine, element, *ways.pop()) if len(ways) == 1 else None
    if pieces is None:
        return None
    found = []
    for (begin, end), mode in pieces.items():
        touched = [_bytes(each, size, begin, end) for each in reaches]
        touched += [touched[0] if len(set(touched)) == 1 else None] * (ROUNDS - len(touched))
        span = machine.device.extents.span(touched, given)
        if span is None:
            return None
        found.append(Extent(span, mode, Stride(end - begin, size) if end - begin < size else stride))
    return tuple(found)


def _stride(reaches: Sequence[Reach | None]) -> Stride | None:
    """Return the rows that a launch touches, where they are the same whatever the unknown numbers are."""
    ways = {None if each is None else (each.rows, each.is_whole) for each in reaches}
    rows, is_whole = next(iter(ways)) or (None, False)
    if len(ways) != 1 or rows is None or not is_whole:
        return None
    begins = {each.begin % rows.pitch for each in reaches if each is not None}
    return Stride(rows.width, rows.pitch) if len(begins) == 1 else None


def _pieces(
    machine: Machine, element: CType, read: Iterable[str], written: Iterable[str]
) -> dict[Interval, AccessMode] | None:
    """Return how the bytes of an element are used, in pieces that are used alike; None where nobody knows."""
    ways = [(path, AccessMode.READ) for path in read] + [(path, AccessMode.WRITE) for path in written]
    places: list[tuple[Interval, AccessMode]] = []
    for path, way in ways:
        place = _member(machine, element, path)
        if place is None:
            return None
        places.append((place, way))
    cuts = sorted({edge for place, _ in places for edge in place})
    pieces: list[tuple[int, int, int]] = []
    for begin, end in pairwise(cuts):
        mode = 0
        for place, way in places:
            mode |= way if place[0] <= begin and end <= place[1] else 0
        if pieces and pieces[-1][1:] == (begin, mode):
            pieces[-1] = (pieces[-1][0], end, mode)
        elif mode:
            pieces.append((begin, end, mode))
    return {(begin, end): AccessMode(mode) for begin, end, mode in pieces}


def _member(machine: Machine, type: CType, path: str) -> Interval | None:
    """Return the bytes of a member, by its path, in an object of a type; all of the object for no path."""
    begin, size = 0, None if type.array else machine.objects.size_of(type)
    for name in path.split(".") if path else ():
        cls = None if type.pointers or type.array else machine.program.class_of(type, machine.frame)
        place = None if cls is None else machine.objects.place_of(cls, name)
        if cls is None or place is None:
            return None
        field = next(of for field, of in machine.objects.all_fields(cls) if field.name == name)
        begin, size, type = begin + place[0], None if field.array else place[1], field
    return (begin, begin + size) if size else None


def _declared(machine: Machine, leaves: Mapping[str, _Leaf], context: PlainContext) -> Declared:
    elements = {name: leaf.element for name, leaf in leaves.items() if leaf.element is not None}
    sizes = {name: machine.objects.size_of(element) for name, element in elements.items()}

    def size_behind(type: Type) -> int | None:
        return machine.objects.size_of(machine.resolve_in(type, context).element())

    def constant(name: str) -> int | None:
        with machine.entered(Frame("", Scope(machine.globals), namespace=context.namespace)):
            return machine.names.constant(name)

    known = {name: size for name, size in sizes.items() if size}
    return Declared(known, size_behind, constant, repr(context.bindings))


def _bytes(reach: Reach | None, size: int, begin: int, end: int) -> Bytes:
    """Return the bytes from those of the first element to those of the last one; they are those of each element."""
    if reach is None or reach.begin >= reach.end:
        return None
    return (reach.begin + begin, reach.end - size + end)


def _counts(value: Dimensions) -> list[Value]:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, StructObject):
        return [value.fields[name].value if name in value.fields else 1 for name in "xyz"]
    return [value, 1, 1]


def _three(machine: Machine, value: Dimensions, at: int) -> Three | None:
    """Return the counts along the three axes in one round; None where one is not known, or makes no launch."""
    found = [machine.device.extents.number(part, at) for part in _counts(value)]
    x, y, z = found
    if x is None or y is None or z is None or min(x, y, z) <= 0:
        return None
    return x, y, z
