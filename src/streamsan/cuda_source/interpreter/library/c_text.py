"""C text: the functions whose answer or target is followed."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library.face import CallSite, Machine
from streamsan.cuda_source.interpreter.library.host_data import text_of, touch, value_of
from streamsan.cuda_source.interpreter.types import CHAR
from streamsan.cuda_source.interpreter.values import ArrayObject, ElementPointer, Operand, Value, is_pointer
from streamsan.vocabulary import AccessMode, MemoryKind


def _texts(machine: Machine, operands: list[Operand], call: CallSite) -> list[str | None]:
    found: list[str | None] = []
    for position in range(len(operands)):
        value = value_of(machine, operands, position, call)
        if is_pointer(value):
            touch(machine, value, AccessMode.READ, call.span)
        found.append(text_of(value))
    return found


def strcmp(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Whether two texts differ."""
    texts = _texts(machine, operands, call)
    if len(texts) == 2 and texts[0] is not None and texts[1] is not None:
        return (texts[0] > texts[1]) - (texts[0] < texts[1])
    return machine.fresh("strcmp", "input")


def strlen(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The length of a text."""
    texts = _texts(machine, operands[:1], call)
    return len(texts[0]) if texts and texts[0] is not None else machine.fresh("strlen", "input")


def strcpy(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Host code reads one text and writes another."""
    checked = len(operands) == 3 and is_pointer(value_of(machine, operands, 2, call))  # strcpy_s(to, size, from)
    target, source = value_of(machine, operands, 0, call), value_of(machine, operands, 2 if checked else 1, call)
    touch(machine, source, AccessMode.READ, call.span)
    touch(machine, target, AccessMode.WRITE, call.span)
    if isinstance(target, ElementPointer):
        target.array.cells = {key: cell for key, cell in target.array.cells.items() if is_pointer(cell.value)}
        target.array.origin = "opaque"
    return target


def strdup(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A copy of a text on the heap."""
    texts = _texts(machine, operands[:1], call)
    length: Value = len(texts[0]) + 1 if texts and texts[0] is not None else machine.fresh("size", "input")
    block = ArrayObject(CHAR, length, MemoryKind.HOST_HEAP, span=call.span)
    block.origin = "opaque"
    return ElementPointer(block, 0)
