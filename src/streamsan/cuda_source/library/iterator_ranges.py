"""Iterators and ranges: std::begin and std::end, and what the first operands of an algorithm say."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_data import (
    LARGEST_RANGE,
    elements_between,
    range_size,
    touch,
    value_of,
)
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    CallSite,
    ElementPointer,
    LibraryObject,
    Operand,
    StructObject,
    Value,
    held_by,
)
from streamsan.cuda_source.values.terms import combine
from streamsan.vocabulary import AccessMode


def ask(machine: Machine, operands: list[Operand], call: CallSite, *, method: str) -> Any:
    """What a method of a range or container answers: `begin`, `end`, `rbegin`, `rend`, `size`."""
    held = held_by(operands[0]) if operands else None
    if isinstance(held, ArrayObject) and method == "size":
        return held.length if held.length is not None else machine.fresh("size", "opaque")
    if isinstance(held, ArrayObject):
        return ElementPointer(held, held.length if method == "end" else 0)
    found = machine.calls.call_method(operands[0], method, [], call.span) if operands else None
    return found if found is not None else machine.fresh(method, "opaque")


def distance(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The number of steps between two iterators."""
    if len(operands) != 2:
        return machine.fresh("distance", "opaque")
    first, last = value_of(machine, operands, 0, call), value_of(machine, operands, 1, call)
    return machine.expressions.operators.arithmetic("-", last, first)


def next_(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """An iterator some steps on."""
    steps = value_of(machine, operands, 1, call) if len(operands) > 1 else 1
    return machine.expressions.operators.arithmetic("+", value_of(machine, operands, 0, call), steps)


def advance(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Moves an iterator."""
    if len(operands) == 2 and operands[0].cell is not None:
        moved = machine.expressions.operators.arithmetic(
            "+", value_of(machine, operands, 0, call), value_of(machine, operands, 1, call)
        )
        operands[0].cell.value = moved
    return None


def without_policy(operands: list[Operand]) -> list[Operand]:
    """Leave `std::execution::par` out."""
    held = held_by(operands[0]) if operands else None
    policy = "execution::" in getattr(held, "name", "") or getattr(held, "class_name", "") == "thrust::execution_policy"
    return operands[1:] if policy else operands


class Range:
    """What an algorithm's first operands say: the elements, the memory, and the operands after them."""

    def __init__(self, machine: Machine, operands: list[Operand], call: CallSite, counted: bool = False) -> None:
        operands = without_policy(operands)
        held = held_by(operands[0]) if operands else None
        self.size: Value = None
        self.elements: list[Operand] | None = None
        second = machine.expressions.load(operands[1], call.span) if len(operands) > 1 else None
        iterators = isinstance(held, ArrayObject) and (counted or isinstance(second, ElementPointer))
        if isinstance(held, ArrayObject | LibraryObject | StructObject) and not iterators:  # std::ranges
            first = machine.calls.call_method(operands[0], "begin", [], call.span)
            last = machine.calls.call_method(operands[0], "end", [], call.span)
            self.memory: Value = machine.expressions.load(first, call.span) if first is not None else held
            self.last: Value = machine.expressions.load(last, call.span) if last is not None else None
            if isinstance(held, ArrayObject):
                self.memory, self.last = ElementPointer(held, 0), ElementPointer(held, held.length)
            self.rest = operands[1:]
        else:
            self.memory = value_of(machine, operands, 0, call)
            self.last = value_of(machine, operands, 1, call)
            if counted and isinstance(self.memory, ElementPointer):
                self.last = ElementPointer(self.memory.array, combine("+", self.memory.index, self.last))
            self.rest = operands[2:]
        self.size = range_size(machine, self.memory, self.last)
        self.elements = elements_between(machine, self.memory, self.last)
        first_index = getattr(self.memory, "index", None)
        last_index = getattr(self.last, "index", None)
        count = combine("-", last_index, first_index) if None not in (first_index, last_index) else None
        self.count = machine.known(count)

    def touch(self, machine: Machine, mode: AccessMode, call: CallSite) -> None:
        """Host code touches the range."""
        touch(machine, self.memory, mode, call.span, self.size)

    @property
    def short(self) -> bool:
        """Every element is visited."""
        return isinstance(self.count, int) and self.count <= LARGEST_RANGE
