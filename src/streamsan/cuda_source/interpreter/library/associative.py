"""std::pair, std::map and std::unordered_map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.library import NOT_MODELLED, CallSite, class_, function
from streamsan.cuda_source.interpreter.machine import Operand
from streamsan.cuda_source.interpreter.types import UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import (
    Cell,
    CellPointer,
    LibraryObject,
    Value,
)
from streamsan.cuda_source.syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine


def held_by(operand: Operand) -> Value:
    """Return what an operand holds, without an access."""
    return operand.cell.value if operand.cell is not None else operand.value


class Members(LibraryObject):
    """Cells side by side: a pair or tuple."""

    class_name = "std::tuple"

    def __init__(self, type: CType, cells: list[Cell]) -> None:
        super().__init__()
        self.type = type
        self.cells = cells

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make the members from as many operands, or from another object."""
        if len(operands) == 1:
            held = held_by(operands[0])
            if isinstance(held, Members):
                if operands[0].cell is None:
                    machine.statements.keep(held)
                    return held
                return held.move(machine, span) if operands[0].moved else held.copy(machine, span)
        cells: list[Cell] = []
        count = max(len(operands), len(type.arguments))
        for index in range(count):
            argument = type.arguments[index] if index < len(type.arguments) else None
            operand = operands[index] if index < len(operands) else None
            if isinstance(argument, CType):
                kind = argument
            else:
                kind = machine.expressions.type_of(operand).bare() if operand is not None else UNKNOWN
            member = Cell(None, kind.plain(), "first" if index == 0 else "second", span=span)
            if operand is not None:
                machine.objects.initialise(member, kind.plain(), operand, span)
            elif span is not None:
                machine.objects.construct(member, kind.plain(), [], span)
            machine.objects.adopt(member)
            cells.append(member)
        return cls(type, cells)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """One that unseen code made."""
        cells = []
        for index, argument in enumerate(type.arguments):
            kind = argument if isinstance(argument, CType) else UNKNOWN
            member = Cell(machine.unknown_of(kind.plain(), f"{name}.{index}", origin), kind.plain(), name)
            machine.objects.adopt(member)
            cells.append(member)
        return cls(type, cells)

    def parts(self) -> list[Any]:
        """The members."""
        return list(self.cells)

    def member(self, machine: Machine, name: str, span: Span) -> Operand | None:
        """Return `first` or `second`."""
        index = {"first": 0, "second": 1}.get(name, -1)
        return Operand(cell=self.cells[index]) if 0 <= index < len(self.cells) else None

    def _remade(self, machine: Machine, moved: bool, span: Span) -> Members:
        cells = []
        for cell in self.cells:
            made = Cell(None, cell.type, cell.name, span=cell.span)
            machine.objects.initialise(made, cell.type, Operand(cell=cell, moved=moved), span)
            machine.objects.adopt(made)
            cells.append(made)
        return type(self)(self.type, cells)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy the members."""
        return self._remade(machine, False, span)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Move the members."""
        return self._remade(machine, True, span)

    def destroy(self, machine: Machine, span: Span) -> None:
        """Destroy the members, last first."""
        for cell in reversed(self.cells):
            machine.objects.destroy(cell, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Assign."""
        if method == "operator=" and operands:
            held = held_by(operands[0])
            if isinstance(held, Members):
                moved = operands[0].cell is None or operands[0].moved
                for mine, other in zip(self.cells, held.cells, strict=False):
                    machine.expressions.assign(Operand(cell=mine), Operand(cell=other, moved=moved), span)
                return Operand(self, self.cell)
        return NOT_MODELLED


@class_("std::pair")
class Pair(Members):
    """Two members."""

    class_name = "std::pair"


@class_("std::tuple")
class Tuple(Members):
    """Any number of members."""


@function("std::make_pair", "make_pair", "std::make_tuple", "make_tuple", "std::forward_as_tuple")
def make_members(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A pair or tuple of the operands."""
    model = Pair if len(operands) == 2 else Tuple
    made = model.construct(machine, CType(model.class_name), operands, call.span, None, False)
    return machine.statements.temporary(made)


@function("std::tie", "tie")
def tie(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A tuple of references."""
    return Tuple(CType("std::tuple"), [machine.expressions.cell_of(operand) for operand in operands])


@function("std::get")
def get(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A member of a tuple by number."""
    held = held_by(operands[0]) if operands else None
    index = call.template_arguments[0] if call.template_arguments else None
    if isinstance(held, Members) and isinstance(index, int) and 0 <= index < len(held.cells):
        return Operand(cell=held.cells[index], moved=operands[0].moved)
    return machine.fresh("get", "opaque")


@class_("std::map", "std::unordered_map", "std::multimap")
class Map(LibraryObject):
    """Entries by key; a key that is not known is its own entry."""

    class_name = "std::map"

    def __init__(self, type: CType) -> None:
        super().__init__()
        self.type = type
        self.entries: dict[Any, Cell] = {}
        self.end = Cell(None, UNKNOWN, "end")
        self.complete = True
        """Every entry is known."""

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make an empty map, or one with the listed pairs."""
        made = cls(type)
        for operand in operands:
            held = held_by(operand)
            if isinstance(held, Map):
                return held.move(machine, span) if operand.moved or operand.cell is None else held.copy(machine, span)
            made.insert(machine, held, span)
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A map that unseen code filled."""
        made = cls(type)
        made.complete = False
        return made

    def _kind(self, position: int) -> CType:
        argument = self.type.arguments[position] if position < len(self.type.arguments) else None
        return argument if isinstance(argument, CType) else UNKNOWN

    def _key(self, machine: Machine, operand: Operand, span: Span) -> Any:
        value = machine.known(machine.expressions.load(operand, span))
        try:
            hash(value)
        except TypeError:
            return id(value)
        return value

    def insert(self, machine: Machine, held: Value, span: Span) -> Cell | None:
        """Add a pair."""
        from streamsan.cuda_source.interpreter.library.containers import Vector

        if isinstance(held, Vector):  # a braced pair without a type
            cells = [cell for cell in held.storage.cells.values()]
            return self._put(machine, cells, span) if len(cells) == 2 else None
        if isinstance(held, Members) and len(held.cells) == 2:
            return self._put(machine, held.cells, span)
        return None

    def _put(self, machine: Machine, cells: list[Cell], span: Span) -> Cell:
        key = self._key(machine, Operand(cell=cells[0]), span)
        return self._set(machine, key, cells[0].value, Operand(cell=cells[1], moved=True), span)

    def _set(self, machine: Machine, key: Any, key_value: Value, operand: Operand | None, span: Span) -> Cell:
        kind = self._kind(1)
        second = Cell(None, kind, "value", kind=MemoryKind.HOST_HEAP, span=span)
        if operand is not None:
            machine.objects.initialise(second, kind, operand, span)
        elif self.complete:
            machine.objects.construct(second, kind, [], span)
        else:
            second.value = machine.unknown_of(kind, "value", "parameter")
        machine.objects.adopt(second)
        pair = Pair(CType("std::pair", self.type.arguments[:2]), [Cell(key_value, self._kind(0), "first"), second])
        entry = Cell(pair, pair.type, "entry")
        self.entries[key] = entry
        return entry

    def _second(self, entry: Cell) -> Cell:
        pair = entry.value
        assert isinstance(pair, Pair)
        return pair.cells[1]

    def parts(self) -> list[Any]:
        """The entries."""
        return list(self.entries.values())

    def length(self) -> Value:
        """Return the number of entries, if every one is known."""
        return len(self.entries) if self.complete else None

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        """Return the entries, in the order of numbers and text."""
        keys = list(self.entries)
        if all(isinstance(key, int) for key in keys) or all(isinstance(key, str) for key in keys):
            keys.sort()
        return [Operand(cell=self.entries[key]) for key in keys]

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy the entries."""
        made = Map(self.type)
        made.complete = self.complete
        for key, entry in self.entries.items():
            pair = entry.value
            assert isinstance(pair, Pair)
            made._set(machine, key, pair.cells[0].value, Operand(cell=pair.cells[1]), span)
        return made

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Hand the entries over."""
        made = Map(self.type)
        made.complete = self.complete
        made.entries, self.entries = self.entries, {}
        return made

    def destroy(self, machine: Machine, span: Span) -> None:
        """Destroy the entries."""
        for entry in reversed(list(self.entries.values())):
            machine.objects.destroy(entry, span)
        self.entries = {}

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method. Iterators are pointers to entries."""
        if method in ("operator[]", "at", "find", "count", "contains", "erase") and operands:
            return self._by_key(machine, method, operands[0], span)
        if method in ("emplace", "try_emplace", "insert_or_assign") and len(operands) >= 2:
            key = self._key(machine, operands[0], span)
            if len(operands) > 2:
                value = Cell(None, self._kind(1), "value")
                machine.objects.construct(value, self._kind(1), operands[1:], span)
                operand = Operand(machine.statements.keep(value.value))
            else:
                operand = operands[1]
            entry = self._set(machine, key, held_by(operands[0]), operand, span)
            return make_members(machine, [Operand(CellPointer(entry)), Operand(1)], CallSite(span))
        if method in ("insert", "emplace") and operands:
            added = self.insert(machine, held_by(operands[0]), span)
            pointer: Value = CellPointer(added) if added is not None else machine.fresh("iterator", "opaque")
            return make_members(machine, [Operand(pointer), Operand(1)], CallSite(span))
        if method in ("end", "cend"):
            return CellPointer(self.end)
        if method in ("begin", "cbegin"):
            first = next(iter(self.entries.values()), self.end)
            return CellPointer(first)
        if method in ("size", "empty"):
            if not self.complete:
                return machine.fresh(method, "opaque")
            return len(self.entries) if method == "size" else int(not self.entries)
        if method == "clear":
            self.destroy(machine, span)
            return None
        if method == "reserve":
            return None
        if method == "operator=" and operands:
            held = held_by(operands[0])
            if isinstance(held, Map):
                moved = operands[0].cell is None or operands[0].moved
                taken = held.move(machine, span) if moved else held.copy(machine, span)
                assert isinstance(taken, Map)
                self.destroy(machine, span)
                self.entries, self.complete = taken.entries, taken.complete
                return Operand(self, self.cell)
        return NOT_MODELLED

    def _by_key(self, machine: Machine, method: str, operand: Operand, span: Span) -> Any:
        value = machine.expressions.load(operand, span)
        if method == "erase" and isinstance(value, CellPointer):
            key = next((key for key, entry in self.entries.items() if entry is value.cell), None)
        else:
            key = self._key(machine, operand, span)
        entry = self.entries.get(key)
        if method in ("operator[]", "at"):
            if entry is None:
                entry = self._set(machine, key, value, None, span)
            return Operand(cell=self._second(entry))
        if entry is None and not self.complete and method != "erase":
            entry = self._set(machine, key, value, None, span)
        if method == "find":
            return CellPointer(entry if entry is not None else self.end)
        if method == "erase":
            if entry is not None:
                machine.objects.destroy(entry, span)
                del self.entries[key]
            return int(entry is not None)
        return int(entry is not None)


__all__ = ["Map", "Members", "Pair", "Tuple", "held_by"]
