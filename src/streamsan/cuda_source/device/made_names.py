"""What memory and streams are called that a function makes and hands out: as the variable that takes them.

A call names what it makes after the variable that it is given. Where that is a local of a function that has returned,
its name means nothing to a reader of the code that uses the memory, and several blocks may have it. Such a block, or
stream, gets another name at its first use after that: that of the variable which holds it then, in the function that
called the one that made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.device.source_sites import LONGEST_TEXT
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Scope,
    StructObject,
    Value,
    cell_name,
)
from streamsan.cuda_source.values.frame import Frame
from streamsan.cuda_syntax.tree import Assign, Call, Cast, Expression, ExpressionStatement, Statement, Variable
from streamsan.model.values import Handle, Pointer
from streamsan.vocabulary import OperationKind

MOST_LOOKED_AT = 512
"""variables, members and elements of one function"""
MOST_SEARCHES = 4
"""for one block that no variable holds"""
DEEPEST = 4
_MAKES = (OperationKind.ALLOC, OperationKind.STREAM_CREATE, OperationKind.EVENT_CREATE, OperationKind.HANDLE_CREATE)

_Held = tuple[str, Any, int]
"""a name, a cell or value, and how deep inside a variable it is"""
Key = int | Handle
"""the generation of memory, or a stream"""


class _Made(Struct):
    """Something that a call made, under the name of a variable of a function that has not returned."""

    slots: tuple[int, int]
    site: int
    frames: list[Frame]
    """the functions that were running, up to the variable's own"""
    searches: int = 0


class MadeNames:
    """The names of what one path makes, as long as they may change."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._open: dict[Key, _Made] = {}
        self._returned: tuple[Handle | Pointer, _Made, Call] | None = None

    def made(self, first_slot: int, site: int, target: Value, outputs: list[Any]) -> None:
        """Note what a call made: the slots from `first_slot` on are its own."""
        frames = self.machine.frames
        for made in outputs:
            key = _key(made)
            if key is not None:
                held_in = _frame_of(target, frames)
                last = self.machine.device.builder.lengths.slots
                self._open[key] = _Made((first_slot, last), site, frames[: held_in + 1])

    def returned(self, first_slot: int, site: int, made: Handle | Pointer, node: Call) -> None:
        """Note what a call made and returned: the statement that it stands in says in which variable it is kept."""
        last = self.machine.device.builder.lengths.slots
        device = self.machine.device
        if not device.builder.site_at(site).label and not device.sites.is_wrappers(self.machine.frame.declaration):
            self._returned = (made, _Made((first_slot, last), site, list(self.machine.frames)), node)

    def stored(self, statement: Statement) -> None:
        """A statement ends; if it kept what a call returned in a variable, that is its name."""
        if self._returned is None:
            return
        (value, made, node), self._returned = self._returned, None
        name = ""
        if isinstance(statement, Variable) and _is_result(statement.initializer, node):
            name = statement.name
        elif isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Assign):
            assigned = statement.expression
            if assigned.operator == "=" and _is_result(assigned.value, node):
                name = self.machine.device.sites.text(assigned.target.span)
        if name:
            self._rename(made, name)
            key = _key(value)
            if key is not None:
                self._open[key] = made

    def used(self, value: Value) -> None:
        """Something is used: if the variable that it is named after is gone, find the one that holds it now."""
        if not self._open:
            return
        key = _key(value)
        made = self._open.get(key) if key is not None else None
        if key is None or made is None:
            return
        frames = self.machine.frames
        running = [frame for frame in made.frames if any(frame is other for other in frames)]
        if not running or running[-1] is made.frames[-1]:
            return
        for count in range(len(running), 0, -1):
            name = _holder(_held_in_reach(running[count - 1]), key)
            if name:
                self._rename(made, name)
                made.frames = running[:count]
                made.searches = 0
                return
        scopes = self.machine.all_globals()
        name = _holder([(name, cell, 0) for scope in scopes for name, cell in _cells(scope)], key)
        if name:
            self._rename(made, name)
            del self._open[key]
            return
        made.searches += 1
        if made.searches >= MOST_SEARCHES:
            del self._open[key]

    def _rename(self, made: _Made, name: str) -> None:
        made.site = self.machine.device.builder.rename(made.slots, _MAKES, made.site, name[:LONGEST_TEXT])


def _is_result(expression: Expression | None, node: Call) -> bool:
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression is node


def _key(value: Any) -> Key | None:
    if isinstance(value, DevicePointer):
        value = value.pointer
    if isinstance(value, Pointer):
        return value.generation
    return value if isinstance(value, Handle) and value.type == "stream" else None


def _frame_of(target: Value, frames: list[Frame]) -> int:
    """Return which function's variable an out-argument points into; the innermost one's if it is no variable's."""
    cell = target.cell if isinstance(target, CellPointer) else None
    if isinstance(target, ElementPointer):
        cell = target.array.cell
    root = cell
    while root is not None and root.owner is not None and root.owner.cell is not None:
        root = root.owner.cell
    if root is not None:
        for position, frame in enumerate(frames):
            if any(held is root for _, held in _variables(frame)):
                return position
    return len(frames) - 1


def _variables(frame: Frame) -> Iterator[tuple[str, Cell]]:
    """Yield the variables of a function that are visible where it is, the innermost first."""
    scope = frame.scope
    while True:
        yield from _cells(scope)
        if scope is frame.outermost or scope.parent is None:
            break
        scope = scope.parent


def _cells(scope: Scope) -> Iterator[tuple[str, Cell]]:
    for name, cell in scope.names.items():
        if isinstance(cell, Cell):
            yield name, cell


def _held_in_reach(frame: Frame) -> list[_Held]:
    """Return the variables in reach of a function, and the members of its object."""
    held: list[_Held] = [(name, cell, 0) for name, cell in _variables(frame)]
    if frame.this is not None:
        outer = cell_name(frame.this)
        held.extend((f"{outer}.{name}" if outer else name, cell, 1) for name, cell in _fields(frame.this.value))
    return held


def _holder(held: list[_Held], key: Key) -> str:
    """Return the name of the variable, member or element among some, or behind them, that holds something, or ""."""
    for position, (name, part, depth) in enumerate(held):
        if position >= MOST_LOOKED_AT:
            break
        value = part.value if isinstance(part, Cell) else part
        if _is_start(value) and _key(value) == key:
            return name
        if depth < DEEPEST:
            held.extend((inner, inside, depth + 1) for inner, inside in _parts(name, value))
    return ""


def _is_start(value: Any) -> bool:
    return not isinstance(value, DevicePointer) or value.pointer.address == value.pointer.base


def _fields(value: Value) -> list[tuple[str, Cell]]:
    return list(value.fields.items()) if isinstance(value, StructObject) else []


def _parts(name: str, value: Value) -> Iterator[tuple[str, Any]]:
    """Yield what is inside a variable, as the program would write it."""
    if isinstance(value, StructObject):
        for field, cell in value.fields.items():
            yield f"{name}.{field}", cell
    elif isinstance(value, ArrayObject):
        for key, cell in value.cells.items():
            yield (f"{name}[{key}]" if isinstance(key, int) else name), cell
    elif isinstance(value, CellPointer) and isinstance(value.cell.value, StructObject):
        for field, cell in value.cell.value.fields.items():
            yield f"{name}->{field}", cell
    elif isinstance(value, LibraryObject):
        for part in value.parts():
            own = part.name if isinstance(part, Cell) else ""
            if "[" in own and name.endswith("]"):
                # A map's entry: its key says more than its place in the map.
                own = name[: name.rindex("[")] + own[own.index("[") :]
            yield (own if own.startswith(name.rpartition("[")[0] or name) else name), part
