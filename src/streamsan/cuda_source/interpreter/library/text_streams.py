"""Streams of text, files and the console; random numbers; and other classes that hold no pointer and no handle."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library import class_, constants, function
from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, CallSite, Machine
from streamsan.cuda_source.interpreter.library.memory import value_of
from streamsan.cuda_source.interpreter.library.operands import touch
from streamsan.cuda_source.interpreter.library.strings import String
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
    Cell,
    CellPointer,
    ElementPointer,
    LibraryObject,
    Operand,
    StructObject,
    SymbolPointer,
    Value,
    held_by,
    is_pointer,
)
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import AccessMode


def receive(machine: Machine, cell: Cell, span: Span) -> None:
    """Input overwrites a variable."""
    held = cell.value
    machine.memory.access(cell, AccessMode.WRITE, span)
    if isinstance(held, String):
        held.become(machine, None, span)
    elif not isinstance(held, LibraryObject | StructObject) and not is_pointer(held):
        cell.value = machine.fresh(cell.name, "input")


class Console(LibraryObject):
    """`std::cout` and its kin: nothing about them is remembered."""

    class_name = "std::ostream"

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """The same stream."""
        return self

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method == "operator<<" and operands:
            if isinstance(held_by(operands[0]), StructObject):
                return NOT_MODELLED  # an operator of the program's own
            machine.expressions.load(operands[0], span)
            return Operand(self, self.cell)
        if method == "operator>>" and operands:
            if operands[0].cell is not None:
                receive(machine, operands[0].cell, span)
            self.was_read()
            return Operand(self, self.cell)
        values = [machine.expressions.load(operand, span) for operand in operands]
        if method in ("read", "getline", "get", "readsome") and values:
            touch(machine, values[0], AccessMode.WRITE, span)
            self._fill(machine, values[0], span)
            self.was_read()
            return Operand(self, self.cell)
        if method == "write" and values:
            touch(machine, values[0], AccessMode.READ, span)
            return Operand(self, self.cell)
        if method == "str":
            return machine.statements.temporary(String(CType("std::string"), None))
        if method in ("is_open", "good", "operator bool"):
            return 1
        if method in ("fail", "bad", "operator!"):
            return 0
        if method.startswith("operator") and method != "operator=":
            return NOT_MODELLED
        return machine.fresh(method, "input")

    def _fill(self, machine: Machine, value: Value, span: Span) -> None:
        if isinstance(value, CellPointer) and not is_pointer(value.cell.value):
            receive(machine, value.cell, span)

    def was_read(self) -> None:
        """Whether there was something to read is not known."""


@class_("std::ifstream", "std::ofstream", "std::fstream", "std::stringstream", "std::istringstream",
        "std::ostringstream", "std::wstringstream", "std::wostringstream", "std::ostream",
        "std::istream", "std::iostream")  # fmt: skip
class TextStream(Console):
    """A file or a text as a stream: opening one succeeds, as calls do."""

    class_name = "std::iostream"

    def __init__(self, type: CType) -> None:
        super().__init__()
        self.type = type
        self._read = False

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Open it."""
        for operand in operands:
            machine.expressions.load(operand, span)
        return cls(type)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """One that unseen code opened."""
        return cls(type)

    def was_read(self) -> None:
        """Whether there was something to read is not known."""
        self._read = True

    def truth(self) -> bool | None:
        """Whether the last operation succeeded."""
        return None if self._read else True


constants({name: Console() for name in ("cout", "cerr", "clog", "cin", "wcout", "wcerr")})


@function("std::getline", "getline")
def getline(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A line of input; whether there was one is not known."""
    for operand in operands[1:2]:
        if operand.cell is not None:
            receive(machine, operand.cell, call.span)
    return machine.fresh("getline", "input")


@class_("std::mt19937", "std::mt19937_64", "std::random_device", "std::default_random_engine", "std::minstd_rand",
        "std::minstd_rand0", "std::ranlux24", "std::ranlux48", "std::knuth_b", "std::seed_seq",
        "std::mersenne_twister_engine", "std::linear_congruential_engine", "std::uniform_real_distribution",
        "std::uniform_int_distribution", "std::normal_distribution", "std::lognormal_distribution",
        "std::bernoulli_distribution", "std::poisson_distribution", "std::exponential_distribution",
        "std::discrete_distribution", "std::gamma_distribution", "std::cauchy_distribution",
        "std::geometric_distribution", "std::binomial_distribution", "std::stop_token", "std::stop_source",
        "std::locale", "std::regex", "std::smatch", "std::hash", "std::less", "std::greater", "std::plus", "std::minus",
        "std::multiplies", "std::equal_to", "std::source_location", "std::error_code", "std::allocator",
        "std::istream_iterator", "std::ostream_iterator", "std::istreambuf_iterator",
        "std::random_access_iterator_tag", "thrust::default_random_engine", "thrust::uniform_real_distribution",
        "thrust::plus", "thrust::multiplies", "thrust::maximum", "thrust::minimum", "thrust::less", "thrust::greater",
        "thrust::identity", "thrust::negate", "thrust::minus", "cub::Sum", "cub::Max", "cub::Min", "cuda::std::plus",
        "std::filesystem::directory_iterator")  # fmt: skip
class Quiet(LibraryObject):
    """An object whose methods give numbers and hold nothing of interest."""

    class_name = "std::random"

    def __init__(self, type: CType) -> None:
        super().__init__()
        self.type = type

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """The operands are read."""
        for operand in operands:
            machine.expressions.load(operand, span)
        return cls(type)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """One that unseen code made."""
        return cls(type)

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """Another one."""
        return Quiet(self.type)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        for operand in operands:
            machine.expressions.load(operand, span)
        if method in ("operator=", "operator+=", "operator++"):
            return Operand(self, self.cell)
        return machine.fresh(method, "input")


# -- C input ---------------------------------------------------------------------------------------


def _scan(first_target: int) -> Any:
    def scan(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
        for position in range(first_target, len(operands)):
            value = value_of(machine, operands, position, call)
            if isinstance(value, CellPointer):
                receive(machine, value.cell, call.span)
            elif isinstance(value, ElementPointer | SymbolPointer):
                touch(machine, value, AccessMode.WRITE, call.span)
                if isinstance(value, ElementPointer) and isinstance(value.index, int):
                    receive(machine, machine.objects.element(value.array, value.index), call.span)
        return machine.fresh("scanned", "input")

    return scan


function("std::scanf", "scanf")(_scan(1))
function("std::sscanf", "sscanf", "std::fscanf", "fscanf")(_scan(2))


def _transfer(buffer: int, mode: AccessMode) -> Any:
    def transfer(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
        value = value_of(machine, operands, buffer, call)
        if is_pointer(value):
            touch(machine, value, mode, call.span)
            if mode is AccessMode.WRITE and isinstance(value, CellPointer):
                receive(machine, value.cell, call.span)
        return machine.fresh("transferred", "input")

    return transfer


function("std::fread", "fread", "std::fgets", "fgets")(_transfer(0, AccessMode.WRITE))
function("std::fwrite", "fwrite")(_transfer(0, AccessMode.READ))
function("read", "pread", "recv", "recvfrom")(_transfer(1, AccessMode.WRITE))
function("write", "pwrite", "send", "sendto")(_transfer(1, AccessMode.READ))

__all__ = ["Console", "Quiet", "TextStream", "receive"]
