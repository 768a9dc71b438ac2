"""What most models of classes do: contents in named attributes, which can be listed, handed over and swapped."""

from __future__ import annotations

from typing import Any, ClassVar

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell, LibraryObject, Operand
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin


class Modelled(LibraryObject):
    """An object of a class of a library. By itself it holds what it was made with in mind, and nothing of interest."""

    contents: ClassVar[tuple[str, ...]] = ()
    """The attributes that make up what the object holds: they go with it when it is moved, swapped or copied."""
    own_parts: ClassVar[tuple[str, ...]] = ()
    """The attributes that it owns or points to."""

    def __init__(self, type: CType) -> None:
        super().__init__()
        self.type = type

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make a new one."""
        made = cls(type)
        made.begin(machine, operands, span)
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """Make one that came from unseen code."""
        made = cls(type)
        made.begin_unknown(machine, name, origin)
        return made

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        """Run the constructor on a new object: the operands are read."""
        for operand in operands:
            machine.expressions.load(operand, span)

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        """Fill a new object as unseen code may have: with nothing of interest."""

    def empty(self) -> Any:
        """Return another object of the class that holds nothing."""
        return type(self)(self.type)

    def parts(self) -> list[Any]:
        """Return what it owns or points to."""
        return [part for part in (getattr(self, name) for name in self.own_parts) if part is not None]

    def another(self, machine: Machine, span: Span) -> LibraryObject:
        """Return an object with the same contents: how views and numbers are copied."""
        made = self.empty()
        for name in self.contents:
            setattr(made, name, getattr(self, name))
        found: LibraryObject = made
        return found

    def handed_over(self, machine: Machine, span: Span) -> LibraryObject:
        """Return an object with this one's contents, which are gone here: how owners are moved."""
        made: LibraryObject = self.empty()
        self.exchange(made)
        return made

    def exchange(self, other: Any) -> None:
        """Swap the contents."""
        for name in self.contents:
            mine, its = getattr(self, name), getattr(other, name)
            setattr(self, name, its)
            setattr(other, name, mine)

    def passed(self, machine: Machine, operand: Operand, span: Span) -> LibraryObject:
        """Return what a constructor makes of this object, given as an operand: itself, a copy, or its contents."""
        if operand.cell is None:
            machine.statements.keep(self)
            return self
        return self.move(machine, span) if operand.moved else self.copy(machine, span)
