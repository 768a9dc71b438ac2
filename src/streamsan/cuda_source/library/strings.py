"""std::string, and the C functions that read and write text."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_data import text_of, touch, value_of
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    ArrayObject,
    CallSite,
    Cell,
    ElementPointer,
    LibraryObject,
    Operand,
    Value,
    held_by,
)
from streamsan.cuda_source.values.types import CHAR, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.vocabulary import AccessMode, MemoryKind

LONGEST_TEXT = 4096
_MUTATORS = {"insert", "erase", "replace", "resize", "pop_back", "swap"}
_NUMBERS = {"size", "length", "find", "rfind", "find_first_of", "find_last_of", "find_first_not_of", "find_last_not_of",
            "compare", "capacity", "max_size", "copy", "starts_with", "ends_with", "contains"}  # fmt: skip


class String(Modelled):
    """A text, known or not; its characters have an address once the program asks for one."""

    class_name = "std::string"
    contents = ("text",)
    own_parts = ("storage",)
    copy = Modelled.another

    def __init__(self, type: CType, text: str | None = None) -> None:
        super().__init__(type)
        self.text = text if text is None or len(text) <= LONGEST_TEXT else None
        self.storage: ArrayObject | None = None

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        """Hold a literal's or another string's text; of anything else, an unknown one."""
        self.text = ""
        if operands:
            held = held_by(operands[0])
            machine.expressions.load(operands[0], span)
            self.become(machine, text_of(held) if len(operands) == 1 else None, span)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        made = String(self.type, self.text)
        made.storage, self.storage = self.storage, None
        return made

    def destroy(self, machine: Machine, span: Span) -> None:
        if self.storage is not None:
            machine.objects.end_array(self.storage, span)

    def length(self) -> Value:
        return len(self.text) if self.text is not None else None

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        count = len(self.text) if self.text is not None else machine.limits.unknown_iterations
        return [Operand(machine.fresh("char", "opaque")) for _ in range(count)]

    def characters(self, machine: Machine, span: Span) -> ArrayObject:
        """Return the characters' memory."""
        if self.storage is None:
            length: Value = len(self.text) if self.text is not None else machine.fresh("size", "opaque")
            self.storage = ArrayObject(CHAR, length, MemoryKind.HOST_HEAP, self.cell.name if self.cell else "", span)
            self.storage.origin = "opaque"
        return self.storage

    def become(self, machine: Machine, text: str | None, span: Span) -> None:
        """Replace the text."""
        if self.storage is not None:
            touch(machine, ElementPointer(self.storage, 0), AccessMode.WRITE, span)
        self.text = text if text is None or len(text) <= LONGEST_TEXT else None

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        for operand in operands:
            machine.expressions.load(operand, span)
        given = text_of(held_by(operands[0])) if operands else None
        if method in ("c_str", "str", "string", "generic_string"):
            if self.storage is not None:
                return ElementPointer(self.storage, 0)
            return self.text if self.text is not None else machine.fresh("c_str", "input")
        if method in ("data", "begin", "cbegin"):
            return ElementPointer(self.characters(machine, span), 0)
        if method in ("end", "cend"):
            storage = self.characters(machine, span)
            return ElementPointer(storage, storage.length)
        if method in ("operator[]", "at", "front", "back"):
            return self._character(machine, method, operands, span)
        if method in ("size", "length") and self.text is not None:
            return len(self.text)
        if method == "empty":
            return int(not self.text) if self.text is not None else machine.fresh("empty", "opaque")
        if method in ("operator=", "operator+=", "append", "push_back", "assign"):
            return self._change(machine, method, operands, given, span)
        if method == "operator+":
            joined = self.text + given if self.text is not None and given is not None else None
            return machine.statements.temporary(String(self.type, joined))
        if method == "operator/":
            return machine.statements.temporary(String(self.type, None))
        if method in ("operator==", "operator!=", "compare") and self.text is not None and given is not None:
            same = self.text == given
            return int(same == (method == "operator==")) if method != "compare" else int(not same)
        if method == "substr":
            return machine.statements.temporary(String(self.type, self._part(machine, operands, span)))
        if method in ("reserve", "shrink_to_fit"):
            return None
        if method in _MUTATORS or method == "clear":
            self.become(machine, "" if method == "clear" else None, span)
            return Operand(self, self.cell)
        if method in _NUMBERS or method.startswith("operator"):
            return machine.fresh(method, "input")
        if method in ("rbegin", "rend", "filename", "extension", "stem", "parent_path"):
            return machine.statements.temporary(String(self.type, None))
        return NOT_MODELLED

    def _part(self, machine: Machine, operands: list[Operand], span: Span) -> str | None:
        numbers = [machine.known(machine.expressions.load(operand, span)) for operand in operands]
        if self.text is None or not numbers or not all(isinstance(number, int) and number >= 0 for number in numbers):
            return None
        start = numbers[0]
        assert isinstance(start, int)
        length = numbers[1] if len(numbers) > 1 else len(self.text)
        assert isinstance(length, int)
        return self.text[start : start + length]

    def _character(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if self.storage is not None and operands:
            index = machine.known(machine.expressions.load(operands[0], span))
            return Operand(cell=machine.objects.element(self.storage, index))
        cell = Cell(machine.fresh("char", "input"), CHAR)
        cell.owner = self.characters(machine, span)
        cell.key = machine.known(machine.expressions.load(operands[0], span)) if operands else None
        return Operand(cell=cell)

    def _change(self, machine: Machine, method: str, operands: list[Operand], given: str | None, span: Span) -> Operand:
        if method in ("operator=", "assign"):
            self.become(machine, given if len(operands) == 1 else None, span)
        elif self.text is not None and given is not None and len(operands) == 1:
            self.become(machine, self.text + given, span)
        else:
            self.become(machine, None, span)
        return Operand(self, self.cell)


def to_string(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A number as text."""
    value = machine.known(value_of(machine, operands, 0, call))
    text = str(value) if isinstance(value, int) else f"{value:f}" if isinstance(value, float) else None
    return machine.statements.temporary(String(CType("std::string"), text))
