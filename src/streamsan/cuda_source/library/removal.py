"""std::remove_if, std::erase_if and their kin: which elements stay, when the predicate's answers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsan.cuda_source.library.algorithms import followed, rearrange
from streamsan.cuda_source.library.containers import Vector
from streamsan.cuda_source.library.iterator_ranges import Range, without_policy
from streamsan.cuda_source.library.maps import Map
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import ArrayObject, CallSite, ElementPointer, Operand, Value, held_by
from streamsan.cuda_syntax.tree import Span

Question = Callable[[Operand], Value]


def _predicate(machine: Machine, callee: Value, span: Span) -> Question:
    return lambda element: machine.expressions.load(machine.calls.invoke_value(callee, [element], span), span)


def _equals(machine: Machine, wanted: Operand, span: Span) -> Question:
    value = machine.expressions.load(wanted, span)
    return lambda element: machine.expressions.operators.compare("==", machine.expressions.load(element, span), value)


def _answer(machine: Machine, value: Value, fork: bool) -> bool | None:
    """Return a predicate's answer; an unknown one forks the path if the predicate does more than compute."""
    known = machine.truth(value)
    return machine.decide(value)[0] if known is None and fork else known


def _answers(machine: Machine, elements: list[Operand], question: Question, fork: bool) -> list[bool] | None:
    """Ask about each element in order; None if some answer is not known."""
    found = [_answer(machine, question(element), fork) for element in elements]
    return None if None in found else [bool(answer) for answer in found]


def gather(array: ArrayObject, start: int, gone: list[bool]) -> int:
    """Move the elements that stay to the front, the others behind them; returns where those begin."""
    cells = [array.cells[start + offset] for offset in range(len(gone))]
    ordered = [cell for cell, out in zip(cells, gone, strict=True) if not out]
    kept = len(ordered)
    ordered += [cell for cell, out in zip(cells, gone, strict=True) if out]
    for index, cell in enumerate(ordered, start):
        cell.key = index
        array.cells[index] = cell
    return start + kept


def remove_if(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Gather the elements for which a predicate fails."""
    found = Range(machine, operands, call)
    if not found.rest:
        return rearrange(machine, operands, call)
    callee = held_by(found.rest[0])
    fork = machine.relevance.callee_acts(callee)
    return _gathered(machine, operands, found, _predicate(machine, callee, call.span), fork, call)


def partition(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Gather the elements for which a predicate holds."""
    found = Range(machine, operands, call)
    if not found.rest:
        return rearrange(machine, operands, call)
    callee = held_by(found.rest[0])
    holds = _predicate(machine, callee, call.span)
    unary = machine.expressions.operators.unary
    return _gathered(
        machine, operands, found, lambda e: unary("!", holds(e)), machine.relevance.callee_acts(callee), call
    )


def remove(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Gather the elements that differ from a value; `remove(path)` of <cstdio> deletes a file."""
    operands = without_policy(operands)
    if len(operands) < 2:
        return machine.fresh("remove", "input")
    found = Range(machine, operands, call)
    if not found.rest:
        return rearrange(machine, operands, call)
    return _gathered(machine, operands, found, _equals(machine, found.rest[0], call.span), False, call)


def _gathered(
    machine: Machine, operands: list[Operand], found: Range, question: Question, fork: bool, call: CallSite
) -> Any:
    elements, first = found.elements, found.memory
    start = machine.known(first.index) if isinstance(first, ElementPointer) else None
    if elements is None or not (fork or followed(machine, found)):
        return rearrange(machine, operands, call)
    answers = _answers(machine, elements, question, fork)
    if answers is None or not found.short or not isinstance(start, int) or not isinstance(first, ElementPointer):
        return machine.fresh("result", "opaque")
    return ElementPointer(first.array, gather(first.array, start, answers))


def erase_if(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Erase the elements for which a predicate holds."""
    if len(operands) != 2:
        return machine.fresh("erase_if", "opaque")
    callee = held_by(operands[1])
    question = _predicate(machine, callee, call.span)
    return _erased(machine, operands, question, machine.relevance.callee_acts(callee), call)


def erase(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Erase the elements that equal a value."""
    if len(operands) != 2:
        return machine.fresh("erase", "opaque")
    return _erased(machine, operands, _equals(machine, operands[1], call.span), False, call)


def _erased(machine: Machine, operands: list[Operand], question: Question, fork: bool, call: CallSite) -> Any:
    held = held_by(operands[0])
    if isinstance(held, Vector):
        return erase_where(held, machine, question, fork, call.span)
    if not isinstance(held, Map):
        return machine.unseen.call("std::erase_if", operands, call.span)
    position = count = 0
    for element in held.elements(machine, call.span):
        answer = _answer(machine, question(element), fork)
        if answer is None:
            machine.reach.unfollowed([element.cell], call.span)
            held.complete = False
        if answer:
            held.remove(machine, position, position + 1, call.span)
            count += 1
        else:
            position += 1
    return count


def erase_where(held: Vector, machine: Machine, question: Question, fork: bool, span: Span) -> Any:
    """Erase the elements of a container in a row for which the answer is yes."""
    length = machine.known(held.storage.length)
    answers = _answers(machine, held.elements(machine, span), question, fork)
    if answers is None or not isinstance(length, int) or len(answers) != length:
        machine.reach.unfollowed([held.storage], span)
        held.storage.length = machine.fresh("size", "opaque")
        return machine.fresh("erase", "opaque")
    held.grow(machine, gather(held.storage, 0, answers), None, span)
    return sum(answers)
