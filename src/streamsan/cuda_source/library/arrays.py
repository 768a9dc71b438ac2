"""std::array and std::span: elements in place, and a view of elements elsewhere."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.braced import items_of
from streamsan.cuda_source.library.containers import LARGEST_EAGER, is_object
from streamsan.cuda_source.library.host_data import type_argument
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.sequences import Row, Sequence
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    ArrayObject,
    Cell,
    ElementPointer,
    LibraryObject,
    Operand,
    Value,
    held_by,
    is_pointer,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import AccessMode, MemoryKind


class Array(Sequence):
    """Elements in place."""

    class_name = "std::array"

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        length = type.arguments[1] if len(type.arguments) > 1 else None
        kind = cell.kind if cell is not None else MemoryKind.HOST_STACK
        storage = ArrayObject(
            cls.element_type(type), machine.known(length), kind, cell.name if cell else "", span or None
        )
        if braced:
            storage.origin = "zero"
        made = cls(type, storage)
        listed = items_of(operands)
        of_class = storage.element is not None and machine.objects.is_class(storage.element)
        if listed is not None and (not of_class or all(is_object(held_by(item)) for item in listed)):
            operands = listed  # std::array<T, 2> a{{x, y}}: the inner list
        if len(operands) == 1:
            held = operands[0].held
            if isinstance(held, Array):
                return held.copy(machine, span)
        element_type = storage.element
        for index, operand in enumerate(operands):
            element = Cell(None, element_type or UNKNOWN, f"{storage.label}[{index}]", storage, kind, span)
            element.key = index
            storage.cells[index] = element
            machine.objects.initialise(element, element.type, operand, span)
            machine.objects.adopt(element)
        made._construct_rest(machine, len(operands), span)
        return made

    def _construct_rest(self, machine: Machine, given: int, span: Span | None) -> None:
        """Construct the elements that no initialiser was given for."""
        storage = self.storage
        element, length = storage.element, storage.length
        if element is None or span is None or not isinstance(length, int) or not machine.objects.is_class(element):
            return
        for index in range(given, min(length, LARGEST_EAGER)):
            machine.objects.construct(machine.objects.element(storage, index), element, [], span, default=True)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        length = type.arguments[1] if len(type.arguments) > 1 else machine.fresh(f"{name}.size()", origin)
        storage = ArrayObject(cls.element_type(type), length, MemoryKind.HOST_STACK, name)
        storage.symbol = machine.fresh(name, origin)
        return cls(type, storage)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "fill" and operands and isinstance(self.storage.length, int):
            machine.memory.access_value(ElementPointer(self.storage, 0), None, AccessMode.WRITE, span)
            for index in range(min(self.storage.length, LARGEST_EAGER)):
                target = Operand(cell=machine.objects.element(self.storage, index))
                machine.expressions.assign(target, operands[0], span)
            return None
        if method == "operator=" and operands:
            held = operands[0].held
            if isinstance(held, Array):
                self.storage.cells = machine.objects.copy_array(held.storage, operands[0].moved, span).cells
                for cell in self.storage.cells.values():
                    cell.owner = self.storage
                return Operand(self, self.cell)
        return super().call(machine, method, operands, span)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        return Array(self.type, machine.objects.copy_array(self.storage, False, span))

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        return Array(self.type, machine.objects.copy_array(self.storage, True, span))


class Span_(Row):  # noqa: N801 - `Span` is a place in the source
    """A pointer and a length: it owns nothing."""

    class_name = "std::span"
    contents = ("pointer", "count")
    own_parts = ("pointer",)
    copy = Modelled.another

    def __init__(self, type: CType, pointer: Value = 0, count: Value = 0) -> None:
        super().__init__(type)
        self.pointer = pointer
        self.count = count

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Look at an array, a container, or a pointer and a length."""
        if not operands:
            return cls(type)
        held = held_by(operands[0])
        if isinstance(held, Span_):
            return held
        if isinstance(held, ArrayObject):
            return cls(type, ElementPointer(held, 0), held.length)
        if isinstance(held, Sequence):
            return cls(type, ElementPointer(held.storage, 0), held.storage.length)
        values = [machine.expressions.load(operand, span) for operand in operands[:2]]
        count = machine.known(values[1]) if len(values) > 1 else None
        if is_pointer(count):
            count = machine.expressions.operators.arithmetic("-", count, values[0])
        return cls(type, values[0], count)

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        pointer = type_argument(self.type, 0).pointer_to()
        self.pointer = machine.objects.unknown(pointer, name, origin)
        self.count = machine.fresh(f"{name}.size()", origin)

    def start(self) -> Value:
        return self.pointer

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "size_bytes":
            element = self.type.arguments[0] if self.type.arguments else None
            size = machine.objects.size_of(element) if isinstance(element, CType) else None
            total = combine("*", self.count, size)
            return total if total is not None else machine.fresh("size_bytes", "opaque")
        if method in ("subspan", "first", "last") and operands:
            return self._part(machine, method, [machine.expressions.load(operand, span) for operand in operands])
        found = super().call(machine, method, operands, span)
        return found if found is not NOT_MODELLED else machine.fresh(method, "opaque")

    def _part(self, machine: Machine, method: str, values: list[Value]) -> LibraryObject:
        operators = machine.expressions.operators
        start = values[0] if method == "subspan" else 0
        count = values[-1] if method != "subspan" or len(values) > 1 else combine("-", self.count, values[0])
        if method == "last":
            start = combine("-", self.count, values[0])
        return Span_(self.type, operators.arithmetic("+", self.pointer, start), count)
