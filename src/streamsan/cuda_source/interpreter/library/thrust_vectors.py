"""thrust::device_vector, and the algorithms that use it: each waits for its own stream before it returns."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from streamsan.cuda_source.interpreter.library import class_, constants, family, function, is_class
from streamsan.cuda_source.interpreter.library.algorithms import copy_range
from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, CallSite, FunctionModel, Machine
from streamsan.cuda_source.interpreter.library.operands import touch, type_argument
from streamsan.cuda_source.interpreter.library.ranges import Range
from streamsan.cuda_source.interpreter.library.sequences import Sequence
from streamsan.cuda_source.interpreter.terms import combine
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Operand,
    SymbolPointer,
    Value,
    held_by,
    is_pointer,
)
from streamsan.cuda_syntax.tree import Span
from streamsan.model import values as model_values
from streamsan.model.values import Handle, Origin
from streamsan.vocabulary import AccessMode


def run(machine: Machine, name: str, values: list[Value], stream: Value, waits: bool, span: Span) -> None:
    """Issue an algorithm on a stream; it is complete when the call returns, unless it was told not to wait."""
    device = machine.device
    arguments: list[tuple[model_values.Value, AccessMode]] = [
        (device.address(value, span), AccessMode.OPAQUE)
        for value in values
        if isinstance(value, DevicePointer | SymbolPointer)
    ]
    where = device.plain(stream)
    device.model.launch(device.thread, name, arguments, where, device.site(span, name))
    if waits:
        device.model.query_succeeded(device.thread, where, device.site(span))


@class_("thrust::device_vector", "thrust::universal_vector", "rmm::device_vector")
class DeviceVector(LibraryObject):
    """Elements in device memory: `cudaMalloc` when it is made or grows, `cudaFree` when it ends."""

    class_name = "thrust::device_vector"

    def __init__(self, type: CType) -> None:
        super().__init__()
        self.type = type
        self.element = type_argument(type, 0)
        self.memory = Cell(0, self.element.pointer_to(), "")
        self.count: Value = 0

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make one from nothing, a length, a range, or another vector."""
        made = cls(type)
        made.memory.name = cell.name if cell is not None else ""
        if not operands:
            return made
        held = held_by(operands[0])
        if isinstance(held, DeviceVector):
            if operands[0].cell is None:
                machine.statements.keep(held)
                return held
            return held.move(machine, span) if operands[0].moved else held.copy(machine, span)
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

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A vector from unseen code."""
        made = cls(type)
        made.memory.value = machine.objects.unknown(made.memory.type, name, origin)
        made.count = machine.fresh(f"{name}.size()", origin)
        return made

    def allocate(self, machine: Machine, count: Value, span: Span) -> None:
        """Get memory for a number of elements; the old memory is freed."""
        self.release(machine, span)
        self.count = count
        if count == 0:
            return
        size = machine.objects.size_of(self.element)
        bytes_ = combine("*", count, size) if count is not None and size is not None else None
        given = bytes_ if bytes_ is not None else machine.fresh("bytes", "opaque")
        self.memory.value = 0
        machine.api.function("cudaMalloc").run(machine, [Operand(CellPointer(self.memory)), Operand(given)], span)

    def release(self, machine: Machine, span: Span) -> None:
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
        """The memory."""
        return [self.memory.value]

    def length(self) -> Value:
        """Return the number of elements, if it is a number."""
        return self.count if isinstance(self.count, int) else None

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy the elements into new memory."""
        made = type(self)(self.type)
        made.allocate(machine, self.count, span)
        made.fill_from(machine, self.memory.value, span)
        return made

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Hand the memory over."""
        made = type(self)(self.type)
        self.exchange(made)
        return made

    def exchange(self, other: DeviceVector) -> None:
        """Swap the memory."""
        self.memory.value, other.memory.value = other.memory.value, self.memory.value
        self.count, other.count = other.count, self.count

    def destroy(self, machine: Machine, span: Span) -> None:
        """Free the memory."""
        self.release(machine, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
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
                self.release(machine, span)
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

    def __init__(self, stream: Value, waits: bool) -> None:
        super().__init__()
        self.stream = stream
        self.waits = waits

    def parts(self) -> list[Any]:
        """The stream."""
        return [self.stream]

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method: `on(stream)`."""
        if method == "on" and operands:
            return Policy(machine.expressions.load(operands[0], span), self.waits)
        return self


constants({"par": Policy(0, waits=True), "par_nosync": Policy(0, waits=False), "par_unseq": Policy(0, waits=True)})


@function("thrust::raw_pointer_cast", "raw_pointer_cast", "thrust::device_pointer_cast", "thrust::device_ptr",
          "thrust::device_pointer", "thrust::get_raw_pointer")  # fmt: skip
def same_pointer(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The same address."""
    if not operands:
        return 0
    value = machine.expressions.load(operands[0], call.span)
    return value.memory.value if isinstance(value, DeviceVector) else value


_ALGORITHM = re.compile(r"(thrust|cub)::(?!cuda|host|raw|make_|get|tuple|pair|zip|counting|device_|host_)(\w+::)*\w+$")
_ITERATORS = re.compile(r"thrust::make_\w+_iterator$")


def _algorithm(name: str, machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    held = [held_by(operand) for operand in operands]
    policy = next((value for value in held if isinstance(value, Policy)), None)
    operands = [operand for operand, value in zip(operands, held, strict=True) if not isinstance(value, Policy)]
    values = [machine.expressions.load(operand, call.span) for operand in operands]
    if name == "thrust::copy" and len(operands) == 3 and all(isinstance(v, ElementPointer) for v in values):
        return copy_range(machine, Range(machine, operands, call), call, moved=False)
    stream: Value = policy.stream if policy is not None else 0
    cub = name.startswith("cub::")
    if cub:
        stream = next((value for value in values if isinstance(value, Handle) and value.type == "stream"), 0)
        if values and machine.objects.is_null(values[0]):  # the call that asks how much memory is needed
            if len(operands) > 1 and operands[1].cell is not None:
                operands[1].cell.value = machine.fresh(operands[1].cell.name, "opaque")
            return 0
    for value in values:
        if isinstance(value, ElementPointer | CellPointer):
            touch(machine, value, AccessMode.READ_WRITE, call.span)
    reached = [*values, *(part for value in held for part in _inside(value))]
    if not any(isinstance(value, DevicePointer | SymbolPointer) for value in reached):
        return 0 if cub else machine.fresh(name, "input")
    waits = not cub and not name.startswith("thrust::async") and (policy is None or policy.waits)
    run(machine, name, reached, stream, waits, call.span)
    if cub:
        return 0
    returned = [value for value in values if isinstance(value, DevicePointer)]
    if name.rpartition("::")[2] in ("copy", "transform", "unique", "remove", "remove_if", "copy_if") and returned:
        return machine.expressions.operators.arithmetic("+", returned[-1], machine.fresh("count", "opaque"))
    return machine.fresh(name, "input")


def _inside(value: Value) -> list[Value]:
    if isinstance(value, LibraryObject):
        return [part.value if isinstance(part, Cell) else part for part in value.parts()]
    return []


def _iterator(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    for operand in operands:
        value = machine.expressions.load(operand, call.span)
        if isinstance(value, DevicePointer | SymbolPointer):
            return value
        for part in _inside(value):
            if isinstance(part, DevicePointer | SymbolPointer):
                return part
    return machine.fresh("iterator", "opaque")


@family
def find_algorithm(name: str) -> FunctionModel | None:
    """Return the model of an algorithm of Thrust or CUB."""
    if is_class(name):
        return None
    if _ITERATORS.match(name):
        return _iterator
    return partial(_algorithm, name) if _ALGORITHM.match(name) else None


__all__ = ["DeviceVector", "Policy", "find_algorithm", "run"]
