"""std::map, std::set and their kin: entries found again by equal keys."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.braced import braced as list_of
from streamsan.cuda_source.library.braced import carried, items_of
from streamsan.cuda_source.library.host_data import (
    cell_from,
    default_cell,
    text_of,
    type_argument,
    unknown_cell,
)
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.library.tuples import Tuple
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Operand,
    SymbolPointer,
    Term,
    Value,
    held_by,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Handle, Origin, Symbol
from streamsan.vocabulary import MemoryKind


class Key:
    """A key as the model compares it: equal `token`s are equal keys; only `exact` ones are known to differ."""

    __slots__ = ("exact", "token")

    def __init__(self, token: Any, exact: bool) -> None:
        self.token = token
        self.exact = exact

    @classmethod
    def of(cls, machine: Machine, value: Value) -> Key:
        """Return the key that a value is."""
        value = machine.known(value)
        text = text_of(value)
        if text is not None:
            return cls(("text", text), True)
        if isinstance(value, int | float):
            return cls(("number", value), True)
        if isinstance(value, Handle | DevicePointer | ElementPointer):
            exact = not isinstance(value, ElementPointer) or isinstance(value.index, int)
            return cls(("value", repr(value) if isinstance(value, Handle) else _identity(value)), exact)
        if isinstance(value, CellPointer):
            return cls(("cell", id(value.cell)), True)
        if isinstance(value, Symbol | Term | SymbolPointer):
            return cls(("unknown", value), False)
        if isinstance(value, Tuple):
            parts = [cls.of(machine, part.value) for part in value.cells]
            return cls(("tuple", tuple(part.token for part in parts)), all(part.exact for part in parts))
        return cls(("object", id(value)), False)


def _identity(value: DevicePointer | ElementPointer) -> Any:
    if isinstance(value, DevicePointer):
        return (value.pointer.generation, value.pointer.address)
    return (id(value.array), value.index if isinstance(value.index, int) else repr(value.index))


class Map(Modelled):
    """Entries in the order of insertion; iterators are pointers into them."""

    class_name = "std::map"
    contents = ("entries", "keys", "complete")
    own_parts = ("entries",)
    move = Modelled.handed_over

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self.entries = ArrayObject(self.entry_type(type), 0, MemoryKind.HOST_HEAP)
        self.keys: list[Key] = []
        self.complete = True
        """False: unseen code may have put more in."""

    @classmethod
    def entry_type(cls, type: CType) -> CType:
        """Return the type of what iteration gives."""
        return CType("std::pair", (type_argument(type, 0), type_argument(type, 1)))

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        made = cls(type)
        made.entries.label = cell.name if cell is not None else ""
        if len(operands) == 1:
            held = held_by(operands[0])
            if isinstance(held, Map):
                return held.passed(machine, operands[0], span)
        listed = None if braced else items_of(operands)
        if braced or listed is not None:
            for operand in operands if listed is None else listed:
                made.insert(machine, operand, span)
        elif operands and not isinstance(held_by(operands[0]), int | Closure | FunctionValue):
            machine.reach.unfollowed([carried(operand) for operand in operands], span)
            made.complete = False
        return made

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        self.complete = False
        self.entries.label = name

    # -- entries -----------------------------------------------------------------------------------

    def length(self) -> Value:
        return len(self.keys) if self.complete else None

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        if not self.complete:
            missing = machine.limits.unknown_iterations - len(self.keys)
            for _ in range(missing):
                self._add(machine, Key(("unseen", len(self.keys)), False), self._unseen(machine))
        return [Operand(cell=self.entries.cells[index]) for index in range(len(self.keys))]

    def _unseen(self, machine: Machine) -> Cell:
        parts = [
            unknown_cell(machine, part, self.entries.label)
            for part in (type_argument(self.type, 0), type_argument(self.type, 1))
        ]
        return self.entry(machine, parts)

    def entry(self, machine: Machine, parts: list[Cell]) -> Cell:
        """Return a cell that holds an entry."""
        return Cell(Tuple(self.entry_type(self.type), parts), self.entry_type(self.type), self.entries.label)

    def _add(self, machine: Machine, key: Key, cell: Cell) -> int:
        position = len(self.keys)
        self.keys.append(key)
        cell.owner, cell.key, cell.kind = self.entries, position, MemoryKind.HOST_HEAP
        self.entries.cells[position] = cell
        self.entries.length = len(self.keys)
        machine.objects.adopt(cell)
        return position

    def position(self, key: Key) -> int | None:
        """Return where a key is; -1: nowhere for certain; None: nobody knows."""
        for position, known in enumerate(self.keys):
            if known.token == key.token:
                return position
        if self.complete and key.exact and all(known.exact for known in self.keys):
            return -1
        return -1 if self.complete and not self.keys else None

    def key_operand(self, machine: Machine, operand: Operand, span: Span) -> Operand:
        """Return a key given as a braced list as an object of the key's type."""
        if list_of(operand) is None:
            return operand
        return Operand(cell=cell_from(machine, type_argument(self.type, 0), operand, "first", span), moved=True)

    def mapped(self, machine: Machine, key_operand: Operand, span: Span) -> Cell:
        """Return the mapped object of a key, made when first asked for."""
        key_operand = self.key_operand(machine, key_operand, span)
        key = Key.of(machine, machine.expressions.load(key_operand, span))
        position = self.position(key)
        written = held_by(key_operand)
        label = f"{self.entries.label}[{written if isinstance(written, int) else text_of(written) or ''}]"
        if position is None or position < 0:
            type = type_argument(self.type, 1)
            value = (
                unknown_cell(machine, type, label)
                if position is None
                else default_cell(machine, type, label, span, MemoryKind.HOST_HEAP)
            )
            first = cell_from(machine, type_argument(self.type, 0), key_operand, "first", span)
            position = self._add(machine, key, self.entry(machine, [first, value]))
        entry = self.entries.cells[position].value
        assert isinstance(entry, Tuple)
        return entry.cells[1]

    def insert(self, machine: Machine, operand: Operand, span: Span, replace: bool = False) -> tuple[int, bool | None]:
        """Insert a pair; returns where, and whether it was inserted, None if nobody knows."""
        held = held_by(operand)
        sources: list[Operand] = []
        if isinstance(held, Tuple):
            moved = operand.temporary
            sources = [Operand(cell=part, moved=moved) for part in held.cells]
        elif isinstance(held, Sequence):
            sources = held.elements(machine, span)
        if len(sources) < 2:
            machine.reach.unfollowed([carried(operand)], span)
            self.complete = False
            return 0, None
        return self.put(machine, sources[0], sources[1:], span, replace)

    def lists_entries(self, machine: Machine, items: list[Operand]) -> bool:
        """Tell whether the items of `insert({...})` are entries, not the parts of one."""
        return all(
            (list_of(item) is not None and len(items) > 2) or isinstance(held_by(item), Tuple) for item in items
        ) or (
            len(items) <= 2
            and all(list_of(item) is not None for item in items)
            and not machine.objects.is_class(type_argument(self.type, 0))
        )

    def put(
        self, machine: Machine, key_operand: Operand, values: list[Operand], span: Span, replace: bool
    ) -> tuple[int, bool | None]:
        """Insert a key and its mapped object, unless the key is there."""
        key_operand = self.key_operand(machine, key_operand, span)
        key = Key.of(machine, machine.expressions.load(key_operand, span))
        position = -1 if "multi" in self.type.name else self.position(key)
        if position is not None and position >= 0:
            if replace and values:
                replaced = self.entries.cells[position].value
                assert isinstance(replaced, Tuple)
                machine.expressions.assign(Operand(cell=replaced.cells[1]), values[0], span)
            return position, False
        entry = self.new_entry(machine, key_operand, values, span)
        return self._add(machine, key, entry), True if position == -1 else None

    def new_entry(self, machine: Machine, key_operand: Operand, values: list[Operand], span: Span) -> Cell:
        """Return a cell that holds a new entry."""
        first = cell_from(machine, type_argument(self.type, 0), key_operand, "first", span)
        type = type_argument(self.type, 1)
        if len(values) == 1:
            second = cell_from(machine, type, values[0], self.entries.label, span, MemoryKind.HOST_HEAP)
        else:
            second = Cell(None, type, self.entries.label, kind=MemoryKind.HOST_HEAP, span=span)
            machine.objects.construct(second, type, values, span)
        return self.entry(machine, [first, second])

    def remove(self, machine: Machine, start: int, stop: int, span: Span) -> None:
        """Erase entries."""
        gone = [self.entries.cells.pop(index) for index in range(start, stop) if index in self.entries.cells]
        del self.keys[start:stop]
        # an iterator whose position nobody knows may have made a cell of its own: it goes
        rest = [self.entries.cells[index] for index in sorted(i for i in self.entries.cells if isinstance(i, int))]
        self.entries.cells = dict(enumerate(rest))
        for index, cell in self.entries.cells.items():
            cell.key = index
        self.entries.length = len(self.keys)
        for cell in gone:
            machine.objects.destroy(cell, span)

    # -- life --------------------------------------------------------------------------------------

    def destroy(self, machine: Machine, span: Span) -> None:
        machine.objects.end_array(self.entries, span)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        made = type(self)(self.type)
        made.entries = machine.objects.copy_array(self.entries, False, span)
        made.keys, made.complete = list(self.keys), self.complete
        return made

    # -- methods -----------------------------------------------------------------------------------

    def iterator(self, machine: Machine, position: int | None) -> ElementPointer:
        """Return the iterator to a position; an unknown one is an unknown index."""
        if position is None:
            return ElementPointer(self.entries, machine.fresh("position", "opaque"))
        return ElementPointer(self.entries, position if position >= 0 else self.entries.length)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method in ("operator[]", "at") and operands:
            return Operand(cell=self.mapped(machine, operands[0], span))
        if method in ("find", "count", "contains", "lower_bound", "upper_bound", "equal_range") and operands:
            return self._look_up(machine, method, operands[0], span)
        if method in ("begin", "cbegin", "end", "cend"):
            self.elements(machine, span)
            return ElementPointer(self.entries, 0 if "begin" in method else self.entries.length)
        if method in ("size", "empty"):
            if not self.complete:
                return machine.fresh(method, "opaque")
            return len(self.keys) if method == "size" else int(not self.keys)
        if method == "clear":
            self.remove(machine, 0, len(self.keys), span)
            self.complete = True
            return None
        if method in ("insert", "emplace", "try_emplace", "insert_or_assign", "emplace_hint", "push"):
            return self._insert(machine, method, operands, span)
        if method in ("erase", "extract") and operands:
            return self._erase(machine, operands, span)
        if method in ("reserve", "rehash", "max_load_factor"):
            return None
        if method in ("operator=", "swap") and operands:
            return self._replace(machine, method, operands[0], span)
        if method in ("operator==", "operator!=", "rbegin", "rend", "key_comp", "bucket_count", "get_allocator"):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED

    def _look_up(self, machine: Machine, method: str, operand: Operand, span: Span) -> Value:
        operand = self.key_operand(machine, operand, span)
        position = self.position(Key.of(machine, machine.expressions.load(operand, span)))
        if method in ("count", "contains"):
            if position is None:
                return machine.fresh(method, "opaque")
            return int(position >= 0)
        if method != "find":
            return self._bounds(machine, method, operand, span)
        if position is None and method == "find" and not self.complete:
            cell = self._unseen(machine)
            position = self._add(machine, Key.of(machine, machine.expressions.load(operand, span)), cell)
            return self.iterator(machine, position)
        if position is None:
            machine.reach.hide([self.entries])
        return self.iterator(machine, position)

    def _bounds(self, machine: Machine, method: str, operand: Operand, span: Span) -> Value:
        """`lower_bound`, `upper_bound` and `equal_range`: known where all keys are."""
        key = Key.of(machine, machine.expressions.load(operand, span))
        self._sort()
        kinds = {known.token[0] for known in [*self.keys, key]}
        places: list[int | None] = [None, None]
        if self.complete and key.exact and all(known.exact for known in self.keys) and kinds & {"number", "text"}:
            if len(kinds) == 1:
                places[0] = sum(1 for known in self.keys if known.token[1] < key.token[1])
                places[1] = sum(1 for known in self.keys if known.token[1] <= key.token[1])
        elif self.complete and not self.keys:
            places = [0, 0]
        if None in places:
            machine.reach.hide([self.entries])
        if method == "equal_range":
            cells = [Cell(self.iterator(machine, place), UNKNOWN) for place in places]
            return machine.statements.temporary(Tuple(CType("std::pair"), cells))
        return self.iterator(machine, places[0 if method == "lower_bound" else 1])

    def _sort(self) -> None:
        """Put the entries in the order of their keys, where all are numbers or all texts."""
        if len({known.token[0] for known in self.keys}) != 1 or self.keys[0].token[0] not in ("number", "text"):
            return
        order = sorted(range(len(self.keys)), key=lambda position: self.keys[position].token[1])
        cells = [self.entries.cells[position] for position in order]
        self.keys = [self.keys[position] for position in order]
        for position, cell in enumerate(cells):
            cell.key = position
            self.entries.cells[position] = cell

    def _insert(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        listed = items_of(operands) if method == "insert" else None
        if listed is not None and self.lists_entries(machine, listed):
            for item in listed:
                self.insert(machine, item, span)
            return None
        if method == "insert" and len(operands) == 1:
            position, new = self.insert(machine, operands[0], span)
        elif method in ("emplace", "try_emplace", "insert_or_assign") and len(operands) > 1:
            position, new = self.put(machine, operands[0], operands[1:], span, method == "insert_or_assign")
        elif method == "try_emplace" and operands:
            position, new = self.put(machine, operands[0], [], span, False)
        elif method == "emplace" and operands:
            position, new = self.insert(machine, operands[0], span)
        elif method == "emplace_hint" and len(operands) > 2:
            return self.iterator(machine, self.put(machine, operands[1], operands[2:], span, False)[0])
        else:
            machine.reach.unfollowed([carried(operand) for operand in operands], span)
            self.complete = False
            return machine.fresh(method, "opaque")
        inserted: Value = int(new) if new is not None else machine.fresh("inserted", "opaque")
        cells = [Cell(self.iterator(machine, position), UNKNOWN), Cell(inserted, CType("bool"))]
        return machine.statements.temporary(Tuple(CType("std::pair"), cells))

    def _erase(self, machine: Machine, operands: list[Operand], span: Span) -> Any:
        values = [machine.expressions.load(operand, span) for operand in operands]
        first = values[0]
        if isinstance(first, ElementPointer) and first.array is self.entries:
            start = machine.known(first.index)
            stop = combine("+", start, 1)
            if len(values) > 1 and isinstance(values[1], ElementPointer):
                stop = machine.known(values[1].index)
            if isinstance(start, int) and isinstance(stop, int) and 0 <= start <= stop <= len(self.keys):
                self.remove(machine, start, stop, span)
                return ElementPointer(self.entries, start)
            self.complete = False
            return self.iterator(machine, None)
        position = self.position(Key.of(machine, first))
        if position is None:
            self.complete = False
            return machine.fresh("erase", "opaque")
        if position >= 0:
            self.remove(machine, position, position + 1, span)
        return int(position >= 0)

    def _replace(self, machine: Machine, method: str, operand: Operand, span: Span) -> Any:
        other = held_by(operand)
        if not isinstance(other, Map):
            return NOT_MODELLED
        if other is self:
            return Operand(self, self.cell)
        if method == "swap":
            self.exchange(other)
            return None
        taken = other.move(machine, span) if operand.temporary else other.copy(machine, span)
        assert isinstance(taken, Map)
        self.destroy(machine, span)
        self.entries, self.keys, self.complete = taken.entries, taken.keys, taken.complete
        return Operand(self, self.cell)


class Set(Map):
    """Keys without mapped objects."""

    class_name = "std::set"

    @classmethod
    def entry_type(cls, type: CType) -> CType:
        """Return the type of the keys."""
        return type_argument(type, 0)

    def entry(self, machine: Machine, parts: list[Cell]) -> Cell:
        """Return the key's own cell."""
        return parts[0]

    def lists_entries(self, machine: Machine, items: list[Operand]) -> bool:
        """Tell whether the items are keys, not the members of one."""
        return not machine.objects.is_class(type_argument(self.type, 0)) or (
            len(items) > 1 and all(map(list_of, items))
        )

    def insert(self, machine: Machine, operand: Operand, span: Span, replace: bool = False) -> tuple[int, bool | None]:
        """Insert a key."""
        return self.put(machine, operand, [], span, replace)

    def new_entry(self, machine: Machine, key_operand: Operand, values: list[Operand], span: Span) -> Cell:
        """Return the new key's cell."""
        return cell_from(machine, type_argument(self.type, 0), key_operand, self.entries.label, span)
