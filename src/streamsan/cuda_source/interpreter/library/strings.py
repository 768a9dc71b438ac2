"""std::string, and the C functions that read and write text."""

from __future__ import annotations

import re
from typing import Any

from streamsan.cuda_source.interpreter.library import class_, function
from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, CallSite, Machine
from streamsan.cuda_source.interpreter.library.memory import value_of
from streamsan.cuda_source.interpreter.library.operands import text_of, touch
from streamsan.cuda_source.interpreter.types import CHAR, CType
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

LONGEST_TEXT = 4096
_MUTATORS = {"insert", "erase", "replace", "resize", "pop_back", "swap"}
_NUMBERS = {"size", "length", "find", "rfind", "find_first_of", "find_last_of", "find_first_not_of", "find_last_not_of",
            "compare", "capacity", "max_size", "copy", "starts_with", "ends_with", "contains"}  # fmt: skip


@class_("std::string", "std::string_view", "std::basic_string", "std::wstring", "std::filesystem::path")
class String(LibraryObject):
    """A text, known or not; its characters have an address once the program asks for one."""

    class_name = "std::string"

    def __init__(self, type: CType, text: str | None) -> None:
        super().__init__()
        self.type = type
        self.text = text if text is None or len(text) <= LONGEST_TEXT else None
        self.storage: ArrayObject | None = None

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make from nothing, a literal, another string, or anything else."""
        if not operands:
            return cls(type, "")
        held = held_by(operands[0])
        machine.expressions.load(operands[0], span)
        return cls(type, text_of(held) if len(operands) == 1 else None)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A text from unseen code."""
        return cls(type, None)

    def parts(self) -> list[Any]:
        """The characters, if the program asked for their address."""
        return [self.storage] if self.storage is not None else []

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Copy the text."""
        return String(self.type, self.text)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Hand the text over."""
        made = String(self.type, self.text)
        made.storage, self.storage = self.storage, None
        return made

    def destroy(self, machine: Machine, span: Span) -> None:
        """The characters' memory ends."""
        if self.storage is not None:
            machine.objects.end_array(self.storage, span)

    def length(self) -> Value:
        """Return the number of characters."""
        return len(self.text) if self.text is not None else None

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        """Return a few characters."""
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
        """Call a method."""
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


@function("std::to_string", "to_string", "std::string::basic_string")
def to_string(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A number as text."""
    value = machine.known(value_of(machine, operands, 0, call))
    text = str(value) if isinstance(value, int) else f"{value:f}" if isinstance(value, float) else None
    return machine.statements.temporary(String(CType("std::string"), text))


# -- C text ----------------------------------------------------------------------------------------


def _texts(machine: Machine, operands: list[Operand], call: CallSite) -> list[str | None]:
    found: list[str | None] = []
    for position in range(len(operands)):
        value = value_of(machine, operands, position, call)
        if is_pointer(value):
            touch(machine, value, AccessMode.READ, call.span)
        found.append(text_of(value))
    return found


@function("std::strcmp", "strcmp", "strcasecmp", "strcoll")
def strcmp(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Whether two texts differ."""
    texts = _texts(machine, operands, call)
    if len(texts) == 2 and texts[0] is not None and texts[1] is not None:
        return (texts[0] > texts[1]) - (texts[0] < texts[1])
    return machine.fresh("strcmp", "input")


@function("std::strlen", "strlen", "strnlen")
def strlen(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The length of a text."""
    texts = _texts(machine, operands[:1], call)
    return len(texts[0]) if texts and texts[0] is not None else machine.fresh("strlen", "input")


@function("std::strncmp", "strncmp", "strncasecmp", "std::strspn", "strspn", "strcspn", "std::strcspn",
          "std::atoi", "atoi", "atol", "atoll", "std::atol", "atof", "std::atof")  # fmt: skip
def reads_text(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A number that a text decides."""
    _texts(machine, operands, call)
    return machine.fresh("number", "input")


@function("std::strchr", "strchr", "strrchr", "std::strrchr", "strstr", "std::strstr", "strpbrk", "memchr", "basename")
def searches_text(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A place in the first operand, or NULL."""
    _texts(machine, operands, call)
    return machine.fresh("found", "input")


@function("strtok", "std::strtok", "strtok_r")
def strtok(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A place in the first operand, which is written."""
    first = value_of(machine, operands, 0, call)
    if is_pointer(first):
        touch(machine, first, AccessMode.READ_WRITE, call.span)
    return machine.fresh("token", "input")


@function("std::strtol", "strtol", "strtoul", "strtoll", "strtoull", "strtod", "strtof", "strtold", "std::strtoul",
          "std::strtod", "std::strtof", "std::strtoull", "std::strtoll")  # fmt: skip
def strtol(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A number; the end goes through an out-argument."""
    _texts(machine, operands[:1], call)
    target = value_of(machine, operands, 1, call)
    if is_pointer(target):
        cell = machine.expressions.dereference(target, call.span).cell
        if cell is not None:
            cell.value = machine.fresh("end", "input")
    return machine.fresh("number", "input")


@function("strcpy", "std::strcpy", "strncpy", "std::strncpy", "strcat", "std::strcat", "strncat", "std::strncat",
          "stpcpy", "strlcpy", "strcpy_s", "strncpy_s", "strcat_s")  # fmt: skip
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


@function("strdup", "strndup")
def strdup(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A copy of a text on the heap."""
    texts = _texts(machine, operands[:1], call)
    length: Value = len(texts[0]) + 1 if texts and texts[0] is not None else machine.fresh("size", "input")
    block = ArrayObject(CHAR, length, MemoryKind.HOST_HEAP, span=call.span)
    block.origin = "opaque"
    return ElementPointer(block, 0)


# -- formatted input and output --------------------------------------------------------------------

_DIRECTIVE = re.compile(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j|t|L)?([a-zA-Z%])")


def _printed(machine: Machine, format_text: str | None, values: list[Value], call: CallSite) -> None:
    """What `%s` prints is read."""
    position = 0
    for match in _DIRECTIVE.finditer(format_text or ""):
        if match[3] == "%":
            continue
        position += (match[1] == "*") + (match[2] == "*")
        if match[3] == "s" and position < len(values):
            touch(machine, values[position], AccessMode.READ, call.span)
        position += 1


def _print(fixed: int, target: int | None) -> Any:
    def run(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
        values = [value_of(machine, operands, position, call) for position in range(len(operands))]
        if len(values) > fixed:
            _printed(machine, text_of(values[fixed]), values[fixed + 1 :], call)
        if target is not None and values:
            touch(machine, values[target], AccessMode.WRITE, call.span)
        return machine.fresh("printed", "input")

    return run


function("std::printf", "printf", "wprintf")(_print(0, None))
function("std::fprintf", "fprintf", "dprintf", "syslog")(_print(1, None))
function("std::sprintf", "sprintf")(_print(1, 0))
function("std::snprintf", "snprintf")(_print(2, 0))


@function("puts", "std::puts", "fputs", "std::fputs", "perror")
def puts(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A text is read."""
    _texts(machine, operands, call)
    return machine.fresh("printed", "input")
