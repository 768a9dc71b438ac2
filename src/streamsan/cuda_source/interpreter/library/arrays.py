"""std::array and std::span: elements in place, and a view of elements elsewhere."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library import class_
from streamsan.cuda_source.interpreter.library.braced import items_of
from streamsan.cuda_source.interpreter.library.containers import LARGEST_EAGER, is_object
from streamsan.cuda_source.interpreter.library.face import Machine
from streamsan.cuda_source.interpreter.library.sequences import Sequence
from streamsan.cuda_source.interpreter.terms import combine
from streamsan.cuda_source.interpreter.types import UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    ElementPointer,
    LibraryObject,
    Operand,
    Value,
    held_by,
    is_pointer,
)
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import AccessMode, MemoryKind


@class_("std::array", "cuda::std::array")
class Array(Sequence):
    """Elements in place."""

    class_name = "std::array"

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make an array from its elements."""
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
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
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
        """An array that unseen code filled."""
        length = type.arguments[1] if len(type.arguments) > 1 else machine.fresh(f"{name}.size()", origin)
        storage = ArrayObject(cls.element_type(type), length, MemoryKind.HOST_STACK, name)
        storage.symbol = machine.fresh(name, origin)
        return cls(type, storage)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method == "fill" and operands and isinstance(self.storage.length, int):
            machine.memory.access_value(ElementPointer(self.storage, 0), None, AccessMode.WRITE, span)
            for index in range(min(self.storage.length, LARGEST_EAGER)):
                target = Operand(cell=machine.objects.element(self.storage, index))
                machine.expressions.assign(target, operands[0], span)
            return None
        if method == "operator=" and operands:
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            if isinstance(held, Array):
                self.storage.cells = machine.objects.copy_array(held.storage, operands[0].moved, span).cells
                for cell in self.storage.cells.values():
                    cell.owner = self.storage
                return Operand(self, self.cell)
        return super().call(machine, method, operands, span)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy the elements."""
        return Array(self.type, machine.objects.copy_array(self.storage, False, span))

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Move the elements."""
        return Array(self.type, machine.objects.copy_array(self.storage, True, span))


@class_("std::span", "cuda::std::span")
class Span_(LibraryObject):  # noqa: N801 - `Span` is a place in the source
    """A pointer and a length: it owns nothing."""

    class_name = "std::span"

    def __init__(self, type: CType, pointer: Value, count: Value) -> None:
        super().__init__()
        self.type = type
        self.pointer = pointer
        self.count = count

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Look at an array, a container, or a pointer and a length."""
        if not operands:
            return cls(type, 0, 0)
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

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A view that unseen code made."""
        element = type.arguments[0] if type.arguments and isinstance(type.arguments[0], CType) else UNKNOWN
        pointer = machine.objects.unknown(element.pointer_to(), name, origin)
        return cls(type, pointer, machine.fresh(f"{name}.size()", origin))

    def parts(self) -> list[Any]:
        """The pointer."""
        return [self.pointer]

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Another view of the same elements."""
        return Span_(self.type, self.pointer, self.count)

    def length(self) -> Value:
        """Return the number of elements, if it is a number."""
        return self.count if isinstance(self.count, int) else None

    def at(self, machine: Machine, index: Value, span: Span) -> Operand:
        """Return an element."""
        moved = machine.expressions.operators.arithmetic("+", self.pointer, machine.known(index))
        return machine.expressions.dereference(moved, span)

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        """Return the elements, or a few if their number is not known."""
        count = machine.known(self.count)
        number = min(count, 4096) if isinstance(count, int) else machine.limits.unknown_iterations
        return [self.at(machine, index, span) for index in range(number)]

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        operators = machine.expressions.operators
        values = [machine.expressions.load(operand, span) for operand in operands]
        if method in ("data", "begin", "cbegin"):
            return self.pointer
        if method in ("end", "cend"):
            return operators.arithmetic("+", self.pointer, self.count)
        if method in ("operator[]", "at") and values:
            return self.at(machine, values[0], span)
        if method == "front":
            return self.at(machine, 0, span)
        if method == "back":
            return self.at(machine, combine("-", self.count, 1), span)
        if method == "size":
            return self.count if self.count is not None else machine.fresh("size", "opaque")
        if method == "size_bytes":
            element = self.type.arguments[0] if self.type.arguments else None
            size = machine.objects.size_of(element) if isinstance(element, CType) else None
            total = combine("*", self.count, size)
            return total if total is not None else machine.fresh("size_bytes", "opaque")
        if method == "empty":
            return operators.compare("==", self.count, 0)
        if method in ("subspan", "first", "last") and values:
            return self._part(machine, method, values)
        return machine.fresh(method, "opaque")

    def _part(self, machine: Machine, method: str, values: list[Value]) -> LibraryObject:
        operators = machine.expressions.operators
        start = values[0] if method == "subspan" else 0
        count = values[-1] if method != "subspan" or len(values) > 1 else combine("-", self.count, values[0])
        if method == "last":
            start = combine("-", self.count, values[0])
        return Span_(self.type, operators.arithmetic("+", self.pointer, start), count)
