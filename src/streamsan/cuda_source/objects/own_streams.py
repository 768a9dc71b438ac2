"""Streams of objects that nobody saw being made: which of them are surely different streams.

A method that is run on its own meets an unknown object. Its members `a` and `b` may be one stream, unless the program's
text says that each is made by a call of its own (`program.created_streams`). So may the elements of an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from streamsan.cuda_source.program.created_streams import STREAM_TYPES, CreatedStreams
from streamsan.cuda_source.values.cells import ArrayObject, Cell, LibraryObject, StructObject, cell_name
from streamsan.cuda_source.values.classes import ClassInfo
from streamsan.model.values import Symbol

if TYPE_CHECKING:
    from streamsan.cuda_source.machine import Machine

GLOBALS = 1
"""the number of what the program's global variables hold: they are no object's"""


class OwnStreams:
    """Those of one path."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._wholes: dict[int, tuple[int, object]] = {}
        """id of what holds all in the end -> its number, and itself, so that the id stays its own"""

        self._containers: dict[int, tuple[Cell, object]] = {}
        """id of an unknown container's storage -> the cell that holds the container, and the storage"""

    def holds(self, cell: Cell, container: LibraryObject) -> None:
        """Note where a container is, so that its elements lead to it."""
        for part in container.parts():
            if isinstance(part, ArrayObject) and part.symbol is not None:
                self._containers[id(part)] = (cell, part)

    def tell_apart(self, cell: Cell) -> None:
        """Mark the unknown stream that a cell begins with, if the program made it for this cell alone."""
        value = cell.value
        if not isinstance(value, Symbol) or cell.type.pointers or cell.type.name not in STREAM_TYPES:
            return
        apart = self._number(cell)
        if apart:
            cell.value = replace(value, apart=apart, name=cell_name(cell).removeprefix("this."))

    def _number(self, cell: Cell) -> int:
        """Return the number of what holds a cell in the end; 0: other cells may hold the same stream."""
        field: tuple[str, str] | None = None
        of_many = False
        whole: object = cell
        at: Cell | None = cell
        while at is not None:
            whole, owner = at, at.owner
            if isinstance(owner, ArrayObject):
                if not isinstance(at.key, int):
                    return 0
                of_many = True
            elif isinstance(owner, StructObject):
                if field is None:
                    field = (_declaring(owner.cls, at.name), at.name)
            else:
                break
            whole = owner
            at = owner.cell or self._containers.get(id(owner), (None,))[0]
        scopes = self._machine.all_globals()
        is_global = any(each is whole for scope in scopes for each in scope.names.values())
        if field is None and is_global and isinstance(whole, Cell):
            field = ("", whole.name)
        created: CreatedStreams = self._machine.relevance.created_streams
        if field is None or not created.are_own(*field, of_many):
            return 0
        if is_global:
            return GLOBALS
        return self._wholes.setdefault(id(whole), (GLOBALS + 1 + len(self._wholes), whole))[0]


def _declaring(cls: ClassInfo | None, name: str) -> str:
    """Return the class in whose text a member stands."""
    for each in cls.lineage() if cls is not None else ():
        if any(field.name == name for field in each.own_fields()):
            return each.name
    return ""
