"""The algorithms of the standard library, over iterators and ranges.

Numbers are not followed through an algorithm: it touches memory and forgets them. Pointers, handles and objects are,
and a function that an algorithm calls runs for each element (of a long range, for the first and the last few).
"""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.containers import Vector
from streamsan.cuda_source.library.host_data import (
    LARGEST_RANGE,
    forget_numbers,
    same_block,
    text_of,
    touch,
    value_of,
)
from streamsan.cuda_source.library.iterator_ranges import Range, without_policy
from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    CallSite,
    Closure,
    FunctionValue,
    LibraryObject,
    Native,
    Operand,
    StructObject,
    Value,
    held_by,
    is_pointer,
)
from streamsan.vocabulary import AccessMode


def _is_callable(value: Value) -> bool:
    return isinstance(value, Closure | FunctionValue | Native) or (
        isinstance(value, StructObject) and value.cls is not None and value.cls.find_method("operator()") is not None
    )


def followed(machine: Machine, found: Range) -> bool:
    """Tell whether the elements hold more than numbers."""
    for element in (found.elements or [])[:2]:
        value = element.held
        if is_pointer(value) or isinstance(value, LibraryObject | StructObject | ArrayObject):
            return True
        type = machine.expressions.type_of(element)
        if type.pointers or machine.objects.is_class(type) or type.name in ("cudaStream_t", "cudaEvent_t", "CUstream"):
            return True
    return False


# -- algorithms that call --------------------------------------------------------------------------


def for_each(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Call a function for each element."""
    found = Range(machine, operands, call)
    callee = held_by(found.rest[0]) if found.rest else None
    if found.elements is None or not _is_callable(callee):
        return rearrange(machine, operands, call)
    for element in found.elements:
        machine.calls.invoke_value(callee, [element], call.span)
    return found.rest[0]


def transform(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Assign what a function makes of each element."""
    found = Range(machine, operands, call)
    if len(found.rest) < 2:
        return rearrange(machine, operands, call)
    target, callee = value_of(machine, found.rest, len(found.rest) - 2, call), held_by(found.rest[-1])
    insert = held_by(found.rest[-2])
    second = value_of(machine, found.rest, 0, call) if len(found.rest) > 2 else None
    found.touch(machine, AccessMode.READ, call)
    if second is not None:
        touch(machine, second, AccessMode.READ, call.span, found.size)
    if not machine.relevance.callee_acts(callee) and not followed(machine, found) and not isinstance(insert, Inserter):
        touch(machine, target, AccessMode.WRITE, call.span, found.size)
        forget_numbers(target)
        return _moved_by(machine, target, found.count)
    if found.elements is None:
        return rearrange(machine, operands, call)
    for position, element in enumerate(found.elements):
        given = [element]
        if second is not None:
            other = machine.expressions.operators.arithmetic("+", second, position)
            given.append(machine.expressions.dereference(other, call.span))
        result = machine.calls.invoke_value(callee, given, call.span)
        if isinstance(insert, Inserter):
            insert.put(machine, result, call)
        else:
            place = machine.expressions.operators.arithmetic("+", target, position)
            machine.expressions.assign(machine.expressions.dereference(place, call.span), result, call.span)
    return found.rest[-2] if isinstance(insert, Inserter) else _moved_by(machine, target, found.count)


def _moved_by(machine: Machine, target: Value, count: Value) -> Value:
    if count is None:
        return machine.fresh("iterator", "opaque")
    return machine.expressions.operators.arithmetic("+", target, count)


def generate(machine: Machine, operands: list[Operand], call: CallSite, *, counted: bool = False) -> Any:
    """Assign what a function gives to each element of a range, or of the first elements."""
    operands = without_policy(operands)
    insert = held_by(operands[0]) if operands else None
    if counted and isinstance(insert, Inserter) and len(operands) > 2:
        count = machine.known(value_of(machine, operands, 1, call))
        times = min(count, LARGEST_RANGE) if isinstance(count, int) else machine.limits.unknown_iterations
        for _ in range(times):
            insert.put(machine, machine.calls.invoke_value(held_by(operands[2]), [], call.span), call)
        return operands[0]
    found = Range(machine, operands, call, counted)
    callee = held_by(found.rest[0]) if found.rest else None
    if found.elements is not None and machine.relevance.callee_acts(callee) and followed(machine, found):
        for element in found.elements:
            machine.expressions.assign(element, machine.calls.invoke_value(callee, [], call.span), call.span)
        return found.last
    found.touch(machine, AccessMode.WRITE, call)
    forget_numbers(found.memory)
    return found.last


# -- algorithms that write -------------------------------------------------------------------------


def fill(machine: Machine, operands: list[Operand], call: CallSite, *, counted: bool = False) -> Any:
    """Assign a value to each element of a range, or of the first elements."""
    found = Range(machine, operands, call, counted)
    found.touch(machine, AccessMode.WRITE, call)
    if found.short and found.rest:
        for element in found.elements or []:
            machine.expressions.assign(element, found.rest[0], call.span)
    else:
        forget_numbers(found.memory)
    return found.last


def iota(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Numbers in a row."""
    found = Range(machine, operands, call)
    found.touch(machine, AccessMode.WRITE, call)
    value = machine.known(value_of(machine, found.rest, 0, call))
    if found.short and isinstance(value, int) and found.elements is not None:
        for step, element in enumerate(found.elements):
            machine.expressions.assign(element, Operand(value + step), call.span)
    else:
        forget_numbers(found.memory)
    return None


def copy(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Copy elements to another place."""
    operands = without_policy(operands)
    counted = len(operands) == 3 and not is_pointer(value_of(machine, operands, 1, call))
    return copy_range(machine, Range(machine, operands, call, counted), call, moved=False)


def copy_range(machine: Machine, found: Range, call: CallSite, moved: bool) -> Any:
    """Copy or move a range to where the next operand points."""
    if not found.rest:
        return machine.fresh("iterator", "opaque")
    target, insert = value_of(machine, found.rest, 0, call), held_by(found.rest[0])
    found.touch(machine, AccessMode.READ, call)
    touch(machine, target, AccessMode.WRITE, call.span, found.size)
    if found.elements is not None and (isinstance(insert, Inserter) or found.short or followed(machine, found)):
        for position, element in enumerate(found.elements):
            source = Operand(element.value, element.cell, moved)
            if isinstance(insert, Inserter):
                insert.put(machine, source, call)
            elif is_pointer(target):
                place = machine.expressions.operators.arithmetic("+", target, position)
                machine.expressions.assign(machine.expressions.dereference(place, call.span), source, call.span)
    else:
        forget_numbers(target)
    return found.rest[0] if isinstance(insert, Inserter) else _moved_by(machine, target, found.count)


def rearrange(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Memory is read and written in a way that is not followed: which number is where is no longer known."""
    operands = without_policy(operands)
    seen: list[Value] = []
    for operand in operands:
        held = held_by(operand)
        if isinstance(held, Inserter):
            held.lengthen(machine)
            continue
        value = machine.expressions.load(operand, call.span)
        if is_pointer(value) or isinstance(value, Sequence):
            if any(same_block(value, other) for other in seen):
                continue
            seen.append(value)
            touch(machine, value, AccessMode.READ_WRITE, call.span)
            forget_numbers(value)
        elif _is_callable(value) and machine.relevance.callee_acts(value) and not isinstance(value, Closure):
            return machine.unseen.call("an algorithm's function", operands, call.span)
    return machine.fresh("result", "opaque")


# -- algorithms that read --------------------------------------------------------------------------


def reads_range(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A number or place that the elements decide."""
    found = Range(machine, operands, call)
    found.touch(machine, AccessMode.READ, call)
    for operand in found.rest:
        value = machine.expressions.load(operand, call.span)
        if is_pointer(value):
            touch(machine, value, AccessMode.READ, call.span, found.size)
        elif isinstance(value, Closure) and machine.relevance.closure_issues(value):
            # The functions that take two are given what the elements before came to, or one of those.
            before = [Operand(machine.fresh("result", "opaque"))] * (len(value.node.parameters) - 1)
            for element in (found.elements or [])[:LARGEST_RANGE]:
                machine.calls.invoke_value(value, [*before, element], call.span)
    return machine.fresh("result", "opaque")


def accumulate(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The sum of the elements, or what a lambda makes of them one after the other."""
    found = Range(machine, operands, call)
    callee = found.rest[1].held if len(found.rest) > 1 else None
    if not found.short or found.elements is None or not found.rest or not isinstance(callee, Closure | None):
        return reads_range(machine, operands, call)
    found.touch(machine, AccessMode.READ, call)
    total = found.rest[0]
    for element in found.elements:
        if callee is not None:
            total = machine.calls.invoke_value(callee, [total, element], call.span)
            continue
        sides = [machine.expressions.load(each, call.span) for each in (total, element)]
        total = Operand(machine.expressions.operators.arithmetic("+", *sides))
    return machine.expressions.load(total, call.span)


def memcmp(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Two blocks are read."""
    size = machine.known(value_of(machine, operands, 2, call))
    for position in (0, 1):
        touch(machine, value_of(machine, operands, position, call), AccessMode.READ, call.span, size)
    first, second = (text_of(value_of(machine, operands, position, call)) for position in (0, 1))
    if first is not None and second is not None and isinstance(size, int):
        return int(first[:size] != second[:size])
    return machine.fresh("memcmp", "input")


# -- inserting iterators, execution policies -------------------------------------------------------


class Inserter(LibraryObject):
    """What `std::back_inserter` gives: assigning to it appends."""

    class_name = "std::back_insert_iterator"

    def __init__(self, target: Operand, method: str) -> None:
        super().__init__()
        self.target = target
        self.method = method

    def parts(self) -> list[Any]:
        return [held_by(self.target)]

    def put(self, machine: Machine, operand: Operand, call: CallSite) -> None:
        """Append an element."""
        machine.calls.call_method(self.target, self.method, [operand], call.span)

    def lengthen(self, machine: Machine) -> None:
        """Some elements were appended."""
        held = held_by(self.target)
        if isinstance(held, Vector):
            held.storage.length = machine.fresh("size", "opaque")


def back_inserter(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """An iterator that appends."""
    held = held_by(operands[0]) if operands else None
    return Inserter(operands[0], "push_back" if isinstance(held, Sequence) else "insert") if operands else None
