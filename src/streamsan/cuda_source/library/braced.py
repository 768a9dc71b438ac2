"""A braced list that is an argument: `release({p, n})`. The parameter's type decides what it makes."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import ArrayObject, Cell, Operand, Value
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Expression, InitList, Span


class Evaluated(Expression):
    """An item of a list after its evaluation, in the place of the expression: each is evaluated once."""

    operand: Operand


class BracedList(Sequence):
    """The items of `{a, b}` as they were evaluated: lvalues stay lvalues, temporaries are taken over, not copied.

    Until a parameter's type is known it can be walked as a sequence, as a `std::initializer_list` is.
    """

    class_name = "std::initializer_list"

    def __init__(self, operands: list[Operand], names: list[str | None], span: Span) -> None:
        storage = ArrayObject(None, len(operands))
        for index, operand in enumerate(operands):
            storage.cells[index] = operand.cell or Cell(operand.value, UNKNOWN)
        super().__init__(CType("std::initializer_list"), storage)
        self.operands = operands
        self.names = names
        self.span = span

    @property
    def single(self) -> Operand | None:
        """The item of `{a}`, which initialises a scalar as `a` does; None for every other list."""
        return self.operands[0] if len(self.operands) == 1 and not any(self.names) else None

    def node(self) -> InitList:
        """Return the list as one that initialises a variable; inner lists stay lists."""
        items: list[Expression] = []
        for operand in self.operands:
            inner = operand.value if operand.cell is None else None
            items.append(inner.node() if isinstance(inner, BracedList) else Evaluated(self.span, operand))
        return InitList(self.span, None, items, list(self.names))

    def elements(self, machine: Machine, span: Span) -> list[Operand]:
        return list(self.operands)

    def parts(self) -> list[Any]:
        return [operand.cell or operand.value for operand in self.operands]

    def destroy(self, machine: Machine, span: Span) -> None:
        """The items are temporaries or variables of their own."""


def braced(operand: Operand) -> BracedList | None:
    """Return the list that an argument is; None if it is something else."""
    return operand.value if operand.cell is None and isinstance(operand.value, BracedList) else None


def plain(operand: Operand) -> Operand:
    """Return an argument for a scalar parameter: `{}` is zero, `{a}` is a."""
    for _ in range(8):
        found = braced(operand)
        if found is None:
            return operand
        if not found.operands:
            return Operand(0)
        if found.single is None:
            return operand
        operand = found.single
    return operand


def items_of(operands: list[Operand]) -> list[Operand] | None:
    """Return the items if the operands are one list (`std::vector<T> v({a, b})`)."""
    found = braced(operands[0]) if len(operands) == 1 else None
    return found.operands if found is not None else None


def carried(operand: Operand) -> Value | Cell:
    """Return what reachability starts from for an operand."""
    return operand.cell or operand.value
