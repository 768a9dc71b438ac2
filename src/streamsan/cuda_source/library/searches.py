"""What is asked of a range's elements: which one is sought, whether all are of a kind, how many are.

That is known where each question on the way has a known answer. Whether work is done that a question asks for, the path
decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsan.cuda_source.library.algorithms import reads_range
from streamsan.cuda_source.library.iterator_ranges import Range
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import CallSite, Closure, ElementPointer, Operand, Value
from streamsan.cuda_source.values.terms import combine
from streamsan.vocabulary import AccessMode

Question = Callable[[Operand], Value]


def find_if(machine: Machine, operands: list[Operand], call: CallSite, *, wanted: bool = True) -> Any:
    """The first element of which a condition holds, or does not."""
    found = _one_argument(machine, operands, call)
    return reads_range(machine, operands, call) if found is None else _first(found, _predicate(found), wanted)


def find(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The first element that is equal to a value."""
    found = _one_argument(machine, operands, call)
    return reads_range(machine, operands, call) if found is None else _first(found, _equals(found), True)


def holds(machine: Machine, operands: list[Operand], call: CallSite, *, until: bool, then: bool) -> Any:
    """Whether a condition holds of elements: it is `then` where one of them has the answer `until`."""
    found = _one_argument(machine, operands, call)
    if found is None:
        return reads_range(machine, operands, call)
    at = _position(found, _predicate(found), until)
    return machine.fresh("result", "opaque") if at is None else int(then == (at < len(found.elements)))


def count_if(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Of how many elements a condition holds."""
    found = _one_argument(machine, operands, call)
    return reads_range(machine, operands, call) if found is None else _number(found, _predicate(found))


def count(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """How many elements are equal to a value."""
    found = _one_argument(machine, operands, call)
    return reads_range(machine, operands, call) if found is None else _number(found, _equals(found))


def extreme_element(machine: Machine, operands: list[Operand], call: CallSite, *, smallest: bool) -> Any:
    """The first element that no other one is before, or behind, by `<` or what is given in its place."""
    found = _known_range(machine, operands, call)
    if found is None or not found.elements or len(found.rest) > 1 or _issues(machine, found):
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


class _Asked:
    """A range of which each element is known, and what is asked of each."""

    def __init__(self, machine: Machine, found: Range, elements: list[Operand], call: CallSite) -> None:
        self.machine = machine
        self.range = found
        self.elements = elements
        self.given = found.rest[0]
        self.span = call.span


def _one_argument(machine: Machine, operands: list[Operand], call: CallSite) -> _Asked | None:
    """Return the range, if each element is known and one argument says what is asked."""
    found = _known_range(machine, operands, call)
    if found is None or found.elements is None or len(found.rest) != 1:
        return None
    found.touch(machine, AccessMode.READ, call)
    return _Asked(machine, found, found.elements, call)


def _predicate(asked: _Asked) -> Question:
    machine, span = asked.machine, asked.span
    return lambda element: machine.expressions.load(machine.calls.invoke_value(asked.given.held, [element], span), span)


def _equals(asked: _Asked) -> Question:
    load, compare = asked.machine.expressions.load, asked.machine.expressions.operators.compare
    return lambda element: compare("==", load(element, asked.span), load(asked.given, asked.span))


def _first(asked: _Asked, question: Question, wanted: bool) -> Any:
    at = _position(asked, question, wanted)
    return asked.machine.fresh("result", "opaque") if at is None else _place(asked.range, at)


def _position(asked: _Asked, question: Question, wanted: bool) -> int | None:
    """Return which element is the first with this answer, or how many there are; None: that is not known."""
    machine = asked.machine
    for at, element in enumerate(asked.elements):
        value = question(element)
        answer = machine.truth(value)
        if answer is None and machine.device.asked(value):
            answer, _ = machine.decide(value, likely=None)
        if answer is None:
            _ask_the_others(asked, question, at + 1)
            return None
        if answer == wanted:
            return at
    return len(asked.elements)


def _number(asked: _Asked, question: Question) -> Any:
    """Return how many elements have the answer yes."""
    machine, operators = asked.machine, asked.machine.expressions.operators
    number: Value = 0
    for at, element in enumerate(asked.elements):
        value = question(element)
        if machine.truth(value) is None and not machine.device.asked(value):
            _ask_the_others(asked, question, at + 1)
            return machine.fresh("result", "opaque")
        number = operators.arithmetic("+", number, operators.unary("!", operators.unary("!", value)))
    return number


def _ask_the_others(asked: _Asked, question: Question, first: int) -> None:
    """What is answered is not known any more; what is done to find that out is done."""
    held = asked.given.held
    if isinstance(held, Closure) and asked.machine.relevance.closure_issues(held):
        for element in asked.elements[first:]:
            question(element)


def _known_range(machine: Machine, operands: list[Operand], call: CallSite) -> Range | None:
    """Return the range, if each element is known."""
    found = Range(machine, operands, call)
    return found if found.short and isinstance(found.memory, ElementPointer) else None


def _issues(machine: Machine, found: Range) -> bool:
    """Tell whether something is issued where elements are looked at."""
    closures = [each.held for each in found.rest if isinstance(each.held, Closure)]
    return any(machine.relevance.closure_issues(each) for each in closures)


def _place(found: Range, at: int) -> ElementPointer:
    assert isinstance(found.memory, ElementPointer)
    return ElementPointer(found.memory.array, combine("+", found.memory.index, at))
