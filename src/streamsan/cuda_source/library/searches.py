"""Which element of a range is sought: found where each question on the way has a known answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsan.cuda_source.library.algorithms import reads_range
from streamsan.cuda_source.library.iterator_ranges import Range
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import CallSite, Closure, ElementPointer, Operand
from streamsan.cuda_source.values.terms import combine
from streamsan.vocabulary import AccessMode


def find_if(machine: Machine, operands: list[Operand], call: CallSite, *, wanted: bool = True) -> Any:
    """The first element of which a condition holds, or does not."""

    def is_it(element: Operand, given: Operand) -> bool | None:
        answer = machine.calls.invoke_value(given.held, [element], call.span)
        known = machine.truth(machine.expressions.load(answer, call.span))
        return None if known is None else known == wanted

    return _first(machine, operands, call, is_it)


def find(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The first element that is equal to a value."""

    def is_it(element: Operand, given: Operand) -> bool | None:
        values = [machine.expressions.load(each, call.span) for each in (element, given)]
        return machine.truth(machine.expressions.operators.compare("==", *values))

    return _first(machine, operands, call, is_it)


def extreme_element(machine: Machine, operands: list[Operand], call: CallSite, *, smallest: bool) -> Any:
    """The first element that no other one is before, or behind, by `<` or what is given in its place."""
    found = _known_range(machine, operands, call)
    if found is None or not found.elements or len(found.rest) > 1:
        return reads_range(machine, operands, call)
    found.touch(machine, AccessMode.READ, call)
    best = 0
    for at in range(1, len(found.elements)):
        pair = [found.elements[at], found.elements[best]]
        if not smallest:
            pair.reverse()
        if found.rest:
            answer = machine.expressions.load(
                machine.calls.invoke_value(found.rest[0].held, pair, call.span), call.span
            )
        else:
            first, second = (machine.expressions.load(each, call.span) for each in pair)
            answer = machine.expressions.operators.compare("<", first, second)
        known = machine.truth(answer)
        if known is None:
            return machine.fresh("result", "opaque")
        if known:
            best = at
    return _place(found, best)


def _first(
    machine: Machine,
    operands: list[Operand],
    call: CallSite,
    is_it: Callable[[Operand, Operand], bool | None],
) -> Any:
    found = _known_range(machine, operands, call)
    if found is None or len(found.rest) != 1:
        return reads_range(machine, operands, call)
    found.touch(machine, AccessMode.READ, call)
    elements = found.elements or []
    for at, element in enumerate(elements):
        answer = is_it(element, found.rest[0])
        if answer is None:
            return machine.fresh("result", "opaque")
        if answer:
            return _place(found, at)
    return _place(found, len(elements))


def _known_range(machine: Machine, operands: list[Operand], call: CallSite) -> Range | None:
    """Return the range, if each element is known and nothing is issued where one is looked at."""
    found = Range(machine, operands, call)
    if not found.short or found.elements is None or not isinstance(found.memory, ElementPointer):
        return None
    closures = [each.held for each in found.rest if isinstance(each.held, Closure)]
    return None if any(machine.relevance.closure_issues(each) for each in closures) else found


def _place(found: Range, at: int) -> ElementPointer:
    assert isinstance(found.memory, ElementPointer)
    return ElementPointer(found.memory.array, combine("+", found.memory.index, at))
