"""thrust::device_vector, and the algorithms that use it: each waits for its own stream before it returns."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.algorithms import copy_range
from streamsan.cuda_source.library.argument_uses import used_anyhow, used_by
from streamsan.cuda_source.library.device_libraries import issue
from streamsan.cuda_source.library.host_data import touch, type_argument
from streamsan.cuda_source.library.iterator_ranges import Range
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.library.tables import uses_of
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    CallSite,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Operand,
    SymbolPointer,
    Term,
    Value,
    held_by,
    is_pointer,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Handle, Origin, Symbol
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import AccessMode

_GIVES_ITS_END = late_pattern(
    r"thrust::(copy|transform|unique|remove|remove_if|copy_if|merge|set_\w+|gather|(in|ex)clusive_scan|adjacent_difference)"
)
"""of algorithms that return where what they wrote ends"""


def run(machine: Machine, name: str, values: list[Value], stream: Value, waits: bool, span: Span) -> None:
    """Issue an algorithm on a stream; it is complete when the call returns, unless it was told not to wait."""
    memory = [value for value in values if isinstance(value, DevicePointer | SymbolPointer)]
    issue(machine, name, used_anyhow([list(memory)]), stream, waits, span)


class DeviceVector(Modelled):
    """Elements in device memory: `cudaMalloc` when it is made or grows, `cudaFree` when it ends."""

    class_name = "thrust::device_vector"
    move = Modelled.handed_over

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self.element = type_argument(type, 0)
        self.memory = Cell(0, self.element.pointer_to(), "")
        self.count: Value = 0

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        made = cls(type)
        made.memory.name = cell.name if cell is not None else ""
        if not operands:
            return made
        held = held_by(operands[0])
        if isinstance(held, DeviceVector):
            return held.passed(machine, operands[0], span)
        if isinstance(held, Sequence):
            made.allocate(machine, held.storage.length, span)
            made.fill_from(machine, ElementPointer(held.storage, 0), span)
            return made
        values = [machine.expressions.load(operand, span) for operand in operands[:2]]
        if braced and not is_pointer(values[0]) and len(operands) != 1:
            made.allocate(machine, len(operands), span)
            run(machine, cls.class_name, [made.memory.value], 0, True, span)
        elif len(values) == 2 and is_pointer(values[0]):
            made.allocate(machine, machine.expressions.operators.arithmetic("-", values[1], values[0]), span)
            made.fill_from(machine, values[0], span)
        else:
            made.allocate(machine, machine.known(values[0]), span)
            run(machine, cls.class_name, [made.memory.value], 0, True, span)
        return made

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        self.memory.value = machine.objects.unknown(self.memory.type, name, origin)
        self.count = machine.fresh(f"{name}.size()", origin)

    def allocate(self, machine: Machine, count: Value, span: Span) -> None:
        """Get memory for a number of elements; the old memory is freed."""
        self.destroy(machine, span)
        self.count = count
        if count == 0:
            return
        size = machine.objects.size_of(self.element)
        bytes_ = combine("*", count, size) if count is not None and size is not None else None
        given = bytes_ if bytes_ is not None else machine.fresh("bytes", "opaque")
        self.memory.value = 0
        machine.api.function("cudaMalloc").run(machine, [Operand(CellPointer(self.memory)), Operand(given)], span)

    def destroy(self, machine: Machine, span: Span) -> None:
        """Free the memory."""
        old, self.memory.value = self.memory.value, 0
        self.count = 0
        if isinstance(old, DevicePointer):
            machine.api.function("cudaFree").run(machine, [Operand(old)], span)

    def fill_from(self, machine: Machine, source: Value, span: Span) -> None:
        """Copy elements from elsewhere, and wait."""
        touch(machine, source, AccessMode.READ, span)
        run(machine, self.class_name, [self.memory.value, source], 0, True, span)

    def parts(self) -> list[Any]:
        return [self.memory.value]

    def length(self) -> Value:
        return self.count if isinstance(self.count, int) else None

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        made = type(self)(self.type)
        made.allocate(machine, self.count, span)
        made.fill_from(machine, self.memory.value, span)
        return made

    def exchange(self, other: DeviceVector) -> None:
        self.memory.value, other.memory.value = other.memory.value, self.memory.value
        self.count, other.count = other.count, self.count

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method in ("begin", "cbegin", "data"):
            return self.memory.value
        if method in ("end", "cend"):
            return machine.expressions.operators.arithmetic("+", self.memory.value, self.count)
        if method == "size":
            return self.count if self.count is not None else machine.fresh("size", "opaque")
        if method == "empty":
            return machine.expressions.operators.compare("==", self.count, 0)
        if method in ("operator[]", "front", "back"):
            run(machine, self.class_name, [self.memory.value], 0, True, span)
            return Operand(cell=Cell(machine.fresh("element", "input"), self.element))
        if method in ("resize", "assign") and operands:
            values = [machine.expressions.load(operand, span) for operand in operands]
            count = machine.known(values[0])
            if is_pointer(count):
                count = machine.expressions.operators.arithmetic("-", values[1], values[0])
            if count != self.count:
                self.allocate(machine, count, span)
            run(machine, self.class_name, [self.memory.value, *values], 0, True, span)
            return None
        if method in ("clear", "reserve"):
            return None
        if method == "shrink_to_fit":
            if self.count == 0:
                self.destroy(machine, span)
            return None
        if method in ("operator=", "swap") and operands:
            return self._replace(machine, method, operands[0], span)
        if method in ("push_back", "insert", "erase", "pop_back", "capacity", "rbegin", "rend"):
            run(machine, self.class_name, [self.memory.value], 0, True, span)
            self.count = machine.fresh("size", "opaque")
            return machine.fresh(method, "opaque")
        return NOT_MODELLED

    def _replace(self, machine: Machine, method: str, operand: Operand, span: Span) -> Any:
        other = held_by(operand)
        if isinstance(other, DeviceVector) and (method == "swap" or operand.moved or operand.cell is None):
            self.exchange(other)
        elif isinstance(other, DeviceVector) and other is not self:
            if other.count != self.count:
                self.allocate(machine, other.count, span)
            self.fill_from(machine, other.memory.value, span)
        elif isinstance(other, Sequence):
            if other.storage.length != self.count:
                self.allocate(machine, other.storage.length, span)
            self.fill_from(machine, ElementPointer(other.storage, 0), span)
        elif other is not self:
            return NOT_MODELLED
        return Operand(self, self.cell)


class Policy(LibraryObject):
    """`thrust::cuda::par.on(stream)`."""

    class_name = "thrust::execution_policy"

    def __init__(self, stream: Value = 0, waits: bool = True) -> None:
        super().__init__()
        self.stream = stream
        self.waits = waits

    def parts(self) -> list[Any]:
        return [self.stream]

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method: `on(stream)`; with an allocator for its working memory it is the same policy."""
        if method == "on" and operands:
            return Policy(machine.expressions.load(operands[0], span), self.waits)
        return self


def same_pointer(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The same address."""
    if not operands:
        return 0
    value = machine.expressions.load(operands[0], call.span)
    return value.memory.value if isinstance(value, DeviceVector) else value


def algorithm(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """An algorithm of Thrust: on its policy's stream, which it awaits unless the policy says not to."""
    held = [held_by(operand) for operand in operands]
    policy = next((value for value in held if isinstance(value, Policy)), Policy())
    operands = [operand for operand, value in zip(operands, held, strict=True) if not isinstance(value, Policy)]
    held = [value for value in held if not isinstance(value, Policy)]
    values = [machine.expressions.load(operand, call.span) for operand in operands]
    if name == "thrust::copy" and len(operands) == 3 and all(isinstance(v, ElementPointer) for v in values):
        return copy_range(machine, Range(machine, operands, call), call, moved=False)
    waits = policy.waits and not name.startswith("thrust::async")
    if not _issue_on_arguments(machine, name, held, values, policy.stream, waits, call.span):
        return machine.fresh(name, "input")
    returned = [value for value in values if isinstance(value, DevicePointer)]
    if _GIVES_ITS_END.fullmatch(name) and returned:
        return machine.expressions.operators.arithmetic("+", returned[-1], machine.fresh("count", "opaque"))
    return machine.fresh(name, "input")


def cub_algorithm(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """An algorithm of CUB: on the stream among its arguments; without temporary memory it says how much it needs."""
    held = [held_by(operand) for operand in operands]
    values = [machine.expressions.load(operand, call.span) for operand in operands]
    stream = next((value for value in values if isinstance(value, Handle) and value.type == "stream"), 0)
    if not values or not machine.objects.is_null(values[0]):
        _issue_on_arguments(machine, name, held, values, stream, False, call.span)
    elif len(operands) > 1 and operands[1].cell is not None:
        operands[1].cell.value = _needed_bytes(machine, name, operands[2:], values[2:])
    return 0


def _needed_bytes(machine: Machine, name: str, operands: list[Operand], values: list[Value]) -> Value:
    """Return how much temporary memory an algorithm needs: the same for the same types and counts."""
    parts: list[Any] = [name]
    for operand, value in zip(operands, values, strict=True):
        type = machine.expressions.type_of(operand).bare()
        counts = isinstance(value, int | float | Symbol | Term)
        if not counts and type.name in ("", "auto", "void"):
            return machine.fresh(name, "opaque")
        parts += [repr(type), value if counts else ""]
    return Term("needed bytes", tuple(parts))


def _issue_on_arguments(
    machine: Machine, name: str, held: list[Value], values: list[Value], stream: Value, waits: bool, span: Span
) -> bool:
    """Issue an algorithm on the device memory behind its arguments; False if there is none."""
    for value in values:
        if isinstance(value, ElementPointer | CellPointer):
            touch(machine, value, AccessMode.READ_WRITE, span)
    memory: list[list[Value]] = [
        [each for each in (value, *_inside(whole)) if isinstance(each, DevicePointer | SymbolPointer)]
        for value, whole in zip(values, held, strict=True)
    ]
    if not any(memory):
        return False
    issue(machine, name, used_by(uses_of(name), memory), stream, waits, span)
    return True


def _inside(value: Value) -> list[Value]:
    if isinstance(value, LibraryObject):
        return [part.value if isinstance(part, Cell) else part for part in value.parts()]
    return []


def iterator(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """An iterator over other iterators: the first of them that points to device memory."""
    for operand in operands:
        value = machine.expressions.load(operand, call.span)
        if isinstance(value, DevicePointer | SymbolPointer):
            return value
        for part in _inside(value):
            if isinstance(part, DevicePointer | SymbolPointer):
                return part
    return machine.fresh("iterator", "opaque")
